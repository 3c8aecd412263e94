"""The benchmark of `within`: indexes against floors, and against themselves where a workload gets harder.

Everything is measured in one run, on one core, and what counts are the ratios.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tidings.columns.block import MessageColumns
from tidings.index.base import INDEXES
from tidings.lab.calibration import match_chance, recorded, scaled_to
from tidings.lab.churn import churn
from tidings.lab.floors import FLOORS, fill, time_of
from tidings.lab.footprint import resident_bytes
from tidings.lab.latency import engine_latency, floor_latency
from tidings.lab.loading import Loaded, Speed, batches_of, loaded, speed_of
from tidings.lab.report import Report, Row, this_machine
from tidings.lab.workloads import WithinWorkload, Workload, generate
from tidings.model.errors import InputError, Problem

WARM_UP: Final = WithinWorkload(subscriptions=500, messages=500, or_share=0.5, not_share=0.5, polygons=0.5, boxes=0.5)
GROWTH: Final = 10
CHECKED: Final = 1_000
"""So many messages are compared match by match; of the others, the matches are counted."""
VARIANTS: Final = {"or": "or_share", "not": "not_share", "polygons": "polygons", "boxes": "boxes"}

Progress = Callable[[str], None]


class WithinBench(Struct, frozen=True, kw_only=True):
    """What to measure. Each share of the workload that is not 0 is measured as a variant, beside the plain workload."""

    workload: WithinWorkload = WithinWorkload()
    floors: tuple[str, ...] = ("python-dict",)
    churn: bool = False
    growth: bool = False
    """Compare with ten times as many subscriptions, at equal matches."""
    memory: bool = True
    repetitions: int = 5
    singles: int = 5_000
    budget_s: float = 20.0
    """A method that needs longer for one pass answers fewer messages."""


def bench_within(options: WithinBench, methods: Sequence[str], progress: Progress = lambda _: None) -> Report:
    """Measure indexes of `within` by name."""
    _check(options, methods)
    progress("making the workload")
    plain = recorded(options.workload.plain) if options.workload.data else options.workload.plain
    workload = generate(plain)
    batches = batches_of(workload.messages)
    rows = [_index_row(method, options, workload, batches, progress) for method in methods]
    rows += [_floor_row(name, options, workload, methods[0], progress) for name in options.floors]
    for method in methods:
        if options.churn:
            rows += _churn_rows(method, options, plain, batches, progress)
    rows += _variant_rows(options, plain, methods, progress)
    if options.growth:
        rows += _growth_rows(options, plain, methods, progress)
    return Report(options.workload.seed, this_machine(), rows, dict(_ratios(rows, methods)))


def _check(options: WithinBench, methods: Sequence[str]) -> None:
    problems = [
        Problem("method-unknown", "--within", repr(name), f"one of {', '.join(sorted(INDEXES))}")
        for name in methods
        if name not in INDEXES
    ]
    problems += [
        Problem("method-unknown", "--floor", repr(name), f"one of {', '.join(sorted(FLOORS))}")
        for name in options.floors
        if name not in FLOORS
    ]
    if not methods:
        problems.append(Problem("option-invalid", "--within", expected="at least one index"))
    if problems:
        raise InputError(problems)


def _warm(method: str) -> None:
    """Load or compile every kernel that is measured."""
    workload = generate(WARM_UP)
    index = loaded(method, workload.space, workload.subscriptions)
    index.answer(workload.messages)
    index.remove(workload.subscriptions, np.arange(10))


def _row(name: str, index: Loaded, speed: Speed, subscriptions: int) -> Row:
    return Row(
        name=name,
        role="index",
        messages_per_s=speed.messages_per_s,
        bytes_per_subscription=index.nbytes / subscriptions,
        build_s=index.table_s + index.index_s,
        table_s=index.table_s,
        index_s=index.index_s,
        matches=speed.matches,
        messages=speed.messages,
        subscriptions=subscriptions,
        matches_per_message=speed.matches / speed.messages,
    )


def _index_row(
    method: str, options: WithinBench, workload: Workload, batches: list[MessageColumns], progress: Progress
) -> Row:
    progress(f"{method}: loading kernels")
    _warm(method)
    n = len(workload.subscriptions.kind)
    progress(f"{method}: indexing {n:,} subscriptions")
    index = loaded(method, workload.space, workload.subscriptions)
    progress(f"{method}: matching {len(workload.messages.expires):,} messages")
    row = _row(method, index, speed_of(index, batches, options.repetitions, options.budget_s), n)
    if options.memory:
        progress(f"{method}: measuring memory")
        resident = resident_bytes(method, workload.space, workload.subscriptions)
        row = replace(row, resident_bytes_per_subscription=None if resident is None else resident / n)
    progress(f"{method}: publishing single messages")
    slowest = int(options.budget_s * row.messages_per_s)
    latency = engine_latency(method, workload, max(min(options.singles, slowest), 100))
    return replace(row, p50_us=latency.p50_us, p99_us=latency.p99_us)


def _floor_row(name: str, options: WithinBench, workload: Workload, method: str, progress: Progress) -> Row:
    """A floor answers the first messages, as many as it gets done in a few seconds, and must be right about them."""
    filled = fill(name, workload, min(len(workload.messages.expires), 20_000), progress)
    progress(f"{name}: matching")
    points = filled.messages
    time_of(filled.floor, points[:CHECKED])
    times = sorted(time_of(filled.floor, points) for _ in range(options.repetitions))
    latency = floor_latency(filled.floor, points[: options.singles])
    answers = [filled.floor.match(*point) for point in points]
    _compare(name, answers, method, workload)
    matches = sum(map(len, answers))
    gc.unfreeze()
    return Row(
        name=name,
        role="floor",
        messages_per_s=len(points) / times[len(times) // 2],
        p50_us=latency.p50_us,
        p99_us=latency.p99_us,
        build_s=filled.build_s,
        matches=matches,
        messages=len(points),
        subscriptions=len(workload.subscriptions.kind),
        matches_per_message=matches / len(points),
        cells=filled.cells,
    )


def _compare(name: str, answers: list[list[str]], method: str, workload: Workload) -> None:
    """A floor that finds something else than the index is a fault in one of them, and nothing was measured."""
    index = loaded(method, workload.space, workload.subscriptions)
    found = index.answer(batches_of(workload.messages, len(answers))[0])
    same = found[:CHECKED].to_pylist() and all(
        sorted(theirs) == sorted(ours)
        for theirs, ours in zip(answers[:CHECKED], found[:CHECKED].to_pylist(), strict=False)
    )
    if not same or len(found.values) != sum(map(len, answers)):
        raise AssertionError(f"{method} and {name} do not find the same matches")


def _churn_rows(
    method: str, options: WithinBench, plain: WithinWorkload, batches: list[MessageColumns], progress: Progress
) -> Iterator[Row]:
    progress(f"{method}: exchanging half of the subscriptions")
    result = churn(method, plain, batches, options.repetitions, options.budget_s)
    for name, speed in (("churned", result.churned), ("fresh", result.fresh)):
        yield Row(
            name=f"{method}[{name}]",
            role="index",
            messages_per_s=speed.messages_per_s,
            matches=speed.matches,
            messages=speed.messages,
            subscriptions=plain.subscriptions,
            matches_per_message=speed.matches / speed.messages,
            inserts_per_s=result.inserts_per_s if name == "churned" else None,
            deletes_per_s=result.deletes_per_s if name == "churned" else None,
        )


def _variant_rows(
    options: WithinBench, plain: WithinWorkload, methods: Sequence[str], progress: Progress
) -> Iterator[Row]:
    """Each share that is not 0 on its own, with sides such that a message matches as often as in the plain workload."""
    asked = {name: getattr(options.workload, field) for name, field in VARIANTS.items()}
    if not any(asked.values()):
        return
    chance = match_chance(plain)
    for name, share in asked.items():
        if not share:
            continue
        progress(f"{name}: scaling the sides to equal matches")
        variant = scaled_to(replace(plain, **{VARIANTS[name]: share}), chance)
        yield from _other_rows(name, options, variant, methods, progress)


def _growth_rows(
    options: WithinBench, plain: WithinWorkload, methods: Sequence[str], progress: Progress
) -> Iterator[Row]:
    """Ten times as many subscriptions with a tenth of the area each."""
    grown = replace(plain.of_size(plain.subscriptions * GROWTH, plain.messages), scale=plain.side_scale / GROWTH**0.5)
    if plain.data:
        grown = scaled_to(grown, match_chance(plain) / GROWTH)
    yield from _other_rows(f"x{GROWTH}", options, grown, methods, progress)


def _other_rows(
    label: str, options: WithinBench, other: WithinWorkload, methods: Sequence[str], progress: Progress
) -> Iterator[Row]:
    workload = generate(other)
    batches = batches_of(workload.messages)
    for method in methods:
        name = f"{method}[{label}]"
        progress(f"{name}: matching")
        index = loaded(method, workload.space, workload.subscriptions)
        speed = speed_of(index, batches, options.repetitions, options.budget_s)
        yield replace(_row(name, index, speed, other.subscriptions), scale=other.side_scale)


def _ratios(rows: list[Row], methods: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Every index over every floor and every index after it; what is harder over the plain workload; p99 over p50."""
    speed = {row.name: row.messages_per_s for row in rows}
    floors = [row.name for row in rows if row.role == "floor"]
    for number, method in enumerate(methods):
        for other in (*floors, *methods[number + 1 :]):
            yield f"{method}/{other}", speed[method] / speed[other]
        for name in speed:
            if name.startswith(f"{method}[") and name not in (f"{method}[churned]", f"{method}[fresh]"):
                yield f"{name}/{method}", speed[name] / speed[method]
        if f"{method}[churned]" in speed:
            yield f"{method}[churned]/{method}[fresh]", speed[f"{method}[churned]"] / speed[f"{method}[fresh]"]
    for row in rows:
        if row.role == "index" and row.p50_us and row.p99_us:
            yield f"{row.name}:p99_us/{row.name}:p50_us", row.p99_us / row.p50_us
