"""A shard made anew: from the last committed snapshot, and the events of the log since then."""

from collections.abc import Iterator
from pathlib import Path

from tidings.columns.block import Block
from tidings.log.deliveries import open_deliveries
from tidings.matching.screening import step_screened
from tidings.matching.shard import Shard
from tidings.model.errors import FileError, Problem
from tidings.spark.kafka_reading import KafkaReader
from tidings.spark.reading import open_for_reading, reader_of
from tidings.spark.shard_files import snapshots_of
from tidings.spark.snapshots import read_shard
from tidings.spark.work import Work
from tidings.spread.base import plan_of


def rebuilt_shard(work: Work, number: int, position: int) -> Shard:
    """The shard as it stands before the event at a position."""
    start, shard = _from_snapshot(work, number, position)
    if shard is None:
        shard = Shard(work.origin.configuration, **work.spread.methods)
    plan = plan_of(work.spread.plan, work.spread.shards)
    for block in blocks_of(work, start, position):
        part = plan.split(block)[number]
        if work.screened:
            step_screened(shard, part)
        else:
            shard.advance(part)
    return shard


def _from_snapshot(work: Work, number: int, position: int) -> tuple[int, Shard | None]:
    """Where to begin, and with what. A snapshot that is lost is no loss while the log is there from its start."""
    snapshot = work.snapshot
    if snapshot is None or snapshot.position > position:
        return 0, None
    try:
        stored = read_shard(snapshots_of(work), snapshot.parts[number])
        if stored.position != snapshot.position:
            found, expected = f"state at {stored.position}", f"state at {snapshot.position}"
            raise FileError(Problem("file-corrupt", snapshot.parts[number].name, found, expected))
    except FileError:
        if work.origin.is_kafka or open_for_reading(Path(work.origin.log)).start > 0:
            raise
        return 0, None
    return stored.position, Shard.from_arrays(work.origin.configuration, work.spread.methods, stored.arrays)


def blocks_of(work: Work, start: int, end: int) -> Iterator[Block]:
    """All events of a range, as blocks."""
    if not work.origin.is_kafka:
        yield from reader_of(work.origin).blocks(start, end, work.aside)
        return
    deliveries = open_deliveries(work.state)
    try:
        yield from KafkaReader(work.origin).blocks(deliveries.batches(start, end), work.aside)
    finally:
        deliveries.close()
