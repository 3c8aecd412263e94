"""How many messages a second a pipeline delivers when there is a lag, and where the time of a batch goes.

By the clock on the wall: from the commit of the last batch that warmed up to the last commit. The registrations are
run through first, by a pipeline that is closed then; that is the time to build.
"""

import os
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from tidings.lab.pipeline_log import LogMade
from tidings.lab.pipeline_processes import KINDS, Kind, Usage, usage_of
from tidings.log.deliveries import open_deliveries
from tidings.log.store import EventLog
from tidings.spark.launch import LogPipeline, cores_of, patient, settled
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.session import session
from tidings.spark.settings import DEFAULT_METHODS, PipelineSettings

if TYPE_CHECKING:
    from collections.abc import Callable

UNHURRIED_S: Final = 3600.0
"""With this target no batch is made smaller than it may be."""


class Run(Struct, frozen=True, kw_only=True):
    """What to run."""

    log: LogMade
    state: str
    master: str = "local[2]"
    shards: int = 2
    batch: int = 50_000
    messages: int
    """As many of the log's."""
    warm_up: int = 3
    """So many batches do not count."""
    method: str = "pyramid"
    pace_s: float = UNHURRIED_S

    @property
    def settings(self) -> PipelineSettings:
        """As a pipeline is told."""
        return PipelineSettings(
            log=self.log.path,
            state=self.state,
            shards=self.shards,
            methods=DEFAULT_METHODS | {"within": self.method},
            max_events=self.batch,
            target_s=self.pace_s,
        )


class Phases(Struct, frozen=True, kw_only=True):
    """Where the time of a batch goes: medians over batches, in milliseconds."""

    period: float
    """From commit to commit."""
    job: float
    """Spark's job of the batch, of that period,"""
    commit: float
    """its commit,"""
    between: float
    """and what Spark does between two batches."""
    open: float
    """Of the job, the busiest shard's task: opening its state,"""
    step: float
    """stepping over the events,"""
    write: float
    """making its deltas durable,"""
    other: float
    """and the rest of the job: reading and decoding, the shuffle, scheduling."""
    spark: dict[str, float]
    """Spark's own phases."""


class Throughput(Struct, frozen=True, kw_only=True):
    """What a run was."""

    subscriptions: int
    master: str
    shards: int
    batch: int
    messages: int
    deltas: int
    messages_per_s: float
    deltas_per_s: float
    measured: int
    """Messages after warming up."""
    batch_p50_ms: float
    batch_p99_ms: float
    """From a batch's plan to its commit."""
    start_s: float
    """Until Spark runs."""
    build_s: float
    """For all registrations, from the log to shards that have been sealed."""
    registrations_per_s: float
    phases: Phases
    cpu_us_per_message: dict[Kind, float]
    """Processor time of the driver, Java and the workers: what the wall clock cannot be below, shared by the cores."""
    snapshots: int
    snapshot_s: float
    """Of all together."""
    snapshot_share: float | None
    """The longest, over the time from one to the next at this speed; None when there was none."""


class Commit(Struct, frozen=True):
    """A batch and when it was committed."""

    at: float
    report: BatchReport
    phases_ms: dict[str, int]
    usage: dict[Kind, Usage]
    """Of this process and all that it has started."""


def throughput(run: Run) -> Throughput:
    """Measure a run, in a Spark of its own."""
    start = time.monotonic()
    spark = session(patient(run.master), shards=run.shards)
    try:
        return measured(spark, run, time.monotonic() - start)
    finally:
        spark.stop()


def measured(spark: Any, run: Run, start_s: float = 0.0) -> Throughput:
    """Measure a run, in this Spark."""
    begun = time.monotonic()
    built = run_to(spark, run, run.log.first_message)
    build_s = time.monotonic() - begun
    end = run.log.first_message + run.messages
    commits = run_to(spark, run, end)
    expected, deltas = run.log.expected(run.messages), sum(commit.report.deltas for commit in commits)
    if not deltas or deltas != expected:
        raise AssertionError(f"the pipeline delivers {deltas} deltas, an index finds {expected}")
    warm = min(run.warm_up, len(commits) - 2)
    if warm < 1:
        raise AssertionError(f"{len(commits)} batches are too few to measure")
    seconds = commits[-1].at - commits[warm - 1].at
    counted = commits[warm:]
    events = sum(commit.report.events for commit in counted)
    speed = events / seconds
    snapshots = [commit.report.snapshot_s for commit in [*built, *commits] if commit.report.snapshot]
    times = [commit.report.seconds * 1e3 for commit in counted]
    p50, p99 = np.quantile(times, [0.5, 0.99]).tolist()
    return Throughput(
        subscriptions=run.log.subscriptions,
        master=run.master,
        shards=run.shards,
        batch=run.batch,
        messages=run.messages,
        deltas=deltas,
        messages_per_s=speed,
        deltas_per_s=sum(commit.report.deltas for commit in counted) / seconds,
        measured=events,
        batch_p50_ms=p50,
        batch_p99_ms=p99,
        start_s=start_s,
        build_s=build_s,
        registrations_per_s=run.log.subscriptions / build_s,
        phases=_phases(commits[warm - 1 :]),
        cpu_us_per_message=_cpu(commits[warm - 1], commits[-1], events),
        snapshots=len(snapshots),
        snapshot_s=sum(snapshots),
        snapshot_share=max(snapshots) / (run.settings.snapshot_events / speed) if snapshots else None,
    )


def run_to(
    spark: Any, run: Run, stop: int, also: "Callable[[BatchReport, float], None]" = lambda report, at: None
) -> list[Commit]:
    """Run to a position of the log and close; each commit, by the clock that all processes share."""
    metrics = Metrics()
    commits: list[Commit] = []

    def committed(report: BatchReport) -> None:
        at = time.monotonic()
        commits.append(Commit(at, report, metrics.phases_ms, usage_of(os.getpid())))
        also(report, at)

    with closing(opened(spark, run, stop, metrics, committed)) as pipeline:
        pipeline.pipeline.run(until=stop)
    if metrics.retries or metrics.restarts or metrics.set_aside:
        raise AssertionError(f"{metrics.retries} batches were tried again, and nothing was to fail")
    return commits


def opened(
    spark: Any, run: Run, stop: int | None, metrics: Metrics, committed: "Callable[[BatchReport], None]"
) -> LogPipeline:
    """The pipeline of a run."""
    with EventLog.open(Path(run.log.path), read_only=True) as log:
        configuration = log.configuration
    assert configuration is not None
    return LogPipeline(
        spark,
        settled(run.settings, run.master),
        configuration,
        cores=cores_of(run.master),
        stop=stop,
        metrics=metrics,
        on_commit=committed,
    )


def caught_up(spark: Any, run: Run) -> int:
    """See to it that all that the log has is done; the position up to which it is."""
    with EventLog.open(Path(run.log.path), read_only=True) as log:
        end = log.end
    with closing(open_deliveries(run.settings.state_folder, store="sqlite", create=True)) as deliveries:
        done = deliveries.done()
    if done < end:
        run_to(spark, run, end)
    return end


def _cpu(first: Commit, last: Commit, messages: int) -> dict[Kind, float]:
    spent = {kind: last.usage[kind].cpu_s - first.usage[kind].cpu_s for kind in KINDS if kind in first.usage}
    return {kind: seconds / messages * 1e6 for kind, seconds in spent.items()}


def _phases(commits: list[Commit]) -> Phases:
    """Of all batches but the first, which says when the second began."""
    parts: dict[str, list[float]] = {name: [] for name in Phases.__struct_fields__ if name != "spark"}
    for before, commit in pairwise(commits):
        report = commit.report
        busiest = max(report.shard_timings, key=lambda timing: timing.total_us)
        period = commit.at - before.at
        for name, seconds in (
            ("period", period),
            ("job", report.job_s),
            ("commit", report.commit_s),
            ("between", period - report.job_s - report.commit_s),
            ("open", busiest.open_us / 1e6),
            ("step", busiest.step_us / 1e6),
            ("write", busiest.write_us / 1e6),
            ("other", report.job_s - busiest.total_us / 1e6),
        ):
            parts[name].append(seconds * 1e3)
    names = {name for commit in commits for name in commit.phases_ms}
    spark = {name: float(median(commit.phases_ms.get(name, 0) for commit in commits)) for name in sorted(names)}
    return Phases(**{name: median(values) for name, values in parts.items()}, spark=spark)
