"""A publisher in a process of its own: appends messages to a log at a steady rate, and remembers when.

Times are of `time.monotonic`, which all processes of a machine share. The publisher keeps to its schedule whether
answers have come or not, so a log that is slow for a moment does not slow down what it is measured with.
"""

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tidings.lab.lines import message_lines
from tidings.lab.workloads import WithinWorkload, generate
from tidings.log.group_commit import Appended
from tidings.log.store import EventLog

PROBE_EVERY_S: Final = 2.0
PROBE_ID: Final = "probe"
DISTINCT: Final = 100_000
AHEAD_S: Final = 0.5
"""Between being ready and the first message."""

Floats = npt.NDArray[np.float64]


class Schedule(Struct, frozen=True, kw_only=True):
    """What to append."""

    log: str
    workload: WithinWorkload
    name: str
    """Of this publisher: its ids begin with it."""
    messages_per_s: int = 10_000
    seconds: float = 60.0
    group_s: float = 0.02


class Group(Struct, frozen=True, array_like=True):
    """Messages that were appended together."""

    called: float
    answered: float
    """When they were durable."""
    first: int
    count: int


class Probe(Struct, frozen=True, array_like=True):
    """A subscription that was registered meanwhile, and the message right after it, which it matches."""

    subscription: str
    called: float
    position: int
    """Of the message."""


class Published(Struct, frozen=True, kw_only=True):
    """What was appended when."""

    groups: list[Group]
    probes: list[Probe]
    late_p99_ms: float
    """How long after the time that the schedule says a group was handed to the log."""
    messages_per_s: float


def publish(schedule: Schedule) -> Published:
    """Append by a schedule."""
    per_group = max(1, round(schedule.messages_per_s * schedule.group_s))
    n_groups = round(schedule.seconds / schedule.group_s)
    lines = _lines(schedule, per_group * n_groups)
    every = max(1, round(PROBE_EVERY_S / schedule.group_s))
    calls: list[_Call] = []
    probes: list[tuple[str, _Call]] = []
    late = []
    with EventLog.open(Path(schedule.log)) as log:
        groups = iter([list(islice(lines, per_group)) for _ in range(n_groups)])
        start = time.monotonic() + AHEAD_S
        for number, group in enumerate(groups):
            due = start + number * schedule.group_s
            time.sleep(max(0.0, due - time.monotonic()))
            late.append(time.monotonic() - due)
            calls.append(_Call(log, group))
            if number % every == every // 2:
                name = f"{schedule.name}-{PROBE_ID}-{len(probes)}"
                probes.append((name, _Call(log, _probe_lines(name))))
        for call in calls + [call for _, call in probes]:
            call.wait()
        spent = time.monotonic() - start
    return Published(
        groups=[Group(call.called, call.answered, call.first, call.count) for call in calls],
        probes=[Probe(name, call.called, call.first + 1) for name, call in probes],
        late_p99_ms=float(np.quantile(late, 0.99)) * 1e3,
        messages_per_s=per_group * n_groups / spent,
    )


class _Call:
    """One append on its way."""

    def __init__(self, log: EventLog, lines: list[bytes]) -> None:
        self.called = time.monotonic()
        self.answered = 0.0
        self.first = -1
        self.count = len(lines)
        self._future = log.append_later(lines)
        self._future.add_done_callback(lambda _: self._note())

    def _note(self) -> None:
        self.answered = time.monotonic()

    def wait(self) -> None:
        taken: Appended = self._future.result()
        self.first = taken.first
        while not self.answered:
            time.sleep(0.001)


def _lines(schedule: Schedule, n: int) -> Iterator[bytes]:
    distinct = min(n, DISTINCT)
    workload = generate(schedule.workload.of_size(1, distinct))
    theirs, ours = b'"id": "m', f'"id": "{schedule.name}-'.encode()
    for first in range(0, n, distinct):
        for line in message_lines(workload, 0, min(distinct, n - first), first):
            yield line.replace(theirs, ours, 1)


def _probe_lines(name: str) -> list[bytes]:
    word = name.replace("-", "")
    return [
        f'{{"op": "register", "id": "{name}", "kind": "within", "when": "{word}", '
        f'"where": {{"box": [0.0, 0.0, 1.0, 1.0]}}}}'.encode(),
        f'{{"op": "publish", "id": "{name}-message", "at": [0.5, 0.5], "text": "{word}"}}'.encode(),
    ]
