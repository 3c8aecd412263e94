"""Records of a topic as chunks for shards, in the order that the plan of their batch fixes.

Nobody has judged these records. What is wrong with one by itself is found here and goes to shard 0, which tells the
driver; whether an id is taken or known, the shards find out.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from tidings.columns.block import Block
from tidings.log.decoding import Decoder
from tidings.log.deliveries import Batch
from tidings.log.kafka import KafkaLog
from tidings.log.kafka_ranges import ranges_of
from tidings.spark.block_source import CHUNK_EVENTS, chunk_rows
from tidings.spark.work import Origin, Refused, Spread, packed, unpacked

Record = tuple[int, bytes]
"""A position and a line."""


class KafkaReader:
    """Events of a topic as blocks."""

    def __init__(self, origin: Origin) -> None:
        self._log: Final = origin.log
        self._decoder: Final = Decoder(origin.configuration)

    def block(self, records: Iterable[Record], aside: Collection[int] = ()) -> tuple[Block, list[Refused]]:
        """Records as a block, and those that are no events."""
        block, bad = self._decoder.checked_block([record for record in records if record[0] not in aside])
        refused = [
            Refused(one.position, replace(problem, line=one.position)) for one in bad for problem in one.error.problems
        ]
        return block, list({one.position: one for one in reversed(refused)}.values())

    def blocks(self, batches: Iterable[Batch], aside: Collection[int] = ()) -> Iterator[Block]:
        """The events of batches, in blocks."""
        with KafkaLog(self._log) as log:
            for batch in batches:
                records = log.read(ranges_of(batch.sources), batch.first)
                while some := list(islice(records, CHUNK_EVENTS)):
                    yield self.block(some, aside)[0]


@lru_cache(maxsize=8)
def _reader(origin: bytes) -> KafkaReader:
    return KafkaReader(unpacked(origin, Origin))


def topic_chunks(
    origin: Origin,
    spread: Spread,
    aside: Collection[int],
    shifts: dict[int, int],
    rows: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The chunks of rows `partition`, `offset`, `value` of Spark's connector. `shifts` make offsets positions."""
    reader = _reader(packed(origin))
    for records in _runs(rows, shifts):
        block, refused = reader.block(records, aside)
        yield from chunk_rows(block, spread, records[0][0], tuple(refused))


def _runs(rows: Iterable[pa.RecordBatch], shifts: dict[int, int]) -> Iterator[list[Record]]:
    """Records of one partition, in order, at most a chunk."""
    run: list[Record] = []
    last = -1
    for batch in rows:
        for partition, offset, value in zip(
            batch["partition"].to_pylist(), batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True
        ):
            if run and (partition != last or len(run) >= CHUNK_EVENTS):
                yield run
                run = []
            last = partition
            run.append((offset + shifts[partition], value or b""))
    if run:
        yield run
