"""The source of the pipeline's query: the log, as blocks that are cut, encoded and routed already.

Spark asks the reader, in one Python process beside the driver, how far the next batch goes; then tasks read the parts
of the batch right from the log. A row is fat: a chunk of events for one shard, as a block in bytes. What Spark and
Python charge per row is so paid per thousands of events.
"""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from msgspec import Struct
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from tidings.columns.block import Block
from tidings.columns.block_bytes import block_to_bytes
from tidings.log.store import EventLog
from tidings.spark.exchange import handed_over
from tidings.spark.pacing import Pace
from tidings.spark.reading import open_for_reading, reader_of
from tidings.spark.work import CHUNK_SCHEMA, Origin, Refused, Spread, packed
from tidings.spark.worker_garbage import set_apart
from tidings.spread.base import plan_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

CHUNK_EVENTS: Final = 25_000
"""The most events of a chunk: its row stays at a few megabytes."""
WORTH_A_TASK: Final = 4_000
"""So many events are worth a task of their own; it costs about 20 ms."""

_ARROW_SCHEMA: Final = pa.schema(
    [("shard", pa.int32()), ("chunk", pa.int64()), ("payload", pa.binary()), ("refused", pa.binary())]
)


class SourceOptions(Struct, frozen=True):
    """What the reader is told, as the option `source` in JSON."""

    origin: Origin
    spread: Spread
    start: int
    """Where to begin."""
    cores: int
    max_events: int
    max_bytes: int
    target_s: float
    stop: int | None = None
    """Where to end, for a run of a file."""
    aside: tuple[int, ...] = ()


class Part(InputPartition):
    """The events of one source task."""

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end


def parts_of(first: int, end: int, cores: int) -> list[Part]:
    """A range of events for as many tasks as are worth it."""
    n = end - first
    if n <= 0:
        return []
    wanted = max(min(cores, n // WORTH_A_TASK), -(-n // CHUNK_EVENTS), 1)
    edges = [first + n * i // wanted for i in range(wanted + 1)]
    return [Part(low, high) for low, high in pairwise(edges)]


def read_chunks(
    origin: Origin, spread: Spread, aside: tuple[int, ...], first: int, end: int
) -> Iterator[pa.RecordBatch]:
    """The chunk of a range of the log, once per shard that has to see something of it."""
    yield from chunk_rows(reader_of(origin).block(first, end, aside), spread, first)


def chunk_rows(block: Block, spread: Spread, first: int, refused: tuple[Refused, ...] = ()) -> Iterator[pa.RecordBatch]:
    """A block as rows for the shards that have to see something of it; what was refused goes to shard 0."""
    payloads: dict[int, bytes] = {}
    for shard, piece in enumerate(plan_of(spread.plan, spread.shards).split(block)):
        tells = shard == 0 and bool(refused)
        if not len(piece.op) and not tells:
            continue
        # Without events of subscriptions all shards have the same block, which is put into bytes once.
        payload = payloads.get(id(piece))
        if payload is None:
            payload = payloads[id(piece)] = handed_over(block_to_bytes(piece), spread.exchange)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([shard], pa.int32()),
                pa.array([first], pa.int64()),
                pa.array([payload], pa.binary()),
                pa.array([packed(refused) if tells else None], pa.binary()),
            ],
            schema=_ARROW_SCHEMA,
        )
    set_apart()


class BlockSource(DataSource):
    """The data source `tidings-blocks`, which only the pipeline uses."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "tidings-blocks"

    def schema(self) -> str:
        """The columns of a chunk."""
        return CHUNK_SCHEMA

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:  # noqa: N802
        """The reader of a query."""
        return BlockReaderOfStream(msgspec.json.decode(self.options["source"], type=SourceOptions))


class BlockReaderOfStream(DataSourceStreamReader):
    """Says how far the next batch goes, and reads it."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._pace = Pace(options.max_events, options.target_s)
        self._began: tuple[float, int] | None = None

    @property
    def _log(self) -> EventLog:
        return open_for_reading(Path(self._options.origin.log))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where the deliveries end."""
        return {"position": self._options.start}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """As far as the batch may go, or `start` when there is nothing; asked for when the batch before is done."""
        first, now = start["position"], time.monotonic()
        if self._began is not None:
            self._pace.observe(self._began[1], now - self._began[0])
            self._began = None
        end = self._log.reach(first, self._pace.limit, self._options.max_bytes)
        if self._options.stop is not None:
            end = min(end, self._options.stop)
        if end > first:
            self._began = (now, end - first)
        return {"position": max(end, first)}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        """The end of the log: with it Spark's own progress shows the lag."""
        return {"position": self._log.end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """The parts of a batch, one task each."""
        return list(parts_of(start["position"], end["position"], self._options.cores))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The chunks of a part."""
        assert isinstance(partition, Part)
        return read_chunks(
            self._options.origin, self._options.spread, self._options.aside, partition.first, partition.end
        )
