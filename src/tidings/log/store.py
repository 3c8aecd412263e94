"""The durable log of events: one SQLite file, one order, positions 0, 1, 2, … without holes.

    with EventLog.open(Path("city.log"), create=True) as log:
        log.append([b'{"op":"publish","id":"m1","at":[11.5,48.1],"text":"flood"}'])
        for frame in log.frames(log.start, log.end): ...

Any number of threads and processes may append and read. An append is answered when it is durable, and taken whole or
not at all. Reading never waits for appending, nor the other way round.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from tidings.log.frames import Frame, unpacked
from tidings.log.group_commit import Appended, Appender
from tidings.log.keeping import Compacted, Retained, compact, retain
from tidings.log.store_schema import NEED, closed, connect, corrupt, make, told, write_note
from tidings.log.stored_facts import (
    Lost,
    configuration_of,
    end_of,
    identity_of,
    lost_of,
    needs_of,
    start_of,
)
from tidings.log.wal_file import check_wal
from tidings.model.errors import FileError, InputError, LimitError, Problem, shortened
from tidings.model.events import Configure, Event
from tidings.model.limits import MAX_CONSUMERS, MAX_FRAME_BYTES, MAX_ID_CHARACTERS

__all__ = ["Appended", "Compacted", "EventLog", "Frame", "Lost", "Retained", "Stat"]

ROWS_AT_FIRST: Final = 8
MOST_ROWS: Final = 1024
ROWS_AT_ONCE: Final = 64


class Stat(Struct, frozen=True):
    """What there is to say about a log."""

    path: str
    identity: str
    start: int
    """The oldest position that is kept."""
    end: int
    """The next position."""
    frames: int
    bytes: int
    """Of the events that are kept, as lines."""
    file_bytes: int
    wal_bytes: int
    oldest_ms: int | None
    """When the oldest and the newest frame were appended."""
    newest_ms: int | None
    checkpoint: int | None
    """Where the newest checkpoint of the ledger stands."""
    needs: dict[str, int]
    lost: list[tuple[int, int, str]]


class EventLog:
    """An open log. A context manager; for any number of threads."""

    def __init__(self, path: Path, read_only: bool) -> None:
        self.path: Final = path
        self.read_only: Final = read_only
        self._db: Final = connect(path, read_only=True)
        self._lock: Final = threading.Lock()
        self._appender: Appender | None = None
        self._configuration: Configure | None = None
        self._lost: list[Lost] | None = None
        self._is_closed = False

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False, read_only: bool = False) -> "EventLog":
        """Open a log, or make one when there is none and `create` says so."""
        path = Path(path)
        if not read_only:
            if create and (not path.exists() or path.stat().st_size == 0):
                make(path)
            if path.is_file():
                check_wal(path)
        return cls(path, read_only)

    @property
    def identity(self) -> str:
        """What tells this log from any other, also from one that is put in its place."""
        with self._reading():
            return identity_of(self._db)

    @property
    def configuration(self) -> Configure | None:
        """The configuration; None while the log is empty."""
        if self._configuration is None:
            with self._reading():
                self._configuration = configuration_of(self._db)
        return self._configuration

    @property
    def start(self) -> int:
        """The oldest position that is kept."""
        with self._reading():
            return start_of(self._db)

    @property
    def end(self) -> int:
        """The next position; everything before it is durable."""
        with self._reading():
            return end_of(self._db)

    def append(
        self,
        events: Sequence[bytes | Event],
        *,
        producer: str = "",
        sequence: int = -1,
        partial: bool = False,
        judged: bool = False,
    ) -> Appended:
        """Append events, as lines or as structs, and wait until they are durable.

        All or nothing: what is wrong is an `InputError` with all problems, whose `line` is the index of the event.
        With `partial` the good events are taken, as if the bad ones had never been, which the answer tells.

        With `judged` they are taken whatever is in force and live here: events that were taken before and set aside.

        A `producer` that numbers its submissions may send one again when it has heard no answer: it is taken once.
        """
        return self.append_later(events, producer=producer, sequence=sequence, partial=partial, judged=judged).result()

    def append_later(
        self,
        events: Sequence[bytes | Event],
        *,
        producer: str = "",
        sequence: int = -1,
        partial: bool = False,
        judged: bool = False,
    ) -> "Future[Appended]":
        """`append` without waiting: the answer comes when the events are durable, in the order of the calls.

        Waits only while more than `MAX_PENDING_BYTES` are on their way.
        """
        return self._writer().submit(events, producer, sequence, partial, judged)

    def frames(self, first: int, end: int) -> Iterator[Frame]:
        """The events in [first, end), as far as there are, in frames cut to that; checksums verified.

        Positions that a repair could not recover are left out; every frame says where it belongs.
        """
        limit = ROWS_AT_FIRST
        position = self._seek(first)
        while position < end:
            with self._reading():
                rows = self._db.execute(
                    "SELECT first, frame FROM frames WHERE first >= ? AND first < ? ORDER BY first LIMIT ?",
                    (position, end, limit),
                ).fetchall()
            if not rows:
                return
            n_bytes = 0
            for at, data in rows:
                stored = unpacked(data)
                if stored is None or stored.frame.first != at:
                    raise corrupt(self.path, f"a damaged frame at position {at}")
                frame = stored.frame
                if max(position, first) < at:
                    self._check_gap(max(position, first), at)
                if frame.end > max(position, first):
                    yield frame.cut(max(position, first), end)
                position = frame.end
                n_bytes += len(data)
            limit = max(1, min(MOST_ROWS, limit * MAX_FRAME_BYTES // max(n_bytes, 1) + 1))

    def reach(self, first: int, max_events: int, max_bytes: int) -> int:
        """The largest end such that [first, end) is within both bounds; at least one event when there is one."""
        end, n_bytes = first, 0
        for at, n, size in self._rows_from(first):
            if at >= first and at + n - first <= max_events and n_bytes + size <= max_bytes:
                end, n_bytes = at + n, n_bytes + size
                continue
            for frame in self.frames(max(first, at), at + n):
                for position, line in enumerate(frame.lines(), frame.first):
                    n_bytes += len(line) + 1
                    if end > first and (n_bytes > max_bytes or position >= first + max_events):
                        return end
                    end = position + 1
        return end

    def need(self, consumer: str, position: int | None) -> None:
        """Keep the events from this position on for a consumer; None: it needs nothing any more."""
        if not consumer or len(consumer) > MAX_ID_CHARACTERS:
            expected = f"1 to {MAX_ID_CHARACTERS} characters"
            raise InputError(Problem("option-invalid", "consumer", shortened(consumer), expected))
        writer = self._writer()
        with writer.lock, told(self.path):
            if position is None:
                writer.db.execute("DELETE FROM notes WHERE name = ?", (NEED + consumer,))
                return
            known = needs_of(writer.db)
            if consumer not in known and len(known) >= MAX_CONSUMERS:
                found = f"{len(known)} consumers"
                raise LimitError(Problem("limit-reached", str(self.path), found, f"at most {MAX_CONSUMERS}"))
            write_note(writer.db, NEED + consumer, position)

    def needs(self) -> dict[str, int]:
        """The oldest position that each consumer needs."""
        with self._reading():
            return needs_of(self._db)

    def lost(self) -> list[Lost]:
        """The positions that a repair could not recover."""
        if self._lost is None:
            with self._reading():
                self._lost = lost_of(self._db)
        return self._lost

    def retain(self, *, max_age_ms: int | None = None, max_bytes: int | None = None) -> Retained:
        """Forget what is older or more than that, in whole frames, and never what a consumer needs."""
        return retain(self._writer(), max_age_ms=max_age_ms, max_bytes=max_bytes)

    def compact(self) -> Compacted:
        """Merge small frames and give room back to the file system; appending and reading go on."""
        return compact(self._writer())

    def stat(self) -> Stat:
        """What there is to say about it."""
        with self._reading():
            db = self._db
            n_frames, n_bytes, oldest, newest = db.execute(
                "SELECT count(*), coalesce(sum(n_bytes), 0), min(time_ms), max(time_ms) FROM frames"
            ).fetchone()
            (checkpoint,) = db.execute("SELECT max(position) FROM ledger").fetchone()
            lost = [(one.first, one.end, one.why) for one in lost_of(db)]
            wal = self.path.with_name(self.path.name + "-wal")
            return Stat(
                path=str(self.path),
                identity=identity_of(db),
                start=start_of(db),
                end=end_of(db),
                frames=n_frames,
                bytes=n_bytes,
                file_bytes=self.path.stat().st_size,
                wal_bytes=wal.stat().st_size if wal.exists() else 0,
                oldest_ms=oldest,
                newest_ms=newest,
                checkpoint=checkpoint,
                needs=needs_of(db),
                lost=lost,
            )

    def close(self) -> None:
        """Finish what is on its way and let the file go."""
        with self._lock:
            self._is_closed = True
            appender, self._appender = self._appender, None
        # The writer goes last: the last one out puts the write-ahead log into the file, which a reader may not.
        with self._lock:
            self._db.close()
        if appender is not None:
            appender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _writer(self) -> Appender:
        writer = self._appender
        if writer is None:
            with self._lock:
                if self._is_closed:
                    raise closed(self.path)
                if self.read_only:
                    found = "a log that was opened for reading"
                    raise FileError(Problem("log-closed", str(self.path), found, "one opened for writing"))
                writer = self._appender = self._appender or Appender(self.path)
        return writer

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """One thread reads at a time."""
        with self._lock, told(self.path):
            yield

    def _rows_from(self, position: int) -> Iterator[tuple[int, int, int]]:
        """The first position, the number of events and the bytes of each frame from the one that holds this on."""
        with self._reading():
            at = self._frame_before(position)
        while True:
            with self._reading():
                rows = self._db.execute(
                    "SELECT first, n, n_bytes FROM frames WHERE first >= ? ORDER BY first LIMIT ?", (at, ROWS_AT_ONCE)
                ).fetchall()
            yield from (row for row in rows if row[0] + row[1] > position)
            if not rows:
                return
            at = rows[-1][0] + rows[-1][1]

    def _frame_before(self, position: int) -> int:
        """The first position of the frame that this one is in, if it is in one."""
        row = self._db.execute("SELECT max(first) FROM frames WHERE first <= ?", (position,)).fetchone()
        return position if row[0] is None else int(row[0])

    def _seek(self, first: int) -> int:
        with self._reading():
            at = self._frame_before(first)
            start = start_of(self._db)
        if first < start:
            self._check_gap(first, start)
        return at

    def _check_gap(self, first: int, end: int) -> None:
        """Raise unless all of it was lost in a repair."""
        position = first
        for lost in self.lost():
            if lost.first <= position < lost.end:
                position = lost.end
        if position >= end:
            return
        with self._reading():
            start = start_of(self._db)
        if position < start:
            found, hint = f"position {position}", f"the oldest that is kept is {start}"
            raise FileError(Problem("position-gone", str(self.path), found, "a position that is kept", hint))
        raise corrupt(self.path, f"nothing at positions {position} to {end - 1}")
