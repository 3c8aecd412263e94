"""Reading a log and deliveries as DataFrames: ranges of positions, read by tasks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tidings.log.deliveries import open_deliveries
from tidings.log.store import EventLog
from tidings.spark.delta_batches import deltas_batch
from tidings.spark.event_columns import LineReader
from tidings.spark.source_options import ReadOptions

UNBOUNDED: Final = 1 << 62
_ROWS_A_PARTITION: Final = 50_000


class Span(InputPartition):
    """Positions that one task reads."""

    def __init__(self, first: int, end: int) -> None:
        super().__init__((first, end))
        self.first = first
        self.end = end


class Bounds(NamedTuple):
    """From where to where there is something."""

    start: int
    end: int


class Table(Protocol):
    """What is read: a log, or deliveries."""

    def bounds(self) -> Bounds:
        """What is there now."""
        ...

    def reach(self, first: int, end: int, max_events: int, max_bytes: int) -> int:
        """How far from `first`, at most to `end`, one gets within both limits."""
        ...

    def read(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        """The rows of these positions."""
        ...

    def release(self, consumer: str, position: int) -> None:
        """A consumer needs nothing before this position."""
        ...


class LogTable:
    """The events of a log."""

    def __init__(self, path: str, columns: StructType) -> None:
        self._path: Final = Path(path)
        self._columns: Final = columns

    def bounds(self) -> Bounds:
        """The positions that are kept."""
        with EventLog.open(self._path, read_only=True) as log:
            return Bounds(log.start, log.end)

    def reach(self, first: int, end: int, max_events: int, max_bytes: int) -> int:
        """How far one gets within both limits."""
        if max_events >= UNBOUNDED and max_bytes >= UNBOUNDED:
            return end
        with EventLog.open(self._path, read_only=True) as log:
            return min(end, log.reach(first, min(max_events, end - first), max_bytes)) if end > first else first

    def read(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        """The events of these positions."""
        reader = LineReader(self._columns)
        with EventLog.open(self._path, read_only=True) as log:
            yield from reader.batches(log.frames(first, end))

    def release(self, consumer: str, position: int) -> None:
        """Tell the log, so that its retention keeps what is still to be read."""
        with EventLog.open(self._path) as log:
            log.need(consumer, position)


class DeliveriesTable:
    """The committed deltas of a pipeline."""

    def __init__(self, state: str, columns: StructType, subscription: str | None) -> None:
        self._state: Final = state
        self._schema: Final = to_arrow_schema(columns, timezone="UTC")
        self._subscription: Final = subscription

    def bounds(self) -> Bounds:
        """The positions whose deltas are kept and committed."""
        deliveries = open_deliveries(self._state)
        try:
            return Bounds(deliveries.start(), deliveries.done())
        finally:
            deliveries.close()

    def reach(self, first: int, end: int, max_events: int, max_bytes: int) -> int:
        """How far one gets: so many events, however many deltas they gave."""
        return min(end, first + max_events)

    def read(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        """The deltas of these positions."""
        deliveries = open_deliveries(self._state)
        try:
            for deltas in deliveries.read(first, end, self._subscription):
                batch = deltas_batch(deltas, deltas.position)
                yield pa.record_batch([batch.column(name) for name in self._schema.names], schema=self._schema)
        finally:
            deliveries.close()

    def release(self, consumer: str, position: int) -> None:
        """Move the consumer's cursor, which retention waits for."""
        deliveries = open_deliveries(self._state)
        try:
            deliveries.advance(consumer, position)
        finally:
            deliveries.close()


class TableReader(DataSourceReader):
    """`spark.read.format("tidings")`."""

    def __init__(self, table: Table, options: ReadOptions) -> None:
        self._table = table
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Ranges of what there is now."""
        bounds = self._table.bounds()
        first = self._options.first(bounds.start, bounds.end, bounds.start)
        end = bounds.end if self._options.ending is None else min(self._options.ending, bounds.end)
        return _spans(first, end, self._options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        return _rows(self._table, partition)


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream.format("tidings")`; an offset is the next position."""

    def __init__(self, table: Table, options: ReadOptions) -> None:
        self._table = table
        self._options = options
        self._target: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a query without a checkpoint begins."""
        bounds = self._table.bounds()
        return {"position": self._options.first(bounds.start, bounds.end, bounds.start)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What the options say."""
        most = self._options.max_events
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch."""
        first = int(start["position"])
        end = max(first, self._table.bounds().end)
        if self._target is not None:
            end = max(first, min(end, self._target))
        max_events = limit.max_rows if isinstance(limit, ReadMaxRows) else UNBOUNDED
        max_bytes = limit.max_bytes if isinstance(limit, ReadMaxBytes) else self._options.max_bytes or UNBOUNDED
        if isinstance(limit, ReadAllAvailable):
            max_bytes = UNBOUNDED
        return {"position": self._table.reach(first, end, max_events, max_bytes)}

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The end of all that there is; the query's progress shows it."""
        return {"position": self._table.bounds().end}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """From now on nothing is there but what is there now."""
        self._target = self._table.bounds().end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of a batch."""
        return _spans(int(start["position"]), int(end["position"]), self._options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        return _rows(self._table, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark needs nothing before this any more."""
        if self._options.consumer is not None:
            self._table.release(self._options.consumer, int(end["position"]))


def _rows(table: Table, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    """The rows of a range; where there are no ranges, Spark asks for a partition of its own."""
    return table.read(partition.first, partition.end) if isinstance(partition, Span) else iter(())


def _spans(first: int, end: int, partitions: int | None) -> list[InputPartition]:
    """Ranges of about the same length; what a query asks for is cut only where it pays."""
    n = max(end - first, 0)
    if n == 0:
        return []
    parts = min(n, partitions or -(-n // _ROWS_A_PARTITION))
    edges = [first + n * i // parts for i in range(parts + 1)]
    return [Span(edges[i], edges[i + 1]) for i in range(parts)]
