"""What the tasks of a match do: encode both sides into blocks, and step over the blocks of one task.

A row between the tasks is fat: the bytes of a block of thousands of subscriptions or messages. Task `i * spread + j`
gets the subscriptions of shard i and, when nothing depends on an order, only every `spread`-th block of messages;
sorted by (part, number) its rows are all subscriptions, then the messages in order.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from tidings.columns.block import Block, sealed
from tidings.columns.block_bytes import block_from_bytes, block_to_bytes
from tidings.columns.encode import BlockBuilder
from tidings.columns.slicing import pieces_from
from tidings.matching.shard import Shard
from tidings.model.errors import InputError, Problem
from tidings.model.events import Configure
from tidings.spark.delta_batches import deltas_batch, matched_batches
from tidings.spark.live_ids import LiveIds
from tidings.spark.message_columns import block_of
from tidings.spark.message_rows import checked
from tidings.spark.row_problems import RowProblem, RowProblems
from tidings.spark.subscription_rows import registrations
from tidings.words.analyser import Analyser
from tidings.words.hashing import hash_word

CHUNK_SCHEMA: Final = "task int, part bigint, number bigint, payload binary"
"""A row between the tasks."""

_CHUNKS: Final = pa.schema(
    [("task", pa.int32()), ("part", pa.int64()), ("number", pa.int64()), ("payload", pa.binary())]
)
_SUBSCRIPTIONS_PART: Final = -1
_REGISTERED_AT_ONCE: Final = 8192


class Plan(NamedTuple):
    """What all tasks of a match know."""

    configuration: Configure
    methods: dict[str, str]
    kinds: tuple[str, ...]
    """The kinds that there are."""
    implied: str | None
    """The kind of all subscriptions, when there is no column for it."""
    shards: int
    """Parts of the subscriptions."""
    spread: int
    """Parts of the messages; 1 when their order counts."""
    positioned: bool
    """Whether messages bring their positions."""
    drops: bool
    """Whether rows that cannot be are dropped; otherwise they are an error."""

    @property
    def ordered(self) -> bool:
        """Whether the answer depends on the order of the messages."""
        return self.kinds != ("within",)


class SubscriptionEncoder:
    """Rows of subscriptions -> chunks."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The chunks of one partition; all that is wrong in it is raised at its end."""
        plan = self._plan
        problems = RowProblems("subscriptions", drops=plan.drops)
        builders = [BlockBuilder(plan.configuration) for _ in range(plan.shards)]
        number = _partition() << 32
        for batch in batches:
            for row in registrations(batch, plan.configuration.space, plan.implied):
                if isinstance(row, list):
                    problems.add(row)
                    continue
                id_ = row.subscription.id
                shard = hash_word(id_) % plan.shards
                builder = builders[shard]
                try:
                    kind = type(row.subscription).__name__.lower()
                    if kind not in plan.kinds:
                        raise InputError(Problem("kind-unknown", "$.kind", kind, f"one of {', '.join(plan.kinds)}"))
                    builder.add(len(builder), row)
                except InputError as error:
                    problems.add([RowProblem(id_, problem) for problem in error.problems])
                if len(builder) >= _REGISTERED_AT_ONCE and not problems:
                    number += 1
                    yield from self._chunks(shard, number, builder.build())
        problems.raise_all()
        for shard, builder in enumerate(builders):
            if len(builder):
                number += 1
                yield from self._chunks(shard, number, builder.build())

    def _chunks(self, shard: int, number: int, block: Block) -> Iterator[pa.RecordBatch]:
        payload = block_to_bytes(block)
        for share in range(self._plan.spread):
            yield _chunk(shard * self._plan.spread + share, _SUBSCRIPTIONS_PART, number, payload)


class MessageEncoder:
    """Rows of messages -> chunks; they come in order when the order counts."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The chunks of one partition; all that is wrong in it is raised at its end."""
        plan, part = self._plan, _partition()
        problems = RowProblems("messages", drops=plan.drops)
        analyser = Analyser(plan.configuration.analyser)
        last = -1
        for number, batch in enumerate(batches):
            seen = checked(batch, plan.configuration.space)
            problems.add(seen.problems)
            good = seen.good
            if plan.ordered and plan.positioned:
                good, repeated, last = _without_repeated(good, last)
                problems.add(repeated)
            if good.num_rows and not problems:
                payload = block_to_bytes(block_of(good, analyser))
                share = (part + number) % plan.spread
                for shard in range(plan.shards):
                    yield _chunk(shard * plan.spread + share, part, number, payload)
        problems.raise_all()


class Stepper:
    """The chunks of one task -> deltas."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The deltas of one task."""
        plan = self._plan
        shard = Shard(plan.configuration, **plan.methods)
        registered = Registered(shard)
        stream = MessageStream(shard, plan) if plan.ordered else None
        for batch in batches:
            for part, payload in zip(batch.column("part").to_pylist(), batch.column("payload"), strict=True):
                block = block_from_bytes(payload.as_buffer())
                if part == _SUBSCRIPTIONS_PART:
                    registered.add(block)
                    continue
                registered.check()
                if stream is None:
                    yield from matched_batches(shard, block, plan.positioned)
                else:
                    stream.start_at(registered.n)
                    yield from stream.step(block)
        registered.check()


class Registered:
    """The subscriptions of a shard, registered block by block."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._ids: set[str] = set()
        self._twice: list[RowProblem] = []
        self.n = 0
        """How many there are."""

    def add(self, block: Block) -> None:
        """Register the subscriptions of a block, unless an id was found twice."""
        ids = block.subscriptions.id.strings()
        if len(set(ids)) < len(ids) or not self._ids.isdisjoint(ids):
            for id_ in ids:
                if id_ in self._ids:
                    self._twice.append(RowProblem(id_, _TWICE))
                self._ids.add(id_)
        self._ids.update(ids)
        if not self._twice:
            self._shard.step(sealed(block._replace(position=np.arange(self.n, self.n + len(ids)))))
            self.n += len(ids)

    def check(self) -> None:
        """Raise the ids that were there twice."""
        problems = RowProblems("subscriptions", drops=False)
        problems.add(self._twice)
        problems.raise_all()


class MessageStream:
    """Messages in order, stepped over block by block."""

    def __init__(self, shard: Shard, plan: Plan) -> None:
        self._shard = shard
        self._plan = plan
        self._live = LiveIds(plan.configuration.window)
        self._problems = RowProblems("messages", drops=plan.drops)
        self._first = 0
        self._n = 0

    def start_at(self, position: int) -> None:
        """Where the shard's positions of messages begin: behind those of its subscriptions."""
        self._first = position

    def step(self, block: Block) -> Iterator[pa.RecordBatch]:
        """The deltas of a block; at a message whose id is taken, an error, or it is left out."""
        taken = self._live.taken(block)
        if taken:
            ids = block.messages.id.strings()
            self._problems.add(RowProblem(ids[row], _TAKEN) for row in taken)
            self._problems.raise_all()
        for piece in pieces_from(block, sorted({*taken, *(row + 1 for row in taken)})) if taken else [block]:
            if taken and len(piece.op) == 1 and _row_in(block, piece) in taken:
                continue
            yield from self._step(piece)

    def _step(self, block: Block) -> Iterator[pa.RecordBatch]:
        n = len(block.op)
        first = self._first + self._n
        outer: npt.NDArray[np.int64] = block.position if self._plan.positioned else np.arange(self._n, self._n + n)
        for deltas in self._shard.step(sealed(block._replace(position=np.arange(first, first + n)))):
            if len(deltas.position):
                yield deltas_batch(deltas, outer[deltas.position - first])
        self._n += n


_TWICE: Final = Problem(
    "id-taken",
    "$.id",
    "the same id twice",
    "each subscription once",
    "a DataFrame has no order that could say which is meant; see dropDuplicates",
)
_TAKEN: Final = Problem(
    "id-taken", "$.id", "the id of a message that is live", "a free id", "an id is free again when its message has died"
)
_POSITION_TWICE: Final = Problem("field-value", "$.position", "the same position twice", "a position of its own")


def _without_repeated(batch: pa.RecordBatch, last: int) -> tuple[pa.RecordBatch, list[RowProblem], int]:
    """The rows, in order of position, whose position is not that of the row before; and the last position."""
    if not batch.num_rows:
        return batch, [], last
    position = batch.column("position").to_numpy(zero_copy_only=False)
    repeated = np.diff(position, prepend=last) == 0
    if repeated.any():
        ids = batch.column("id").filter(pa.array(repeated)).to_pylist()
        return batch.filter(pa.array(~repeated)), [RowProblem(id_, _POSITION_TWICE) for id_ in ids], int(position[-1])
    return batch, [], int(position[-1])


def _row_in(block: Block, piece: Block) -> int:
    return int(np.searchsorted(block.position, piece.position[0]))


def _chunk(task: int, part: int, number: int, payload: bytes) -> pa.RecordBatch:
    columns: list[Any] = [[task], [part], [number], [payload]]
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, _CHUNKS, strict=True)], _CHUNKS
    )


def _partition() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
