"""How long one message takes by the clock on the wall, through `Engine` as a program would use it."""

from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.lab.blocks import register_block
from tidings.lab.floors import Floor, Message
from tidings.lab.workloads import Workload
from tidings.matching.engine import Engine
from tidings.model.events import Configure, Publish

WARM_UP = 200


class Latency(NamedTuple):
    """Of single messages, in microseconds."""

    p50_us: float
    p99_us: float


def engine_latency(method: str, workload: Workload, messages: int) -> Latency:
    """Publish messages one by one, against all subscriptions of a workload."""
    engine = Engine(Configure(space=workload.space), within=method)
    engine.step(register_block(workload.subscriptions, 0))
    times = []
    for event in _events(workload, messages + WARM_UP):
        start = perf_counter_ns()
        engine.apply(event)
        times.append(perf_counter_ns() - start)
    return _percentiles(times[WARM_UP:])


def floor_latency(floor: Floor, messages: list[Message]) -> Latency:
    """Match messages one by one."""
    times = []
    for x, y, words in messages:
        start = perf_counter_ns()
        floor.match(x, y, words)
        times.append(perf_counter_ns() - start)
    return _percentiles(times)


def _percentiles(times: list[int]) -> Latency:
    us: npt.NDArray[np.float64] = np.array(times, np.float64) / 1000.0
    return Latency(float(np.quantile(us, 0.5)), float(np.quantile(us, 0.99)))


def _events(workload: Workload, n: int) -> list[Publish]:
    """The first n messages as events; again from the first one, with other ids, when there are fewer."""
    words = workload.words.strings()
    start, place = workload.messages.word_start, workload.messages.place
    m = len(place)
    events = []
    for number in range(n):
        row = number % m
        mine = tuple(words[word] for word in workload.message_word[start[row] : start[row + 1]])
        x0, y0, x1, y1 = place[row].tolist()
        if (x0, y0) == (x1, y1):
            events.append(Publish(f"p{number}", at=(x0, y0), words=mine))
        else:
            events.append(Publish(f"p{number}", box=(x0, y0, x1, y1), words=mine))
    return events
