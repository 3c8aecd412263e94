"""What the battery does with pipelines: a random log, one run of a pipeline over it, and the file that comes of it."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import SparkSession
from tests.oracle.logs import random_log
from tests.oracle.semantics import deltas_of

from tidings.columns.encode import BlockBuilder
from tidings.log.deliveries import open_deliveries
from tidings.log.deltas_file import DeltasFile, lines_of
from tidings.log.files import Entry
from tidings.log.intake import Intake
from tidings.log.store import EventLog
from tidings.log.wire import decode_event
from tidings.matching.engine import Engine
from tidings.model.events import Configure
from tidings.spark.launch import LogPipeline, settled
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.settings import PipelineSettings

Event = dict[str, Any]
MASTER = "local[2]"
HARMLESS: Event = {"op": "retract", "id": "nobody at all"}
"""What stands in an oracle's log for an event that everybody passes over."""


def lines(events: Sequence[Event]) -> list[bytes]:
    """Events as a log takes them."""
    return [json.dumps(event, ensure_ascii=False).encode() for event in events]


def wanted(events: Sequence[Event], skipped: Sequence[int] = ()) -> bytes:
    """The oracle's file of deltas; that it has none would prove nothing."""
    heard = [HARMLESS if position in skipped else event for position, event in enumerate(events)]
    answer = "".join(json.dumps(delta, ensure_ascii=False) + "\n" for delta in deltas_of(heard)).encode()
    assert answer.count(b"\n") > 10, "the log is so dull that it proves nothing"
    return answer


def engine_file(events: Sequence[Event]) -> bytes:
    """The same file from an engine in this process."""
    configuration = Configure()
    entries = []
    for position, line in enumerate(lines(events)):
        event = decode_event(line, configuration.space)
        configuration = event if isinstance(event, Configure) else configuration
        entries.append(Entry(position, event, line))
    intake = Intake(iter(entries), BlockBuilder)
    engine = Engine(intake.configuration)
    return b"".join(lines_of(deltas) for block in intake for deltas in engine.step(block))


def lively_log(seed: int, events: int, profile: str, **more: Any) -> list[Event]:
    """A random log with enough answers; the seed that it took is the first from `seed` on that will do."""
    while True:
        log = random_log(seed, events, profile, **more)
        if len(log) == events and len(deltas_of(log)) > max(12, events // 4):
            return log
        seed += 1_000_003


def append_all(path: Path, events: Sequence[Event], random: Random, *, largest: int = 60) -> None:
    """Append events in groups of random sizes."""
    with EventLog.open(path, create=True) as log:
        rest = lines(events)
        while rest:
            n = random.randint(1, largest)
            log.append(rest[:n])
            rest = rest[n:]


@contextmanager
def appending(path: Path, events: Sequence[Event], random: Random, pause_s: float = 0.05) -> Iterator[None]:
    """Append the rest of a log in small groups while something else goes on."""
    failures: list[BaseException] = []

    def append() -> None:
        try:
            with EventLog.open(path) as log:
                rest = lines(events)
                while rest:
                    n = random.randint(1, 25)
                    log.append(rest[:n])
                    rest = rest[n:]
                    stopped.wait(pause_s)
        except BaseException as failure:
            failures.append(failure)

    stopped = threading.Event()
    thread = threading.Thread(target=append)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
    assert not failures, failures


def settings_for(folder: Path, **options: Any) -> PipelineSettings:
    """Settings of a pipeline over `log` in a folder, as a master that is this machine gets them."""
    return settled(PipelineSettings(log=str(folder / "log"), **options), MASTER)


@contextmanager
def pipeline_of(
    spark: SparkSession,
    settings: PipelineSettings,
    *,
    metrics: Metrics | None = None,
    on_commit: Callable[[BatchReport], None] = lambda report: None,
) -> Iterator[LogPipeline]:
    """A pipeline on a session that others use too."""
    with EventLog.open(Path(settings.log), read_only=True) as log:
        configuration = log.configuration
    assert configuration is not None
    spark.conf.set("spark.sql.shuffle.partitions", str(settings.shards))
    made = LogPipeline(spark, settings, configuration, cores=2, metrics=metrics, on_commit=on_commit)
    try:
        yield made
    finally:
        made.close()


def run(spark: SparkSession, settings: PipelineSettings, until: int, **options: Any) -> list[BatchReport]:
    """Run a pipeline until all before a position is done, from where it stood; what its batches were."""
    reports: list[BatchReport] = []
    with pipeline_of(spark, settings, on_commit=reports.append) as made:
        made.pipeline.run(until=until, **options)
        assert made.pipeline.driver.done >= until
    return reports


def exported(settings: PipelineSettings, out: Path) -> bytes:
    """The file of all that is delivered, as the command line writes it."""
    deliveries = open_deliveries(settings.state_folder)
    try:
        assert not deliveries.verify()
        with DeltasFile(str(out)) as file:
            for deltas in deliveries.read(0):
                file.write(deltas)
    finally:
        deliveries.close()
    return out.read_bytes()


def assert_same(found: bytes, right: bytes) -> None:
    """Byte for byte, and where not if not."""
    if found == right:
        return
    got, good = found.splitlines(), right.splitlines()
    at = next((i for i, (a, b) in enumerate(zip(got, good, strict=False)) if a != b), min(len(got), len(good)))
    raise AssertionError(
        f"{len(got)} lines of {len(good)}; line {at}: {got[at : at + 2]} instead of {good[at : at + 2]}"
    )


def with_(settings: PipelineSettings, **options: Any) -> PipelineSettings:
    """The same settings but for these."""
    return replace(settings, **options)


def table_of(settings: PipelineSettings) -> pa.Table:
    """The deltas of a Parquet store, read by nobody but PyArrow."""
    import pyarrow.parquet as pq

    files = sorted(Path(settings.state_folder, "deltas").glob("*.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files])
