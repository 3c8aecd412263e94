"""A topic as the feed of a pipeline, by Spark's own connector.

A batch is a range of offsets of each partition, one partition after the other: the plan writes all of them down, also
those of partitions that nothing came from, so that the last plan alone says where to go on.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidings.log.deliveries import Batch
from tidings.log.kafka import KafkaLog
from tidings.log.kafka_address import parse_address
from tidings.log.kafka_ranges import KafkaRange, n_positions, offsets_json, ranges_of, record_at, shifts, sources_of
from tidings.spark.kafka_reading import topic_chunks
from tidings.spark.settings import PipelineSettings
from tidings.spark.work import CHUNK_SCHEMA, Origin, Spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READ_COMMITTED: Final = {"kafka.isolation.level": "read_committed", "failOnDataLoss": "true"}


class KafkaFeed:
    """The events of a topic."""

    def __init__(self, origin: Origin, spread: Spread, settings: PipelineSettings, last: Batch | None) -> None:
        """`last` is the last batch that was planned or committed."""
        self.origin: Final = origin
        self._spread: Final = spread
        self._settings: Final = settings
        self._address: Final = parse_address(origin.log)
        self._taken: dict[int, int] = {one.partition: one.end for one in ranges_of(last.sources)} if last else {}

    def waiting(self) -> int:
        """How many positions are in the topic and in no batch that is done."""
        with KafkaLog(self.origin.log) as log:
            return sum(end - self._taken.get(partition, 0) for partition, end in log.ends().items())

    def stream(self, spark: "SparkSession", start: int, aside: tuple[int, ...]) -> "DataFrame":
        """Chunks from a position on."""
        with KafkaLog(self.origin.log) as log:
            partitions = log.starts()
        first = {str(partition): self._taken.get(partition, 0) for partition in partitions}
        reader = spark.readStream.format("kafka").options(**self._where())
        return (
            reader.option("startingOffsets", json.dumps({self._address.events: first}))
            .option("maxOffsetsPerTrigger", self._settings.max_events)
            .option("maxBytesPerTrigger", self._settings.max_bytes)
            .load()
            .select("partition", "offset", "value")
        )

    def batch(self, first: int, offset: str) -> Batch:
        """The batch up to an offset."""
        ends = {int(partition): end for partition, end in json.loads(offset)[self._address.events].items()}
        ranges = tuple(
            KafkaRange(self._address.events, partition, self._taken.get(partition, 0), ends[partition])
            for partition in sorted(ends)
        )
        return Batch(first, first + n_positions(ranges), sources_of(ranges))

    def committed(self, batch: Batch) -> None:
        """Offsets go on behind this batch."""
        self._taken = {one.partition: one.end for one in ranges_of(batch.sources)}

    def chunks(
        self, spark: "SparkSession", batch: Batch, aside: tuple[int, ...], rows: "DataFrame | None" = None
    ) -> "DataFrame":
        """The chunks of a batch."""
        ranges = ranges_of(batch.sources)
        if rows is None:
            first, end = offsets_json(ranges)
            reader = spark.read.format("kafka").options(**self._where())
            rows = reader.option("startingOffsets", first).option("endingOffsets", end).load()
            rows = rows.select("partition", "offset", "value")
        origin, spread, shift = self.origin, self._spread, shifts(ranges, batch.first)

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from topic_chunks(origin, spread, aside, shift, batches)

        return rows.mapInArrow(read, CHUNK_SCHEMA)

    def halves(self, batch: Batch) -> tuple[Batch, Batch]:
        """Two batches that come one after the other."""
        middle = (batch.first + batch.end) // 2
        left = middle - batch.first
        first, second = [], []
        for one in ranges_of(batch.sources):
            taken = min(left, one.end - one.first)
            left -= taken
            first.append(KafkaRange(one.topic, one.partition, one.first, one.first + taken))
            second.append(KafkaRange(one.topic, one.partition, one.first + taken, one.end))
        return Batch(batch.first, middle, sources_of(first)), Batch(middle, batch.end, sources_of(second))

    def event(self, position: int, batch: Batch) -> bytes:
        """One event, as it was sent."""
        partition, offset = record_at(ranges_of(batch.sources), batch.first, position)
        with KafkaLog(self.origin.log) as log:
            one = KafkaRange(self._address.events, partition, offset, offset + 1)
            return next((line for _, line in log.read([one], position)), b"")

    def _where(self) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self._address.bootstrap,
            "subscribe": self._address.events,
            **READ_COMMITTED,
        }
