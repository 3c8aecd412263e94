"""What a pipeline's processes hold in memory over millions of events, looked at from outside, once a second."""

import threading
import time
from typing import Any, Final

import numpy as np
from msgspec import Struct

from tidings.lab.pipeline_part import answered
from tidings.lab.pipeline_processes import KINDS, Kind, usage_of
from tidings.lab.pipeline_throughput import Run, run_to
from tidings.spark.launch import patient
from tidings.spark.metrics import BatchReport
from tidings.spark.session import session

EVERY_S: Final = 1.0
SETTLED: Final = 1 / 3
"""The slope is that of what comes after so much of the events."""
MB: Final = 1e6


class Sample(Struct, frozen=True, kw_only=True):
    """A moment."""

    at_s: float
    events: int
    """Delivered until then,"""
    lag: int
    """and those that the log has beyond."""
    resident_mb: dict[Kind, float]


class Memory(Struct, frozen=True, kw_only=True):
    """Memory over events."""

    subscriptions: int
    events: int
    seconds: float
    messages_per_s: float
    deltas: int
    slope_mb_per_million: dict[Kind, float]
    """How much each grows by with a million events, after the first third of them."""
    first_mb: dict[Kind, float]
    """After the first third, the median of ten samples,"""
    last_mb: dict[Kind, float]
    """and at the end."""
    samples: list[Sample]


class Delivered(Struct, frozen=True):
    """Of each commit when it was, and up to where."""

    begun: float
    at: list[float]
    end: list[int]
    deltas: int


def delivered(run: Run) -> Delivered:
    """Run all of a log; the processes are looked at meanwhile."""
    spark = session(patient(run.master), shards=run.shards)
    at: list[float] = []
    end: list[int] = []
    deltas = 0

    def committed(report: BatchReport, when: float) -> None:
        nonlocal deltas
        at.append(when)
        end.append(report.end)
        deltas += report.deltas

    try:
        run_to(spark, run, run.log.first_message)
        begun = time.monotonic()
        run_to(spark, run, run.log.end, committed)
    finally:
        spark.stop()
    return Delivered(begun, at, end, deltas)


def memory(run: Run) -> Memory:
    """Look at a run of all of a log."""
    seen: list[tuple[float, dict[Kind, float]]] = []

    def watch(pid: int, over: threading.Event) -> None:
        while not over.wait(EVERY_S):
            usage = usage_of(pid)
            if usage:
                seen.append((time.monotonic(), {kind: one.resident_bytes / MB for kind, one in usage.items()}))

    ran = answered(delivered, run, watch=watch)
    if ran.deltas != run.log.matches:
        raise AssertionError(f"the pipeline delivers {ran.deltas} deltas, an index finds {run.log.matches}")
    first = run.log.first_message
    samples = []
    for at, resident in seen:
        if ran.begun <= at <= ran.at[-1]:
            n_done = int(np.searchsorted(ran.at, at, side="right"))
            events = (ran.end[n_done - 1] if n_done else first) - first
            lag = run.log.end - first - events
            samples.append(Sample(at_s=at - ran.begun, events=events, lag=lag, resident_mb=resident))
    late = [sample for sample in samples if sample.events >= SETTLED * run.log.messages]
    seconds = ran.at[-1] - ran.begun
    return Memory(
        subscriptions=run.log.subscriptions,
        events=run.log.messages,
        seconds=seconds,
        messages_per_s=run.log.messages / seconds,
        deltas=ran.deltas,
        slope_mb_per_million={kind: _slope(late, kind) for kind in KINDS} if len(late) > 2 else {},
        first_mb=_medians(late[:10]),
        last_mb=_medians(late[-10:]),
        samples=samples,
    )


def _slope(samples: list[Sample], kind: Kind) -> float:
    events: Any = np.array([sample.events for sample in samples]) / 1e6
    resident = np.array([sample.resident_mb.get(kind, 0.0) for sample in samples])
    return float(np.polyfit(events, resident, 1)[0]) if np.ptp(events) else 0.0


def _medians(samples: list[Sample]) -> dict[Kind, float]:
    if not samples:
        return {}
    return {kind: float(np.median([sample.resident_mb.get(kind, 0.0) for sample in samples])) for kind in KINDS}
