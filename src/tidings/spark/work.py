"""What a driver tells its tasks: plain data that travels with the code of a task."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from tidings.log.deliveries import Answer, Batch, SnapshotPart, SnapshotParts
from tidings.model.errors import Problem
from tidings.model.events import Configure

CHUNK_SCHEMA: Final = "shard int, chunk long, payload binary, refused binary"
"""What source tasks give: for each shard, the events of a chunk as a block, and (to shard 0) what was refused."""

ANSWER_SCHEMA: Final = "shard int, answer binary"
"""What shard tasks give: one `ShardAnswer` each."""


class Origin(Struct, frozen=True):
    """Where events come from, as far as every task must know it."""

    log: str
    """The path of a log, or the address of a topic: `kafka://…`."""
    configuration: Configure

    @property
    def is_kafka(self) -> bool:
        """Whether the events are records of a topic, which nobody has admitted yet."""
        return self.log.startswith("kafka://")


class Spread(Struct, frozen=True):
    """How subscriptions are spread over shards, and by which methods shards match."""

    plan: str
    shards: int
    methods: dict[str, str]
    exchange: str | None = None
    """The folder by which blocks go from task to task where all are on one machine; None: they go through Spark."""


class Refused(Struct, frozen=True):
    """An event that could not be applied."""

    position: int
    problem: Problem


class Work(Struct, frozen=True):
    """One batch for all shards."""

    origin: Origin
    spread: Spread
    state: str
    """The folder or URI of deliveries and snapshots."""
    local: str | None
    """Where shard files are; None for the executor's own directory."""
    session: str
    """Of the driver: files of another one are not trusted without their seal."""
    epoch: int
    batch: Batch
    snapshot: SnapshotParts | None = None
    """The last committed."""
    takes_snapshot: bool = False
    aside: tuple[int, ...] = ()
    """Positions that were set aside before: nobody applies them, now or when a shard is rebuilt."""

    @property
    def screened(self) -> bool:
        """Whether events may come that cannot be: nobody has admitted them, or what they build on was set aside."""
        return self.origin.is_kafka or bool(self.aside)


class Timing(Struct, frozen=True):
    """Where the time of a shard task went, in microseconds."""

    open_us: int = 0
    step_us: int = 0
    write_us: int = 0
    snapshot_us: int = 0

    @property
    def total_us(self) -> int:
        """All of it."""
        return self.open_us + self.step_us + self.write_us + self.snapshot_us


class ShardAnswer(Struct, frozen=True):
    """What one shard says to one batch."""

    answer: Answer
    n_events: int
    timing: Timing
    rebuilt: str = ""
    """Why its file was made anew, if it was."""
    repeated: bool = False
    """Whether the shard had stepped already and said it again."""
    refused: tuple[Refused, ...] = ()
    part: SnapshotPart | None = None
    """Of a snapshot, if one was to be taken."""
    n_subscriptions: int = 0


def packed(value: object) -> bytes:
    """A struct as bytes."""
    return msgspec.msgpack.encode(value)


def unpacked(data: bytes, kind: type[Any]) -> Any:
    """A struct of bytes that `packed` made."""
    return msgspec.msgpack.decode(data, type=kind)
