"""Deliveries of a cluster: a folder of files on any file system, where nothing but names and counts meets the driver.

| folder | holds |
|---|---|
| `store.json` | which store this is: `segments`, or `parquet` for files that everybody can read |
| `deltas` | what tasks wrote, a file per shard and batch; those that no manifest names do not count |
| `manifests`, `pages` | what was claimed, planned, committed and forgotten |
| `cursors` | how far consumers have read, a file each |
| `aside` | the events that were set aside, a file each |

On a local file system a manifest's number is taken by linking to it, which is exclusive. Elsewhere it is looked for
and then moved to; where the file system replaces what is there (an object store), two drivers that commit within the
same instant could both believe that they were first, so there only one driver may be started at a time.
"""

import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self, TypeVar, cast
from urllib.parse import quote, unquote

import msgspec

from tidings.columns.deltas import Deltas
from tidings.log.committed import PARQUET, SEGMENT, Commit, Read, attempt_of, commit_deltas, damage, file_name
from tidings.log.deliveries import (
    MAX_ASIDE,
    MAX_CURSORS,
    Answer,
    Batch,
    Retained,
    SetAside,
    SnapshotParts,
    Stat,
    check_commit,
    check_range,
    full_aside,
    full_of_cursors,
    named,
    not_aside,
    replayable,
    stale,
    waited,
)
from tidings.log.durable_files import PART, Folder, folder_at
from tidings.log.manifests import (
    MANIFESTS,
    PAGES,
    Chain,
    Claimed,
    Committed,
    Forgotten,
    Manifest,
    Page,
    Planned,
    Standing,
    opened_json,
    sealed_json,
)
from tidings.log.segment_layout import header_of, segment_checksum
from tidings.model.errors import FileError, InputError, Problem

STORE: Final = "store.json"
DELTAS: Final = "deltas"
CURSORS: Final = "cursors"
ASIDE: Final = "aside"
ABANDONED_S: Final = 3600.0
"""A small file that is still being written after so long belongs to nobody."""
_JSON: Final = ".json"

T = TypeVar("T")


class Store(msgspec.Struct, frozen=True):
    """What a folder of deliveries says of itself."""

    store: str
    version: int = 1


class ManifestDeliveries:
    """The deliveries in a folder."""

    def __init__(self, folder: Folder, store: str) -> None:
        self.state: Final = folder.place
        self._folder: Final = folder
        self._store: Final = store
        self._chain: Final = Chain(folder)

    @classmethod
    def open(cls, state: str | Path, *, store: str = "segments", create: bool = False) -> Self:
        """The deliveries in a folder; with `create` they are made if they are not there."""
        return cls.in_folder(folder_at(state), store, create=create)

    @classmethod
    def in_folder(cls, folder: Folder, store: str, *, create: bool = False) -> Self:
        """The same, of any folder."""
        found = _store_of(folder)
        if found is None and create:
            folder.make([DELTAS, MANIFESTS, PAGES, CURSORS, ASIDE])
            folder.create(STORE, sealed_json(Store(store)))
            found = _store_of(folder)
        if found is None:
            raise FileError(Problem("file-unreadable", folder.place, "no such file", "the deliveries of a pipeline"))
        if found != store:
            raise InputError(Problem("option-invalid", folder.place, f"deliveries of the store {found}", store))
        return cls(folder, found)

    @classmethod
    def store_at(cls, state: str | Path) -> str | None:
        """Which store a folder is; None when it is none of these."""
        return _store_of(folder_at(state))

    @classmethod
    def write_segment(cls, state: str | Path, epoch: int, shard: int, first: int, end: int, data: bytes) -> Answer:
        """Make a shard's segment, or the Parquet file of its deltas, durable in the task that computed it."""
        folder = folder_at(state)
        return answer_in(folder, _store_of(folder) or "segments", epoch, shard, first, end, data)

    def claim(self) -> int:
        """A new epoch; files of batches that were not committed are removed."""
        standing = self._chain.append(lambda standing: Claimed(standing.epoch + 1))
        left = []
        for name in [*self._folder.names(DELTAS), *self._folder.parts(DELTAS)]:
            attempt = attempt_of(name)
            # Only those of older epochs: another driver may claim, and its tasks write, while this one sweeps.
            if attempt is None or attempt.epoch >= standing.epoch:
                continue
            if attempt.first >= standing.done or attempt.end <= standing.start or name.endswith(PART):
                left.append(f"{DELTAS}/{name}")
        for folder in (MANIFESTS, PAGES, CURSORS, ASIDE):
            left += [f"{folder}/{name}" for name in self._folder.parts(folder, ABANDONED_S)]
        self._folder.remove(left)
        return standing.epoch

    def start(self) -> int:
        """The first position of which deltas are kept."""
        return self._chain.standing().start

    def done(self) -> int:
        """The position up to which deltas are durable."""
        return self._chain.standing().done

    def pending(self) -> Batch | None:
        """The batch that was planned and not committed."""
        return self._chain.standing().pending

    def snapshot(self) -> SnapshotParts | None:
        """The last snapshot that was committed."""
        return self._chain.standing().snapshot

    def plan(self, epoch: int, batch: Batch) -> None:
        """Write down the batch that is about to run, in place of a pending one."""

        def planned(standing: Standing) -> Manifest | None:
            self._check_epoch(standing, epoch)
            check_commit(self.state, standing.done, batch, (), None)
            return Planned(batch) if standing.pending != batch else None

        self._chain.append(planned)

    def commit(
        self, epoch: int, batch: Batch, answers: Sequence[Answer], snapshot: SnapshotParts | None = None
    ) -> None:
        """Make a batch done by one manifest; the same batch again changes nothing."""
        commit = Commit(batch, epoch, time.time_ns() // 1_000_000, tuple(answers), snapshot)

        def committed(standing: Standing) -> Manifest | None:
            self._check_epoch(standing, epoch)
            if batch.first < standing.done:
                before = next(self._chain.commits(batch.first, batch.first + 1), None)
                if before is not None and before.batch == batch:
                    return None
            check_commit(self.state, standing.done, batch, answers, snapshot)
            return Committed(commit)

        self._chain.append(committed)

    def set_aside(self, epoch: int, position: int, event: bytes, problem: Problem, tries: int) -> None:
        """Keep an event that the matcher could not take, with the reason."""
        self._check_epoch(self._chain.standing(), epoch)
        if len(self._folder.names(ASIDE)) >= MAX_ASIDE:
            raise full_aside(self.state)
        aside = SetAside(position, event, problem, tries, time.time_ns() // 1_000_000)
        self._folder.replace(_aside_name(position), sealed_json(aside))

    def aside(self) -> list[SetAside]:
        """The events that were set aside, by position."""
        found = (self._read_json(f"{ASIDE}/{name}", SetAside) for name in self._folder.names(ASIDE))
        return [aside for aside in found if aside is not None]

    def redriven(self, position: int) -> None:
        """Remember that an event that was set aside has been given to the log again."""
        aside = self._read_json(_aside_name(position), SetAside)
        if aside is None:
            raise not_aside(self.state, position)
        self._folder.replace(_aside_name(position), sealed_json(msgspec.structs.replace(aside, redriven=True)))

    def read(self, first: int, end: int | None = None, subscription: str | None = None) -> Iterator[Deltas]:
        """The deltas that are committed, batch by batch, in the order of the answer."""
        standing = self._chain.standing()
        check_range(self.state, standing.start, standing.done, first)
        return self._deltas(first, standing.done if end is None else min(end, standing.done), subscription)

    def batches(self, first: int, end: int | None = None) -> Iterator[Batch]:
        """The committed batches with events in a range."""
        standing = self._chain.standing()
        check_range(self.state, standing.start, standing.done, first)
        end = standing.done if end is None else min(end, standing.done)
        return (commit.batch for commit in self._chain.commits(first, end))

    def wait(self, position: int, timeout_s: float) -> int:
        """Wait until more than `position` is done, at most so long; what is done then."""
        return waited(self.done, position, timeout_s)

    def cursor(self, name: str) -> int | None:
        """How far a consumer has read."""
        return self._read_json(_cursor_name(name), int)

    def advance(self, name: str, position: int) -> None:
        """Say how far a consumer has read."""
        standing = self._chain.standing()
        check_range(self.state, standing.start, standing.done, position)
        there = self._folder.names(CURSORS)
        if len(there) >= MAX_CURSORS and _cursor_name(name) not in {f"{CURSORS}/{one}" for one in there}:
            raise full_of_cursors(self.state)
        self._folder.replace(_cursor_name(name), sealed_json(position))

    def drop_cursor(self, name: str) -> None:
        """Forget a consumer."""
        self._folder.remove([_cursor_name(name)])

    def retain(self, *, max_age_ms: int | None = None, max_bytes: int | None = None, force: bool = False) -> Retained:
        """Forget the oldest batches by one manifest; their files go after it."""
        oldest = -1 if max_age_ms is None else time.time_ns() // 1_000_000 - max_age_ms
        gone: list[Commit] = []

        def forgotten(standing: Standing) -> Manifest | None:
            gone.clear()
            last = next(iter(self._chain.commits(max(standing.done - 1, standing.start), standing.done)), None)
            limit = replayable(standing.done, None if last is None else last.batch, standing.snapshot)
            if not force:
                limit = min([limit, *self._cursors().values()])
            left = sum(page.n_bytes for page in standing.pages) + sum(commit.n_bytes for commit in standing.recent)
            # A page that begins before the start counts what is gone already; it is at most one.
            left -= sum(commit.n_bytes for commit in self._gone_of_first_page(standing))
            for commit in self._chain.commits(standing.start, limit):
                too_much = commit.time_ms < oldest or (max_bytes is not None and left > max_bytes)
                if commit.batch.end > limit or not too_much:
                    break
                gone.append(commit)
                left -= commit.n_bytes
            return Forgotten(gone[-1].batch.end) if gone else None

        before = self._chain.standing().pages
        standing = self._chain.append(forgotten)
        self._folder.remove([_file(answer) for commit in gone for answer in commit.answers if answer.file is not None])
        self._folder.remove([page.name for page in before if page.end <= standing.start])
        return Retained(standing.start, len(gone), sum(commit.n_bytes for commit in gone))

    def verify(self) -> list[Problem]:
        """Read everything that is kept; what is missing or damaged."""
        problems: list[Problem] = []
        try:
            standing = self._chain.standing()
            first = standing.start
            for commit in self._chain.commits(standing.start, standing.done):
                if commit.batch.first > first:
                    problems.append(
                        Problem("file-corrupt", self.state, f"no commit of position {first}", "one of each")
                    )
                problems += damage(commit, self._reader(), self._place)
                first = commit.batch.end
            self.aside(), self._cursors()
        except FileError as error:
            problems += error.problems
        return problems

    def stat(self) -> Stat:
        """How the store stands."""
        standing = self._chain.standing()
        gone = self._gone_of_first_page(standing)
        parts: list[Page | Commit] = [*standing.pages, *standing.recent]
        return Stat(
            store=self._store,
            epoch=standing.epoch,
            start=standing.start,
            done=standing.done,
            n_batches=sum(page.n_batches for page in standing.pages) + len(standing.recent) - len(gone),
            n_deltas=sum(part.n_deltas for part in parts) - sum(commit.n_deltas for commit in gone),
            n_bytes=sum(part.n_bytes for part in parts) - sum(commit.n_bytes for commit in gone),
            pending=standing.pending,
            snapshot=standing.snapshot,
            cursors=self._cursors(),
            n_aside=len(self._folder.names(ASIDE)),
        )

    def close(self) -> None:
        """There is nothing to let go of."""

    @property
    def _place(self) -> str:
        return f"{self._folder.place}/{DELTAS}"

    def _deltas(self, first: int, end: int, subscription: str | None) -> Iterator[Deltas]:
        try:
            for commit in self._chain.commits(first, end):
                deltas = commit_deltas(commit, first, end, subscription, self._reader(), self._place)
                if deltas is not None:
                    yield deltas
        except FileError:
            # What retention removes while somebody reads it is not damaged.
            standing = self._chain.standing()
            check_range(self.state, standing.start, standing.done, first)
            raise

    def _reader(self) -> Read:
        def read(answer: Answer, start: int, end: int | None) -> bytes | None:
            if answer.segment is not None:
                return answer.segment[start:end]
            return self._folder.read(_file(answer), start, end)

        return read

    def _check_epoch(self, standing: Standing, epoch: int) -> None:
        if standing.epoch != epoch:
            raise stale(self.state, epoch, standing.epoch)

    def _gone_of_first_page(self, standing: Standing) -> list[Commit]:
        if not standing.pages or standing.pages[0].first >= standing.start:
            return []
        return [commit for commit in self._chain.page(standing.pages[0]) if commit.batch.end <= standing.start]

    def _cursors(self) -> dict[str, int]:
        names = [unquote(name.removesuffix(_JSON)) for name in self._folder.names(CURSORS)]
        found = ((name, self.cursor(name)) for name in sorted(names))
        return {name: position for name, position in found if position is not None}

    def _read_json(self, name: str, kind: type[T]) -> T | None:
        data = self._folder.read(name)
        return None if data is None else opened_json(data, kind, f"{self._folder.place}/{name}")


def answer_in(folder: Folder, store: str, epoch: int, shard: int, first: int, end: int, data: bytes) -> Answer:
    """Write what a shard answered into a folder."""
    n_deltas = header_of(data, "segment").n_rows
    if not n_deltas:
        return Answer(shard, 0, 0, 0)
    if store == "parquet":
        from tidings.log.deltas_parquet import table_bytes
        from tidings.log.segments import segment_deltas

        data = table_bytes(segment_deltas(data))
        name, checksum = file_name(first, end, shard, epoch, PARQUET), zlib.crc32(data)
    else:
        name, checksum = file_name(first, end, shard, epoch, SEGMENT), segment_checksum(data)
    folder.replace(f"{DELTAS}/{name}", data)
    return Answer(shard, n_deltas, len(data), checksum, file=name)


def _store_of(folder: Folder) -> str | None:
    data = folder.read(STORE)
    return None if data is None else cast(Store, opened_json(data, Store, f"{folder.place}/{STORE}")).store


def _file(answer: Answer) -> str:
    return f"{DELTAS}/{answer.file}"


def _cursor_name(name: str) -> str:
    return f"{CURSORS}/{quote(named(name), safe=' ')}{_JSON}"


def _aside_name(position: int) -> str:
    return f"{ASIDE}/{position:020d}{_JSON}"
