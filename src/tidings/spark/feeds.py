"""Where a pipeline's batches come from, seen from the driver: a log, or a topic.

A feed knows how far a batch of the query goes, gives the chunks of any batch (of the one that the query has just
brought, or of one that has to run again), and can cut a batch into halves when one of its events is suspected.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
import pyarrow as pa

from tidings.log.deliveries import Batch
from tidings.spark.block_source import BlockSource, SourceOptions, parts_of, read_chunks
from tidings.spark.reading import open_for_reading
from tidings.spark.settings import PipelineSettings
from tidings.spark.work import CHUNK_SCHEMA, Origin, Spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Feed(Protocol):
    """The events of a pipeline."""

    @property
    def origin(self) -> Origin:
        """Where they are, for tasks."""
        ...

    def stream(self, spark: "SparkSession", start: int, aside: tuple[int, ...]) -> "DataFrame":
        """The streaming DataFrame of chunks from a position on."""
        ...

    def batch(self, first: int, offset: str) -> Batch:
        """The batch that begins at a position and ends at an offset, as the query wrote it down."""
        ...

    def chunks(
        self, spark: "SparkSession", batch: Batch, aside: tuple[int, ...], rows: "DataFrame | None" = None
    ) -> "DataFrame":
        """The chunks of a batch; `rows` is what the query brought for it, if it did."""
        ...

    def committed(self, batch: Batch) -> None:
        """A batch is done: the next one begins behind it."""
        ...

    def halves(self, batch: Batch) -> tuple[Batch, Batch]:
        """A batch of several events as two, which come one after the other."""
        ...

    def event(self, position: int, batch: Batch) -> bytes:
        """One event of a batch, as it is in the log."""
        ...


class LogFeed:
    """The events of an embedded log."""

    def __init__(
        self, origin: Origin, spread: Spread, settings: PipelineSettings, cores: int, stop: int | None
    ) -> None:
        self.origin: Final = origin
        self._spread: Final = spread
        self._settings: Final = settings
        self._cores: Final = cores
        self._stop: Final = stop

    def stream(self, spark: "SparkSession", start: int, aside: tuple[int, ...]) -> "DataFrame":
        """Chunks from a position on."""
        spark.dataSource.register(BlockSource)
        options = SourceOptions(
            origin=self.origin,
            spread=self._spread,
            start=start,
            cores=self._cores,
            max_events=self._settings.max_events,
            max_bytes=self._settings.max_bytes,
            target_s=self._settings.target_s,
            stop=self._stop,
            aside=aside,
        )
        source = msgspec.json.encode(options).decode()
        return spark.readStream.format("tidings-blocks").option("source", source).load()

    def batch(self, first: int, offset: str) -> Batch:
        """The batch up to an offset."""
        return Batch(first, int(json.loads(offset)["position"]))

    def chunks(
        self, spark: "SparkSession", batch: Batch, aside: tuple[int, ...], rows: "DataFrame | None" = None
    ) -> "DataFrame":
        """The chunks of a batch."""
        if rows is not None:
            return rows
        origin, spread = self.origin, self._spread
        parts = [(part.first, part.end) for part in parts_of(batch.first, batch.end, self._cores)]

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for numbers in batches:
                for number in numbers["id"].to_pylist():
                    yield from read_chunks(origin, spread, aside, *parts[number])

        n = len(parts)
        return spark.range(0, n, 1, n).mapInArrow(read, CHUNK_SCHEMA)

    def committed(self, batch: Batch) -> None:
        """Positions say it all."""

    def halves(self, batch: Batch) -> tuple[Batch, Batch]:
        """Two batches that come one after the other."""
        middle = (batch.first + batch.end) // 2
        return Batch(batch.first, middle), Batch(middle, batch.end)

    def event(self, position: int, batch: Batch) -> bytes:
        """One event, as it was sent."""
        from pathlib import Path

        return next(open_for_reading(Path(self.origin.log)).frames(position, position + 1)).payload
