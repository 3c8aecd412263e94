"""What somebody with Spark and SQL would write, as the floor of the pipeline: a join on cell and rarest word.

Each subscription is filed once per grid cell that its box touches, under its rarest word, in a cached table; each
message asks for its words in its cell, and whatever comes back is verified. Batches come from Parquet files (faster to
read than lines of JSON) and each batch's matches are written as Parquet files. There are no registrations, no order,
no `+` and `-`, and nothing would notice a crash.

Spark is set to what is best for this: generated code that is compiled as well as Java can, and the quickest of several
grids and joins counts.
"""

import time
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from tidings.lab.pipeline_log import DISTINCT
from tidings.lab.pipeline_throughput import Run, Throughput
from tidings.lab.workloads import WithinWorkload, Workload, generate
from tidings.spark.launch import cores_of, patient
from tidings.spark.session import session

CELLS: Final = (32, 64, 100)
JOINS: Final = ("BROADCAST", "SHUFFLE_HASH")
TRIED: Final = 3
"""Batches of each variant before the best is measured; the first of them does not count."""
FASTEST: Final = {"spark.sql.codegen.wholeStage": "true", "spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}
"""What generated code wants: to be compiled as well as Java can, which a pipeline does without."""

_FILED: Final = """
SELECT *, cx, cy FROM given
LATERAL VIEW explode(sequence(int(x0 * {cells}), int(x1 * {cells}))) AS cx
LATERAL VIEW explode(sequence(int(y0 * {cells}), int(y1 * {cells}))) AS cy"""
_JOIN: Final = """
SELECT /*+ {join}(s) */ s.subscription, m.message
FROM (
  SELECT *, explode(words) AS word, int(x * {cells}) AS cx, int(y * {cells}) AS cy
  FROM (SELECT message, x, y, split(text, ' ') AS words FROM batch)
) m
JOIN filed s ON m.word = s.rarest AND m.cx = s.cx AND m.cy = s.cy
WHERE m.x BETWEEN s.x0 AND s.x1 AND m.y BETWEEN s.y0 AND s.y1 AND forall(s.words, w -> array_contains(m.words, w))"""


class FloorRun(Struct, frozen=True, kw_only=True):
    """The floor, with the subscriptions and messages of a pipeline."""

    pipeline: Throughput
    """Measured before, in a process of its own."""
    run: Run
    workload: WithinWorkload
    batches: int = 12
    """So many are measured."""


class Variant(Struct, frozen=True):
    """A grid and a join, and the median time of a batch."""

    cells: int
    join: str
    batch_s: float


class FloorAnswer(Struct, frozen=True, kw_only=True):
    """Both."""

    pipeline: Throughput
    variants: list[Variant]
    best: Variant
    """Measured again, over more batches."""
    messages_per_s: float
    batch_p99_s: float
    build_s: float
    """Filing the subscriptions."""
    matches: int
    """Of the messages of all files,"""
    messages: int
    """which are so many."""


def against_floor(given: FloorRun) -> FloorAnswer:
    """Measure the floor."""
    spark = session(patient(given.run.master), shards=cores_of(given.run.master), conf=FASTEST)
    try:
        with TemporaryDirectory(prefix="tidings-floor-") as folder:
            return _floor(spark, given, Path(folder))
    finally:
        spark.stop()


def _floor(spark: Any, given: FloorRun, folder: Path) -> FloorAnswer:
    run = given.run
    cores = cores_of(run.master)
    workload = generate(given.workload.of_size(given.workload.subscriptions, min(run.messages, DISTINCT)))
    _write_subscriptions(workload, folder)
    batches = _write_messages(workload, folder, run.batch, cores)
    variants, best, build_s = [], None, 0.0
    for cells in CELLS:
        for join in JOINS:
            took, times = _times(spark, folder, batches, cells, join, TRIED)
            variants.append(Variant(cells, join, median(times[1:])))
            if best is None or variants[-1].batch_s < best.batch_s:
                best, build_s = variants[-1], took
    assert best is not None
    _, times = _times(spark, folder, batches, best.cells, best.join, max(given.batches, len(batches)) + 1)
    matches = sum(spark.read.parquet(str(folder / f"out-{number}")).count() for number in range(len(batches)))
    messages = run.batch * len(batches)
    if not matches or matches != run.log.expected(messages):
        raise AssertionError(f"the floor finds {matches} matches, an index {run.log.expected(messages)}")
    best = Variant(best.cells, best.join, median(times[1:]))
    return FloorAnswer(
        pipeline=given.pipeline,
        variants=variants,
        best=best,
        messages_per_s=run.batch / best.batch_s,
        batch_p99_s=float(np.quantile(times[1:], 0.99)),
        build_s=build_s,
        matches=matches,
        messages=messages,
    )


def _times(spark: Any, folder: Path, batches: list[str], cells: int, join: str, n: int) -> tuple[float, list[float]]:
    """File the subscriptions, and answer the batches, as many as said, again from the first; how long each took."""
    start = time.perf_counter()
    spark.catalog.clearCache()
    spark.read.parquet(str(folder / "subscriptions.parquet")).createOrReplaceTempView("given")
    filed = spark.sql(_FILED.format(cells=cells)).cache()
    filed.createOrReplaceTempView("filed")
    filed.count()
    built = time.perf_counter()
    times = []
    for number, batch in islice(cycle(enumerate(batches)), n):
        before = time.perf_counter()
        spark.read.parquet(batch).createOrReplaceTempView("batch")
        found = spark.sql(_JOIN.format(cells=cells, join=join))
        found.write.mode("overwrite").parquet(str(folder / f"out-{number}"))
        times.append(time.perf_counter() - before)
    return built - start, times


def _write_subscriptions(workload: Workload, folder: Path) -> None:
    columns = workload.subscriptions
    words, bounds = columns.word.strings(), columns.geometry.reshape(-1, 4)
    used = np.bincount(workload.message_word, minlength=len(workload.words.strings())).tolist()
    frequency = dict(zip(workload.words.strings(), used, strict=True))
    start, term = columns.term_start.tolist(), columns.term.tolist()
    lists = [[words[word] for word in term[i + 1 : end]] for i, end in pairwise(start)]
    table = {
        "subscription": columns.id.strings(),
        **{name: bounds[:, i] for i, name in enumerate(("x0", "y0", "x1", "y1"))},
        "words": lists,
        "rarest": [min(asked, key=frequency.__getitem__) for asked in lists],
    }
    pq.write_table(pa.table(table), folder / "subscriptions.parquet")


def _write_messages(workload: Workload, folder: Path, size: int, cores: int) -> list[str]:
    """The messages in a folder per batch, with a file for each core."""
    messages = workload.messages
    word = np.array(workload.words.strings(), object)[workload.message_word]
    starts, ids = messages.word_start.tolist(), messages.id.strings()
    batches = []
    for first in range(0, len(ids) - size + 1, size):
        batch = folder / f"batch-{first:09d}"
        batch.mkdir()
        edges = [first + size * i // cores for i in range(cores + 1)]
        for low, high in pairwise(edges):
            place = messages.place[low:high]
            texts = [" ".join(word[starts[i] : starts[i + 1]]) for i in range(low, high)]
            table = pa.table({"message": ids[low:high], "x": place[:, 0], "y": place[:, 1], "text": texts})
            pq.write_table(table, batch / f"{low:09d}.parquet")
        batches.append(str(batch))
    return batches
