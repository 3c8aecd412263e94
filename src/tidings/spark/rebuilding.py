"""A shard made anew: from the last committed snapshot, and the events of the log since then."""

from collections.abc import Iterator

from tidings.columns.block import Block
from tidings.log.deliveries import open_deliveries
from tidings.matching.screening import step_screened
from tidings.matching.shard import Shard
from tidings.model.errors import FileError, Problem
from tidings.spark.kafka_reading import KafkaReader
from tidings.spark.reading import reader_of
from tidings.spark.shard_files import snapshots_of
from tidings.spark.snapshots import read_shard
from tidings.spark.work import Work
from tidings.spread.base import plan_of


def rebuilt_shard(work: Work, number: int, position: int) -> Shard:
    """The shard as it stands before the event at a position."""
    start, shard = 0, None
    if work.snapshot is not None and work.snapshot.position <= position:
        stored = read_shard(snapshots_of(work), work.snapshot.parts[number])
        if stored.position != work.snapshot.position:
            found, expected = f"state at {stored.position}", f"state at {work.snapshot.position}"
            raise FileError(Problem("file-corrupt", work.snapshot.parts[number].name, found, expected))
        start, shard = stored.position, Shard.from_arrays(work.origin.configuration, work.spread.methods, stored.arrays)
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
