"""The benchmark of the pipeline, end to end: from a log through Spark to committed deliveries.

Each part that needs another Spark runs in a process of its own (`pipeline_part`). Every part counts what was delivered
and compares it with what an index finds; one that is wrong has measured nothing.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from tidings.lab.pipeline_floor import FloorAnswer, FloorRun, against_floor
from tidings.lab.pipeline_latency import Fixed, FixedRun, Latency, LatencyRun, fixed, latency
from tidings.lab.pipeline_log import LogMade, LogWanted, make_log
from tidings.lab.pipeline_memory import Memory, memory
from tidings.lab.pipeline_part import answered
from tidings.lab.pipeline_restart import Restart, RestartRun, restart
from tidings.lab.pipeline_throughput import Run, Throughput, throughput
from tidings.lab.report import Report, Row, this_machine
from tidings.lab.workloads import WithinWorkload
from tidings.model.errors import InputError, Problem

PARTS: Final = ("throughput", "floor", "fixed", "latency", "restart", "memory", "scaling")
"""In the order in which they are measured: the first ones leave state that later ones go on with."""

Progress = Callable[[str], None]


class PipelineBench(Struct, frozen=True, kw_only=True):
    """What to measure, and how much of it."""

    parts: tuple[str, ...] = PARTS
    subscriptions: int = 1_000_000
    messages: int = 1_000_000
    batch: int = 50_000
    master: str = "local[2]"
    shards: int = 2
    method: str = "pyramid"
    seed: int = 1
    floor_subscriptions: int = 100_000
    rate: int = 10_000
    """Messages a second, where latency is measured,"""
    seconds: float = 60.0
    """for so long."""
    singles: int = 50
    """Batches of one event."""
    memory_subscriptions: int = 10_000
    memory_events: int = 10_000_000
    scaling_masters: tuple[str, ...] = ("local[1]", "local[2]")
    scaling_shards: tuple[int, ...] = (1, 2, 4, 8, 16)
    """With `subscriptions`."""
    scaling_subscriptions: tuple[int, ...] = (10_000, 100_000, 1_000_000, 4_000_000)
    """With `shards`, for each master."""
    scaling_messages: int = 500_000
    folder: str | None = None
    """Where logs and state are kept; a temporary folder when absent."""

    def __post_init__(self) -> None:
        known = ", ".join(PARTS)
        problems = [
            Problem("option-invalid", "--parts", repr(part), f"some of {known}")
            for part in self.parts
            if part not in PARTS
        ]
        if not self.parts:
            problems.append(Problem("option-invalid", "--parts", "none", f"some of {known}"))
        least = 4 * self.batch
        problems += [
            Problem("option-invalid", option, str(value), f"at least {least}: four batches")
            for option, value, part in (
                ("--messages", self.messages, "throughput"),
                ("--messages", self.messages, "floor"),
                ("--memory-events", self.memory_events, "memory"),
                ("--scaling-messages", self.scaling_messages, "scaling"),
            )
            if part in self.parts and value < least
        ]
        if problems:
            raise InputError(problems)

    def workload(self, subscriptions: int, messages: int) -> WithinWorkload:
        """The default workload with other numbers."""
        return WithinWorkload(subscriptions=subscriptions, messages=messages, seed=self.seed)


class Aim(Struct, frozen=True):
    """What a figure is to be."""

    figure: str
    value: float
    aim: str
    met: bool


class PipelineReport(Report, frozen=True, kw_only=True):
    """What was measured; None for parts that were not asked for."""

    aims: list[Aim]
    log: LogMade | None = None
    throughput: Throughput | None = None
    floor: FloorAnswer | None = None
    fixed: Fixed | None = None
    latency: Latency | None = None
    restart: Restart | None = None
    memory: Memory | None = None
    scaling: tuple[Throughput, ...] = ()


def bench_pipeline(options: PipelineBench, progress: Progress = lambda _: None) -> PipelineReport:
    """Measure the parts that are asked for."""
    with _folder(options) as folder:
        return _Bench(options, folder, progress).report()


@contextmanager
def _folder(options: PipelineBench) -> Iterator[Path]:
    if options.folder is not None:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
        yield Path(options.folder).resolve()
        return
    with TemporaryDirectory(prefix="tidings-bench-") as folder:
        yield Path(folder)


class _Bench:
    """One run of the benchmark."""

    def __init__(self, options: PipelineBench, folder: Path, progress: Progress) -> None:
        self._options: Final = options
        self._folder: Final = folder
        self._progress: Final = progress

    def report(self) -> PipelineReport:
        """Measure all, in order."""
        options, parts = self._options, self._options.parts
        workload = options.workload(options.subscriptions, options.messages)
        needs_log = {"throughput", "fixed", "latency", "restart"} & set(parts)
        made = self._log(options.subscriptions, options.messages) if needs_log else None
        found = _Found(log=made)
        if made is not None:
            run = self._run(made, "state")
            shutil.rmtree(run.state, ignore_errors=True)
            if "throughput" in parts:
                self._progress(f"throughput: {options.subscriptions:,} subscriptions")
                found.throughput = answered(throughput, run)
            if "fixed" in parts:
                self._progress("fixed: batches of one event")
                found.fixed = answered(fixed, FixedRun(run=run, times=options.singles))
            # From here on at the pace that a pipeline has by itself.
            run = self._run(made, "state", pace_s=1.0)
            if "latency" in parts:
                self._progress(f"latency: {options.rate:,} messages/s for {options.seconds:g} s")
                found.latency = answered(
                    latency,
                    LatencyRun(run=run, workload=workload, messages_per_s=options.rate, seconds=options.seconds),
                )
            if "restart" in parts:
                self._progress("restart: stopped, and killed")
                found.restart = answered(restart, RestartRun(run=run, workload=workload))
        if "floor" in parts:
            found.floor = self._floor()
        if "memory" in parts:
            found.memory = self._memory()
        if "scaling" in parts:
            found.scaling = tuple(self._scaling())
        return _report(options, found)

    def _log(self, subscriptions: int, messages: int) -> LogMade:
        self._progress(f"making a log of {subscriptions:,} subscriptions and {messages:,} messages")
        path = self._folder / f"log-{subscriptions}-{messages}"
        workload = self._options.workload(subscriptions, messages)
        return answered(make_log, LogWanted(path=str(path), workload=workload, method=self._options.method))

    def _run(self, made: LogMade, state: str, *, pace_s: float | None = None) -> Run:
        options = self._options
        run = Run(
            log=made,
            state=str(self._folder / f"{state}-{made.subscriptions}"),
            master=options.master,
            shards=options.shards,
            batch=options.batch,
            messages=made.messages,
            method=options.method,
        )
        return run if pace_s is None else replace(run, pace_s=pace_s)

    @contextmanager
    def _once(self, made: LogMade, name: str) -> Iterator[Run]:
        """A run whose state nobody needs before or afterwards."""
        run = self._run(made, name)
        shutil.rmtree(run.state, ignore_errors=True)
        try:
            yield run
        finally:
            shutil.rmtree(run.state, ignore_errors=True)

    def _floor(self) -> FloorAnswer:
        options = self._options
        n = options.floor_subscriptions
        made = self._log(n, options.messages)
        self._progress(f"floor: a SQL join, {n:,} subscriptions")
        with self._once(made, "floor") as run:
            pipeline = answered(throughput, run)
            workload = options.workload(n, options.messages)
            return answered(against_floor, FloorRun(pipeline=pipeline, run=run, workload=workload))

    def _memory(self) -> Memory:
        made = self._log(self._options.memory_subscriptions, self._options.memory_events)
        self._progress(f"memory: {made.messages:,} events")
        with self._once(made, "memory") as run:
            return memory(run)

    def _scaling(self) -> Iterator[Throughput]:
        options = self._options
        wanted = [
            (n, options.shards, master) for n in options.scaling_subscriptions for master in options.scaling_masters
        ]
        wanted += [(options.subscriptions, shards, options.master) for shards in options.scaling_shards]
        for n, shards, master in dict.fromkeys(wanted):
            made = self._log(n, options.scaling_messages)
            self._progress(f"scaling: {n:,} subscriptions, {shards} shards, {master}")
            with self._once(made, "scaling") as run:
                yield answered(throughput, replace(run, shards=shards, master=master))


class _Found(Struct, kw_only=True):
    """What has been measured so far."""

    log: LogMade | None = None
    throughput: Throughput | None = None
    floor: FloorAnswer | None = None
    fixed: Fixed | None = None
    latency: Latency | None = None
    restart: Restart | None = None
    memory: Memory | None = None
    scaling: tuple[Throughput, ...] = ()


def _report(options: PipelineBench, found: _Found) -> PipelineReport:
    rows = list(_rows(found))
    ratios = dict(_ratios(rows, found))
    return PipelineReport(
        seed=options.seed,
        machine=this_machine(),
        rows=rows,
        ratios=ratios,
        aims=list(_aims(found, ratios)),
        **{name: getattr(found, name) for name in _Found.__struct_fields__},
    )


PIPELINE: Final = "pipeline"
FLOOR: Final = "spark-sql"


def _rows(found: _Found) -> Iterator[Row]:
    if found.throughput is not None:
        row = _row(PIPELINE, found.throughput)
        if found.latency is not None:
            times = found.latency.from_call
            row = replace(row, p50_us=times.p50_ms * 1e3, p99_us=times.p99_ms * 1e3)
        yield row
    if found.floor is not None:
        floor = found.floor
        yield _row(_beside(floor), floor.pipeline)
        yield Row(
            name=FLOOR,
            role="floor",
            messages_per_s=floor.messages_per_s,
            build_s=floor.build_s,
            matches=floor.matches,
            messages=floor.messages,
            subscriptions=floor.pipeline.subscriptions,
            matches_per_message=floor.matches / floor.messages,
            cells=floor.best.cells,
        )
    for one in found.scaling:
        yield _row(_scaled(one.subscriptions, one.shards, one.master), one)


def _beside(floor: FloorAnswer) -> str:
    return f"{PIPELINE}[{floor.pipeline.subscriptions}]"


def _scaled(subscriptions: int, shards: int, master: str) -> str:
    return f"{PIPELINE}[{subscriptions}, {shards} shards, {master}]"


def _row(name: str, one: Throughput) -> Row:
    return Row(
        name=name,
        role="method",
        messages_per_s=one.messages_per_s,
        build_s=one.build_s,
        matches=one.deltas,
        messages=one.messages,
        subscriptions=one.subscriptions,
        matches_per_message=one.deltas / one.messages,
    )


def _ratios(rows: list[Row], found: _Found) -> Iterator[tuple[str, float]]:
    speed = {row.name: row.messages_per_s for row in rows}
    if found.floor is not None:
        for name in (PIPELINE, _beside(found.floor)):
            if name in speed:
                yield f"{name}/{FLOOR}", speed[name] / speed[FLOOR]
    for one in found.scaling:
        name = _scaled(one.subscriptions, one.shards, one.master)
        alone = _scaled(one.subscriptions, one.shards, "local[1]")
        if name != alone and alone in speed:
            yield f"{name}/{alone}", speed[name] / speed[alone]


def _aims(found: _Found, ratios: dict[str, float]) -> Iterator[Aim]:
    if found.throughput is not None:
        yield _at_least("messages/s", found.throughput.messages_per_s, 100_000)
        if found.throughput.snapshot_share is not None:
            yield _at_most("snapshots, share of the time", found.throughput.snapshot_share, 0.05)
    if f"{PIPELINE}/{FLOOR}" in ratios:
        yield _at_least(f"{PIPELINE}/{FLOOR}", ratios[f"{PIPELINE}/{FLOOR}"], 20)
    if found.latency is not None:
        yield _at_most("p50 from append to commit, ms", found.latency.from_call.p50_ms, 400)
        yield _at_most("p99 from append to commit, ms", found.latency.from_call.p99_ms, 800)
        yield _at_most("p99 of new subscriptions, ms", found.latency.probe.p99_ms, 800)
    if found.fixed is not None:
        yield _at_most("a batch of one event, ms", found.fixed.period_p50_ms, 150)
    if found.restart is not None:
        yield _at_most("restart after a stop, s", found.restart.sealed_s, 30)
        yield _at_most("restart after a kill, s", found.restart.killed_s, 30)
    if found.memory is not None and "driver" in found.memory.slope_mb_per_million:
        yield _at_most("driver, MB per million events", found.memory.slope_mb_per_million["driver"], 0.5)


def _at_least(figure: str, value: float, aim: float) -> Aim:
    return Aim(figure, value, f"at least {aim:,g}", value >= aim)


def _at_most(figure: str, value: float, aim: float) -> Aim:
    return Aim(figure, value, f"at most {aim:,g}", value <= aim)
