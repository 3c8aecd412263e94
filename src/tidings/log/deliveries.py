"""Deliveries: what every shard answered to every batch, and up to where all of it is durable.

A driver claims the deliveries and gets an epoch; whatever an older epoch tries from then on is refused. It writes down
the batch that it is about to run, its tasks write what the shards answered, and one commit makes these answers, the
position up to which everything is done, and possibly a snapshot, durable together. Before the commit nothing of the
batch can be read, after it all of it, and a batch that is committed twice counts once.

    store     an embedded pipeline keeps `deliveries.db` (SQLite); a cluster keeps a folder of files on any file system
    segment   one shard's answer to one batch, a file or, when it is small, a part of the commit
    cursor    how far a consumer has read, by name; retention does not go beyond the slowest
"""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

import msgspec

from tidings.columns.deltas import Deltas
from tidings.model.errors import FileError, InputError, LimitError, Problem, StaleEpochError

INLINE_BYTES: Final = 256 << 10
"""A segment below this size travels with its answer and needs no file."""
MAX_CURSORS: Final = 1000
"""So many named cursors a store keeps."""
MAX_ASIDE: Final = 10_000
"""So many events a store keeps aside."""
MAX_PAUSE_S: Final = 0.05
"""Whoever waits for more looks at least so often."""
MAX_NAME: Final = 128
"""The length of a cursor's name."""

STORES: Final = {
    "sqlite": "tidings.log.deliveries_sqlite:SqliteDeliveries",
    "segments": "tidings.log.deliveries_manifest:ManifestDeliveries",
    "parquet": "tidings.log.deliveries_manifest:ManifestDeliveries",
}
"""Every store by name."""
_OF_EACH_KIND: Final = ("sqlite", "segments")
"""One name of each implementation, to ask what is at a place."""


class Batch(msgspec.Struct, frozen=True):
    """The events of one run: those at first <= position < end."""

    first: int
    end: int
    sources: dict[str, tuple[tuple[int, int], ...]] = {}
    """With Kafka: the offset ranges by `topic-partition`, in the order in which they make up the batch."""
    skipped: tuple[int, ...] = ()
    """Positions that were set aside: everybody passes over them."""


class Answer(msgspec.Struct, frozen=True):
    """What one shard answered to a batch, and where that stands."""

    shard: int
    n_deltas: int
    n_bytes: int
    checksum: int
    """The CRC-32 of the segment's header, or of the whole file where that is not a segment."""
    file: str | None = None
    """The name of the file that the task made durable; None when the segment is here, or there are no deltas."""
    segment: bytes | None = None


class SnapshotPart(msgspec.Struct, frozen=True, array_like=True):
    """The state of one shard in a snapshot."""

    name: str
    n_bytes: int
    checksum: int


class SnapshotParts(msgspec.Struct, frozen=True):
    """A snapshot: the state of all shards before the event at a position."""

    position: int
    plan: str
    shards: int
    parts: tuple[SnapshotPart, ...]
    """One per shard, in their order."""


class SetAside(msgspec.Struct, frozen=True):
    """An event that the matcher could not take."""

    position: int
    event: bytes
    problem: Problem
    tries: int
    time_ms: int
    """When it was set aside."""
    redriven: bool = False


class Retained(msgspec.Struct, frozen=True):
    """What retention left."""

    start: int
    """The first position of which deltas are kept."""
    n_batches: int
    """So many batches were forgotten,"""
    n_bytes: int
    """with so many bytes of segments."""


class Stat(msgspec.Struct, frozen=True):
    """How a store stands."""

    store: str
    epoch: int
    start: int
    done: int
    n_batches: int
    n_deltas: int
    n_bytes: int
    pending: Batch | None
    snapshot: SnapshotParts | None
    cursors: dict[str, int]
    n_aside: int


class Deliveries(Protocol):
    """A store of deliveries. Everything that has returned is durable; nothing that raised has changed anything."""

    @property
    def state(self) -> str:
        """Where it is."""
        ...

    @classmethod
    def store_at(cls, state: str | Path) -> str | None:
        """The name of the store that is there, if it is one of this kind."""
        ...

    @classmethod
    def open(cls, state: str | Path, *, store: str, create: bool = False) -> Self:
        """The store of this name at a place."""
        ...

    @classmethod
    def write_segment(cls, state: str | Path, epoch: int, shard: int, first: int, end: int, data: bytes) -> Answer:
        """Make a shard's segment durable, in the task that computed it; no commit names it yet."""
        ...

    def claim(self) -> int:
        """A new epoch: whatever an older one tries is refused from now on, and what it left half done is removed."""
        ...

    def start(self) -> int:
        """The first position of which deltas are kept."""
        ...

    def done(self) -> int:
        """The position up to which deltas are durable: those of all events before it."""
        ...

    def pending(self) -> Batch | None:
        """The batch that was planned and not committed."""
        ...

    def plan(self, epoch: int, batch: Batch) -> None:
        """Write down the batch that is about to run, in place of a pending one."""
        ...

    def commit(
        self, epoch: int, batch: Batch, answers: Sequence[Answer], snapshot: SnapshotParts | None = None
    ) -> None:
        """Make a batch done in one step; the same batch again changes nothing."""
        ...

    def snapshot(self) -> SnapshotParts | None:
        """The last snapshot that was committed."""
        ...

    def set_aside(self, epoch: int, position: int, event: bytes, problem: Problem, tries: int) -> None:
        """Keep an event that the matcher could not take, with the reason."""
        ...

    def aside(self) -> list[SetAside]:
        """The events that were set aside, by position."""
        ...

    def redriven(self, position: int) -> None:
        """Remember that an event that was set aside has been given to the log again."""
        ...

    def read(self, first: int, end: int | None = None, subscription: str | None = None) -> Iterator[Deltas]:
        """The deltas that are committed, batch by batch, in the order of the answer; of all or of one subscription."""
        ...

    def batches(self, first: int, end: int | None = None) -> Iterator[Batch]:
        """The committed batches with events at first <= position < end, in order."""
        ...

    def wait(self, position: int, timeout_s: float) -> int:
        """Wait until more than `position` is done, at most so long; what is done then."""
        ...

    def cursor(self, name: str) -> int | None:
        """How far a consumer has read; None when there is none of this name."""
        ...

    def advance(self, name: str, position: int) -> None:
        """Say how far a consumer has read: it needs nothing before this position. Back is a direction too."""
        ...

    def drop_cursor(self, name: str) -> None:
        """Forget a consumer, so that retention does not wait for it."""
        ...

    def retain(self, *, max_age_ms: int | None = None, max_bytes: int | None = None, force: bool = False) -> Retained:
        """Forget the oldest batches beyond an age or a size, never what a cursor still needs unless forced, and of a
        topic never those after the last snapshot: they alone say where records stand.
        """
        ...

    def verify(self) -> list[Problem]:
        """Read everything that is kept; what is missing or damaged."""
        ...

    def stat(self) -> Stat:
        """How the store stands."""
        ...

    def close(self) -> None:
        """Let go of files."""
        ...


def open_deliveries(state: str | Path, *, store: str | None = None, create: bool = False) -> Deliveries:
    """The deliveries at a path or URI. What is there says which store it is; a new one needs `create`."""
    name = _store_at(state, store, create)
    return cast(Deliveries, _implementation(name).open(state, store=name, create=create))


def write_segment(state: str | Path, epoch: int, shard: int, first: int, end: int, data: bytes) -> Answer:
    """Make a shard's segment durable, in the task that computed it."""
    store = _implementation(_store_at(state, None, False))
    return cast(Answer, store.write_segment(state, epoch, shard, first, end, data))


def _implementation(name: str) -> Any:
    module, _, attribute = STORES[name].partition(":")
    return getattr(import_module(module), attribute)


def _store_at(state: str | Path, store: str | None, create: bool) -> str:
    if store is not None and store not in STORES:
        raise InputError(Problem("option-invalid", "store", store, f"one of {', '.join(sorted(STORES))}"))
    there = (_implementation(name).store_at(state) for name in _OF_EACH_KIND)
    found: str | None = next((name for name in there if name is not None), None)
    if found is not None and store is not None and store != found:
        raise InputError(Problem("option-invalid", str(state), f"deliveries of the store {found}", store))
    name = found or (store if create else None)
    if name is None and create:
        name = "sqlite" if _is_path(state) else "segments"
    if name is None:
        hint = "a pipeline makes it; is the path right?"
        raise FileError(Problem("file-unreadable", str(state), "no deliveries", "the state of a pipeline", hint))
    return name


def _is_path(state: str | Path) -> bool:
    return isinstance(state, Path) or "://" not in state


def named(name: str) -> str:
    """The name of a cursor, if it can be one."""
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise InputError(Problem("option-invalid", "cursor", repr(name), f"1 to {MAX_NAME} printable characters"))
    return name


def waited(done: Callable[[], int], position: int, timeout_s: float) -> int:
    """Ask, less and less often, until more than a position is done or the time is over."""
    deadline, pause_s = time.monotonic() + timeout_s, 0.002
    while (reached := done()) <= position and (left_s := deadline - time.monotonic()) > 0:
        time.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, MAX_PAUSE_S)
    return reached


def not_aside(state: str, position: int) -> InputError:
    """What is said about an event that was not set aside."""
    return InputError(Problem("option-invalid", state, f"position {position}", "one that was set aside"))


def full_aside(state: str) -> LimitError:
    """What is said when too many events fail."""
    hint = "see why so many fail before going on"
    return LimitError(Problem("limit-reached", state, f"{MAX_ASIDE} events set aside", "fewer", hint))


def full_of_cursors(state: str) -> LimitError:
    """What is said when there are too many consumers."""
    hint = "drop those that nobody reads with any more"
    return LimitError(Problem("limit-reached", state, f"{MAX_CURSORS} cursors", "fewer", hint))


def stale(state: str, epoch: int, newest: int) -> StaleEpochError:
    """What a driver hears that is no longer the one."""
    hint = "another driver has claimed this state since; nothing was changed, and this driver has to stop"
    return StaleEpochError(Problem("stale-epoch", state, f"epoch {epoch}", f"epoch {newest}", hint))


def check_range(state: str, start: int, done: int, first: int) -> None:
    """Refuse to read what retention has removed: a reader that came too late has to know."""
    if first < start:
        hint = f"deltas before position {start} were removed by retention; read on from there"
        raise FileError(Problem("position-gone", state, f"position {first}", f"at least {start}", hint))
    if first > done:
        raise InputError(Problem("option-invalid", state, f"position {first}", f"at most {done}, what is done"))


def check_commit(
    state: str, done: int, batch: Batch, answers: Sequence[Answer], snapshot: SnapshotParts | None
) -> None:
    """Refuse what cannot be the next batch."""
    problems = []
    if batch.first != done:
        problems.append(
            Problem("option-invalid", state, f"a batch from {batch.first}", f"one from {done}, what is done")
        )
    if batch.end <= batch.first:
        problems.append(Problem("option-invalid", state, f"a batch {batch.first}..{batch.end}", "at least one event"))
    shards = [answer.shard for answer in answers]
    if len(set(shards)) != len(shards):
        problems.append(Problem("option-invalid", state, f"answers of shards {shards}", "one answer a shard"))
    if snapshot is not None and not snapshot.position <= batch.end:
        found = f"a snapshot at {snapshot.position}"
        problems.append(Problem("option-invalid", state, found, f"one at or before {batch.end}"))
    problems += [
        Problem("option-invalid", state, f"shard {answer.shard}: {answer.n_deltas} deltas", "a file or a segment")
        for answer in answers
        if answer.n_deltas and (answer.file is None) == (answer.segment is None)
    ]
    if problems:
        raise InputError(problems)


def replayable(done: int, batch: Batch | None, snapshot: SnapshotParts | None) -> int:
    """Up to where batches may be forgotten as far as shards are concerned. `batch` is the last."""
    if batch is None or not batch.sources:
        return done
    return min(batch.first, 0 if snapshot is None else snapshot.position)
