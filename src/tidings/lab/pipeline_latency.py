"""How long a message takes from being appended to its batch being committed, at a rate that the pipeline keeps up with;
and what a batch of a single event costs.
"""

import threading
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tidings.lab.pipeline_appender import Published, Schedule, publish
from tidings.lab.pipeline_part import answered
from tidings.lab.pipeline_throughput import Run, caught_up, opened
from tidings.lab.workloads import WithinWorkload
from tidings.log.deliveries import open_deliveries
from tidings.log.store import EventLog
from tidings.spark.launch import patient
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.session import session

Floats = npt.NDArray[np.float64]


class LatencyRun(Struct, frozen=True, kw_only=True):
    """A run that has done all of its log, and what is then published."""

    run: Run
    workload: WithinWorkload
    messages_per_s: int = 10_000
    seconds: float = 60.0
    singles_first: int = 20
    """So many batches of one event start the query and the workers."""
    warm_up_s: float = 10.0
    """Messages of the first seconds do not count."""


class Percentiles(Struct, frozen=True, kw_only=True):
    """Of times, in milliseconds."""

    p50_ms: float
    p99_ms: float
    max_ms: float


class Latency(Struct, frozen=True, kw_only=True):
    """What was measured."""

    subscriptions: int
    messages: int
    """That count."""
    messages_per_s: float
    """As they were published."""
    from_call: Percentiles
    """From the call of append to the commit,"""
    from_answer: Percentiles
    """from the moment the message was durable to the commit,"""
    append: Percentiles
    """and from the call to that moment."""
    late_p99_ms: float
    """How far the publisher was behind its schedule."""
    probes: int
    """Subscriptions that were registered meanwhile, each followed by a message that it matches."""
    probe: Percentiles
    """From the call that appends both to the commit of the delta."""
    batches: int
    batch_events_p50: float
    batch_p50_ms: float
    batch_p99_ms: float


class FixedRun(Struct, frozen=True, kw_only=True):
    """A run that has done all of its log, and how many single events it then gets."""

    run: Run
    times: int = 50
    warm_up: int = 10


class Fixed(Struct, frozen=True, kw_only=True):
    """What a batch of one event costs, in milliseconds."""

    subscriptions: int
    batches: int
    period_p50_ms: float
    """From the commit of one to the commit of the next, which is appended at once; with the append."""
    period_p99_ms: float
    append_p50_ms: float
    batch_p50_ms: float
    """From the plan to the commit."""


class _Committed:
    """Where the commits of a pipeline are, and how to wait for one."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.times: list[float] = []
        self.reports: list[BatchReport] = []
        self._changed = threading.Condition()

    def __call__(self, report: BatchReport) -> None:
        at = time.monotonic()
        with self._changed:
            self.ends.append(report.end)
            self.times.append(at)
            self.reports.append(report)
            self._changed.notify_all()

    def wait(self, position: int, timeout_s: float = 120.0) -> float:
        """When all before a position was committed."""
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self.ends) and self.ends[-1] >= position, timeout_s):
                raise AssertionError(f"position {position} was not committed within {timeout_s} s")
            return float(self.at(np.array([position - 1]))[0])

    def at(self, positions: npt.NDArray[np.int64]) -> Floats:
        """When these events were committed."""
        found: Floats = np.array(self.times)[np.searchsorted(np.array(self.ends), positions, side="right")]
        return found


class _Running:
    """A pipeline that runs in a thread of this process, from the end of its log on."""

    def __init__(self, spark: Any, run: Run) -> None:
        self.commits = _Committed()
        self._failure: BaseException | None = None
        self._pipeline = opened(spark, run, None, Metrics(), self.commits)
        self._thread = threading.Thread(target=self._run, name="tidings-pipeline")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._pipeline.pipeline.run()
        except BaseException as error:  # told by `close`
            self._failure = error

    def close(self) -> None:
        """Let the running batch finish."""
        self._pipeline.pipeline.stop()
        self._thread.join()
        self._pipeline.close()
        if self._failure is not None:
            raise self._failure


def latency(given: LatencyRun) -> Latency:
    """Publish at a steady rate from another process."""
    spark = session(patient(given.run.master), shards=given.run.shards)
    try:
        first = caught_up(spark, given.run)
        name = f"p{first}"
        schedule = Schedule(
            log=given.run.log.path,
            workload=given.workload,
            name=name,
            messages_per_s=given.messages_per_s,
            seconds=given.warm_up_s + given.seconds,
        )
        with closing(_Running(spark, given.run)) as running:
            with EventLog.open(Path(given.run.log.path)) as log:
                for number in range(given.singles_first):
                    _single(log, running.commits, f"{name}-single-{number}")
            published = answered(publish, schedule)
            running.commits.wait(max(group.first + group.count for group in published.groups))
            running.commits.wait(max(probe.position + 1 for probe in published.probes))
        _check_probes(given.run, published)
        return _latency(given, published, running.commits)
    finally:
        spark.stop()


def _check_probes(run: Run, published: Published) -> None:
    with closing(open_deliveries(run.settings.state_folder)) as deliveries:
        for probe in published.probes:
            found = list(deliveries.read(probe.position, probe.position + 1, probe.subscription))
            if sum(len(deltas.position) for deltas in found) != 1:
                raise AssertionError(f"{probe.subscription} has not got the message after it")


def _latency(given: LatencyRun, published: Published, commits: _Committed) -> Latency:
    begun = published.groups[0].called + given.warm_up_s
    groups = [group for group in published.groups if group.called >= begun]
    counts = [group.count for group in groups]
    called = np.repeat([group.called for group in groups], counts)
    durable = np.repeat([group.answered for group in groups], counts)
    positions = np.concatenate([np.arange(group.first, group.first + group.count) for group in groups])
    committed = commits.at(positions)
    probes = [probe for probe in published.probes if probe.called >= begun] or published.probes
    seen = commits.at(np.array([probe.position for probe in probes]))
    reports = [report for report, at in zip(commits.reports, commits.times, strict=True) if at >= begun]
    seconds = np.array([report.seconds for report in reports])
    return Latency(
        subscriptions=given.run.log.subscriptions,
        messages=len(positions),
        messages_per_s=published.messages_per_s,
        from_call=_percentiles(committed - called),
        from_answer=_percentiles(committed - durable),
        append=_percentiles(durable - called),
        late_p99_ms=published.late_p99_ms,
        probes=len(probes),
        probe=_percentiles(seen - np.array([probe.called for probe in probes])),
        batches=len(reports),
        batch_events_p50=median(report.events for report in reports),
        batch_p50_ms=float(np.quantile(seconds, 0.5)) * 1e3,
        batch_p99_ms=float(np.quantile(seconds, 0.99)) * 1e3,
    )


def _percentiles(seconds: Floats) -> Percentiles:
    p50, p99 = np.quantile(seconds * 1e3, [0.5, 0.99]).tolist()
    return Percentiles(p50_ms=p50, p99_ms=p99, max_ms=float(seconds.max()) * 1e3)


def _single(log: EventLog, commits: _Committed, name: str) -> tuple[float, float]:
    """Append one message and wait for its commit; how long the append took, and when the commit was."""
    start = time.monotonic()
    taken = log.append([f'{{"op": "publish", "id": "{name}", "at": [0.5, 0.5], "text": "one"}}'.encode()])
    return time.monotonic() - start, commits.wait(taken.first + 1)


def fixed(given: FixedRun) -> Fixed:
    """Append an event, wait for its commit, and again."""
    spark = session(patient(given.run.master), shards=given.run.shards)
    try:
        first = caught_up(spark, given.run)
        appends, times = [], []
        with closing(_Running(spark, given.run)) as running, EventLog.open(Path(given.run.log.path)) as log:
            for number in range(given.warm_up + given.times + 1):
                append_s, committed = _single(log, running.commits, f"single-{first + number}")
                appends.append(append_s)
                times.append(committed)
            reports = running.commits.reports[-given.times :]
    finally:
        spark.stop()
    periods = np.diff(times)[given.warm_up :] * 1e3
    p50, p99 = np.quantile(periods, [0.5, 0.99]).tolist()
    return Fixed(
        subscriptions=given.run.log.subscriptions,
        batches=len(periods),
        period_p50_ms=p50,
        period_p99_ms=p99,
        append_p50_ms=median(appends[given.warm_up :]) * 1e3,
        batch_p50_ms=median(report.seconds for report in reports) * 1e3,
    )
