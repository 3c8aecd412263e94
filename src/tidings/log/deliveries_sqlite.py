"""Deliveries of an embedded pipeline: one SQLite file, and beside it the files of large segments.

| table | holds |
|---|---|
| `notes` | the epoch, what is done, where what is kept starts, the pending batch, the last snapshot |
| `commits` | what was committed, a batch a row |
| `segments` | of each answer the name of its file, or the segment itself |
| `cursors` | how far consumers have read |
| `aside` | the events that were set aside |

A segment stands in two columns, its head and the rest, so that whoever looks at the filter does not read the rest.
Every change is one transaction that looks at the epoch first, so a driver that was replaced while it slept changes
nothing. Notes and commits carry a checksum; a segment has its own, which the commit repeats.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import msgspec

from tidings.columns.deltas import Deltas
from tidings.log.committed import SEGMENT, Commit, attempt_of, commit_deltas, damage, file_name
from tidings.log.deliveries import (
    INLINE_BYTES,
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
from tidings.log.durable_files import file_errors, make_durable, make_folder, write_durably
from tidings.log.sealed import sealed, unsealed
from tidings.log.segment_layout import columns_start, header_of, segment_checksum
from tidings.model.errors import FileError, Problem

DATABASE: Final = "deliveries.db"
SEGMENTS: Final = "segments"
APPLICATION_ID: Final = int.from_bytes(b"Tidd")
USER_VERSION: Final = 1
BUSY_S: Final = 30.0
"""So long one process waits for another's write."""
WAL_LEFT_BYTES: Final = 64 << 20
"""So much room a write-ahead log that once was larger keeps."""
_LACK_OF_ROOM_BYTES: Final = 1 << 20
_PAGE: Final = 64
"""So many commits a reader takes at once."""

_SCHEMA: Final = (
    "CREATE TABLE notes (name TEXT PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE commits (first INTEGER PRIMARY KEY, end INTEGER NOT NULL, time_ms INTEGER NOT NULL, "
    "n_deltas INTEGER NOT NULL, n_bytes INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE segments (id INTEGER PRIMARY KEY, first INTEGER NOT NULL, shard INTEGER NOT NULL, file TEXT, "
    "head BLOB, columns BLOB, UNIQUE (first, shard))",
    "CREATE TABLE cursors (name TEXT PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE aside (position INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)

T = TypeVar("T")


class SqliteDeliveries:
    """The deliveries in a folder of this machine."""

    def __init__(self, folder: Path, db: sqlite3.Connection) -> None:
        self.state: Final = str(folder)
        self._folder: Final = folder
        self._file: Final = folder / DATABASE
        self._db = db
        self._lock = threading.RLock()

    @classmethod
    def open(cls, state: str | Path, *, store: str = "sqlite", create: bool = False) -> Self:
        """The deliveries in a folder; with `create` they are made if they are not there."""
        folder = Path(state)
        file = folder / DATABASE
        if create:
            with file_errors(folder):
                make_folder(folder / SEGMENTS)
        elif not file.is_file():
            raise FileError(Problem("file-unreadable", str(file), "no such file", "the deliveries of a pipeline"))
        with _told(file):
            uri = f"file:{quote(str(file.absolute()))}?mode={'rwc' if create else 'rw'}"
            db = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                _prepare(db, file, create)
            except BaseException:
                db.close()
                raise
        if create:
            with file_errors(folder):
                make_durable(folder)
        return cls(folder, db)

    @classmethod
    def store_at(cls, state: str | Path) -> str | None:
        """Which store a folder is; None when it is not this."""
        is_path = isinstance(state, Path) or "://" not in state
        return "sqlite" if is_path and Path(state, DATABASE).is_file() else None

    @classmethod
    def write_segment(cls, state: str | Path, epoch: int, shard: int, first: int, end: int, data: bytes) -> Answer:
        """Make a shard's segment durable, in the task that computed it: small ones go with the commit."""
        n_deltas, checksum = header_of(data, "segment").n_rows, segment_checksum(data)
        if not n_deltas:
            return Answer(shard, 0, 0, 0)
        if len(data) < INLINE_BYTES:
            return Answer(shard, n_deltas, len(data), checksum, segment=bytes(data))
        name = file_name(first, end, shard, epoch, SEGMENT)
        path = Path(state, SEGMENTS, name)
        with file_errors(path):
            write_durably(path, data)
        return Answer(shard, n_deltas, len(data), checksum, file=name)

    def claim(self) -> int:
        """A new epoch; files that no commit names are removed."""
        with self._change():
            epoch = int(self._note("epoch", int, 0)) + 1
            self._write_note("epoch", epoch)
            known = {name for (name,) in self._db.execute("SELECT file FROM segments WHERE file IS NOT NULL")}
        with file_errors(self._folder / SEGMENTS):
            for path in (self._folder / SEGMENTS).iterdir():
                attempt = attempt_of(path.name)
                # Only those of older epochs: another driver may claim, and its tasks write, while this one sweeps.
                if attempt is not None and attempt.epoch < epoch and path.name not in known:
                    path.unlink(missing_ok=True)
        return epoch

    def start(self) -> int:
        """The first position of which deltas are kept."""
        return int(self._read_note("start", int, 0))

    def done(self) -> int:
        """The position up to which deltas are durable."""
        return int(self._read_note("done", int, 0))

    def pending(self) -> Batch | None:
        """The batch that was planned and not committed."""
        batch: Batch | None = self._read_note("pending", Batch | None, None)
        return batch

    def snapshot(self) -> SnapshotParts | None:
        """The last snapshot that was committed."""
        parts: SnapshotParts | None = self._read_note("snapshot", SnapshotParts | None, None)
        return parts

    def plan(self, epoch: int, batch: Batch) -> None:
        """Write down the batch that is about to run, in place of a pending one."""
        with self._change(epoch):
            check_commit(self.state, self._note("done", int, 0), batch, (), None)
            self._write_note("pending", batch)

    def commit(
        self, epoch: int, batch: Batch, answers: Sequence[Answer], snapshot: SnapshotParts | None = None
    ) -> None:
        """Make a batch done in one transaction; the same batch again changes nothing."""
        commit = Commit(batch, epoch, time.time_ns() // 1_000_000, tuple(answers), snapshot)
        kept = Commit(batch, epoch, commit.time_ms, tuple(_without_segment(answer) for answer in answers), snapshot)
        with self._change(epoch):
            done = self._note("done", int, 0)
            if batch.first < done and self._is_committed(batch):
                return
            check_commit(self.state, done, batch, answers, snapshot)
            for answer in answers:
                self._check_file(answer)
            self._db.execute(
                "INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?)",
                (batch.first, batch.end, commit.time_ms, commit.n_deltas, commit.n_bytes, _sealed("commit", kept)),
            )
            self._db.executemany(
                "INSERT INTO segments (first, shard, file, head, columns) VALUES (?, ?, ?, ?, ?)",
                [(batch.first, answer.shard, answer.file, *_cut(answer)) for answer in answers if answer.n_deltas],
            )
            self._write_note("done", batch.end)
            self._write_note("pending", None)
            if snapshot is not None:
                self._write_note("snapshot", snapshot)

    def set_aside(self, epoch: int, position: int, event: bytes, problem: Problem, tries: int) -> None:
        """Keep an event that the matcher could not take, with the reason."""
        with self._change(epoch):
            if self._one("SELECT count(*) FROM aside") >= MAX_ASIDE:
                raise full_aside(self.state)
            aside = SetAside(position, event, problem, tries, time.time_ns() // 1_000_000)
            self._db.execute("INSERT OR REPLACE INTO aside VALUES (?, ?)", (position, _sealed("aside", aside)))

    def aside(self) -> list[SetAside]:
        """The events that were set aside, by position."""
        with self._look():
            rows = self._db.execute("SELECT data FROM aside ORDER BY position").fetchall()
        return [self._opened("aside", data, SetAside) for (data,) in rows]

    def redriven(self, position: int) -> None:
        """Remember that an event that was set aside has been given to the log again."""
        with self._change():
            row = self._db.execute("SELECT data FROM aside WHERE position = ?", (position,)).fetchone()
            if row is None:
                raise not_aside(self.state, position)
            aside = msgspec.structs.replace(self._opened("aside", row[0], SetAside), redriven=True)
            self._db.execute("UPDATE aside SET data = ? WHERE position = ?", (_sealed("aside", aside), position))

    def read(self, first: int, end: int | None = None, subscription: str | None = None) -> Iterator[Deltas]:
        """The deltas that are committed, batch by batch, in the order of the answer."""
        done = self.done()
        check_range(self.state, self.start(), done, first)
        return self._deltas(first, done if end is None else min(end, done), subscription)

    def batches(self, first: int, end: int | None = None) -> Iterator[Batch]:
        """The committed batches with events in a range."""
        done = self.done()
        check_range(self.state, self.start(), done, first)
        return (commit.batch for commit in self._commits(first, done if end is None else min(end, done)))

    def wait(self, position: int, timeout_s: float) -> int:
        """Wait until more than `position` is done, at most so long; what is done then."""
        return waited(self.done, position, timeout_s)

    def cursor(self, name: str) -> int | None:
        """How far a consumer has read."""
        with self._look():
            row = self._db.execute("SELECT data FROM cursors WHERE name = ?", (named(name),)).fetchone()
        return None if row is None else int(self._opened(f"cursor {name}", row[0], int))

    def advance(self, name: str, position: int) -> None:
        """Say how far a consumer has read."""
        with self._change():
            done = self._note("done", int, 0)
            check_range(self.state, self._note("start", int, 0), done, position)
            cursors = self._cursors()
            if named(name) not in cursors and len(cursors) >= MAX_CURSORS:
                raise full_of_cursors(self.state)
            data = _sealed(f"cursor {name}", position)
            self._db.execute("INSERT OR REPLACE INTO cursors VALUES (?, ?)", (name, data))

    def drop_cursor(self, name: str) -> None:
        """Forget a consumer."""
        with self._change():
            self._db.execute("DELETE FROM cursors WHERE name = ?", (named(name),))

    def retain(self, *, max_age_ms: int | None = None, max_bytes: int | None = None, force: bool = False) -> Retained:
        """Forget the oldest batches; their files go after the transaction."""
        with self._change():
            start, done = self._note("start", int, 0), self._note("done", int, 0)
            limit = replayable(done, self._last(), self._note("snapshot", SnapshotParts | None, None))
            if not force:
                limit = min([limit, *self._cursors().values()])
            before, n_batches, n_bytes = start, 0, 0
            left = self._one("SELECT coalesce(sum(n_bytes), 0) FROM commits")
            oldest = -1 if max_age_ms is None else time.time_ns() // 1_000_000 - max_age_ms
            rows = self._db.execute("SELECT end, time_ms, n_bytes FROM commits WHERE end <= ? ORDER BY first", (limit,))
            for end, time_ms, size in rows:
                if not (time_ms < oldest or (max_bytes is not None and left > max_bytes)):
                    break
                before, n_batches, n_bytes, left = end, n_batches + 1, n_bytes + size, left - size
            rows.close()
            where = "FROM segments WHERE first < ? AND file IS NOT NULL"
            files = [name for (name,) in self._db.execute(f"SELECT file {where}", (before,))]
            if n_batches:
                self._db.execute("DELETE FROM segments WHERE first < ?", (before,))
                self._db.execute("DELETE FROM commits WHERE first < ?", (before,))
                self._write_note("start", before)
        for name in files:
            with file_errors(self._folder / SEGMENTS / name):
                (self._folder / SEGMENTS / name).unlink(missing_ok=True)
        with self._look():
            self._db.execute("PRAGMA incremental_vacuum").fetchall()
        return Retained(before, n_batches, n_bytes)

    def verify(self) -> list[Problem]:
        """Read everything that is kept; what is missing or damaged."""
        with self._look():
            found = [text for (text,) in self._db.execute("PRAGMA integrity_check") if text != "ok"]
        problems = [Problem("file-corrupt", str(self._file), text, "a sound database") for text in found]
        try:
            for commit in self._commits(self.start(), self.done()):
                problems += damage(commit, self._reader(commit), self._place)
            self.aside(), self.stat()
        except FileError as error:
            problems += error.problems
        return problems

    def stat(self) -> Stat:
        """How the store stands."""
        with self._look():
            n_batches, n_deltas, n_bytes = self._db.execute(
                "SELECT count(*), coalesce(sum(n_deltas), 0), coalesce(sum(n_bytes), 0) FROM commits"
            ).fetchone()
            return Stat(
                store="sqlite",
                epoch=self._note("epoch", int, 0),
                start=self._note("start", int, 0),
                done=self._note("done", int, 0),
                n_batches=n_batches,
                n_deltas=n_deltas,
                n_bytes=n_bytes,
                pending=self._note("pending", Batch | None, None),
                snapshot=self._note("snapshot", SnapshotParts | None, None),
                cursors=self._cursors(),
                n_aside=self._one("SELECT count(*) FROM aside"),
            )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    @property
    def _place(self) -> str:
        return str(self._folder / SEGMENTS)

    def _deltas(self, first: int, end: int, subscription: str | None) -> Iterator[Deltas]:
        try:
            for commit in self._commits(first, end):
                deltas = commit_deltas(commit, first, end, subscription, self._reader(commit), self._place)
                if deltas is not None:
                    yield deltas
        except FileError:
            # What retention removes while somebody reads it is not damaged.
            check_range(self.state, self.start(), self.done(), first)
            raise

    def _last(self) -> Batch | None:
        row = self._db.execute("SELECT data FROM commits ORDER BY first DESC LIMIT 1").fetchone()
        return None if row is None else self._opened("commit", row[0], Commit).batch

    def _commits(self, first: int, end: int) -> Iterator[Commit]:
        """The commits with events at first <= position < end, without a gap."""
        while first < end:
            with self._look():
                rows = self._db.execute(
                    "SELECT n_deltas, data FROM commits WHERE end > ? AND first >= coalesce((SELECT max(first) FROM "
                    "commits WHERE first <= ?), 0) AND first < ? ORDER BY first LIMIT ?",
                    (first, first, end, _PAGE),
                ).fetchall()
            for n_deltas, data in rows:
                commit = self._opened("commit", data, Commit)
                if not commit.batch.first <= first < commit.batch.end or commit.n_deltas != n_deltas:
                    break
                yield commit
                first = commit.batch.end
            else:
                if rows:
                    continue
            raise FileError(Problem("file-corrupt", str(self._file), f"no commit of position {first}", "one of each"))

    def _reader(self, commit: Commit) -> Any:
        def read(answer: Answer, start: int, end: int | None) -> bytes | None:
            if answer.file is not None:
                path = self._folder / SEGMENTS / answer.file
                with file_errors(path):
                    try:
                        with path.open("rb") as file:
                            file.seek(start)
                            return file.read(-1 if end is None else end - start)
                    except FileNotFoundError:
                        return None
            wanted = "head, columns" if end is None else "head"
            with self._look():
                row = self._db.execute(
                    f"SELECT {wanted} FROM segments WHERE first = ? AND shard = ?", (commit.batch.first, answer.shard)
                ).fetchone()
            return None if row is None or None in row else b"".join(row)[start:end]

        return read

    def _is_committed(self, batch: Batch) -> bool:
        row = self._db.execute("SELECT data FROM commits WHERE first = ?", (batch.first,)).fetchone()
        return row is not None and self._opened("commit", row[0], Commit).batch == batch

    def _check_file(self, answer: Answer) -> None:
        """A commit must not name what is not there."""
        if answer.file is None:
            return
        path = self._folder / SEGMENTS / answer.file
        with file_errors(path):
            size = path.stat().st_size
        if size != answer.n_bytes:
            raise FileError(Problem("file-corrupt", str(path), f"{size} bytes", f"{answer.n_bytes} bytes"))

    def _cursors(self) -> dict[str, int]:
        rows = self._db.execute("SELECT name, data FROM cursors ORDER BY name").fetchall()
        return {name: int(self._opened(f"cursor {name}", data, int)) for name, data in rows}

    def _one(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    def _read_note(self, name: str, kind: Any, default: Any) -> Any:
        with self._look():
            return self._note(name, kind, default)

    def _note(self, name: str, kind: Any, default: Any) -> Any:
        row = self._db.execute("SELECT data FROM notes WHERE name = ?", (name,)).fetchone()
        return default if row is None else self._opened(name, row[0], kind)

    def _write_note(self, name: str, value: object) -> None:
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, _sealed(name, value)))

    def _opened(self, name: str, data: object, kind: Any) -> Any:
        found = unsealed(data)
        if found is None or found[0] != name:
            raise FileError(Problem("file-corrupt", str(self._file), f"a damaged {name}", "what was written"))
        return msgspec.convert(found[1], kind)

    @contextmanager
    def _look(self) -> Iterator[None]:
        with self._lock, _told(self._file):
            yield

    @contextmanager
    def _change(self, epoch: int | None = None) -> Iterator[None]:
        """One transaction, which only the newest epoch may make when it is a driver's."""
        with self._look():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if epoch is not None:
                    newest = self._note("epoch", int, 0)
                    if epoch != newest:
                        raise stale(self.state, epoch, newest)
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _prepare(db: sqlite3.Connection, file: Path, create: bool) -> None:
    if create and not db.execute("PRAGMA user_version").fetchone()[0]:
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("BEGIN IMMEDIATE")
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            for statement in _SCHEMA:
                db.execute(statement)
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={USER_VERSION}")
        db.execute("COMMIT")
    said = tuple(db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if said != (APPLICATION_ID, USER_VERSION):
        hint = "a newer Tidings may have made it" if said[0] == APPLICATION_ID else ""
        raise FileError(Problem("file-format", str(file), f"a database {said}", "deliveries of Tidings", hint))
    db.execute("PRAGMA synchronous=FULL")
    db.execute(f"PRAGMA journal_size_limit={WAL_LEFT_BYTES}")


def _sealed(name: str, value: object) -> bytes:
    return sealed(name, msgspec.to_builtins(value, builtin_types=(bytes,)))


def _without_segment(answer: Answer) -> Answer:
    return answer if answer.segment is None else msgspec.structs.replace(answer, segment=None)


def _cut(answer: Answer) -> tuple[memoryview | None, memoryview | None]:
    if answer.segment is None:
        return None, None
    at = columns_start(header_of(answer.segment, "segment"))
    view = memoryview(answer.segment)
    return view[:at], view[at:]


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """Errors of SQLite as errors that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _meant(file, error) from error


def _meant(file: Path, error: sqlite3.Error) -> FileError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_room(file)):
        hint = "nothing was changed; make room and go on"
        return FileError(Problem("disk-full", str(file), str(error), "room to write", hint))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return FileError(Problem("log-busy", str(file), f"locked for {BUSY_S:.0f} s", "a turn to write"))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return FileError(Problem("file-corrupt", str(file), str(error), "what was written"))
    return FileError(Problem("file-unreadable", str(file), str(error), "deliveries that can be read and written"))


def _has_no_room(file: Path) -> bool:
    try:
        room = os.statvfs(file.parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < _LACK_OF_ROOM_BYTES
