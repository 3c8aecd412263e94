"""Repair: what is whole of a damaged log becomes a new one, and what is lost keeps its positions.

The old file is read page by page, whatever SQLite thinks of it, and is not changed. Frames that are whole are taken
whole; of a damaged one those lines whose own checksum holds. Then the events are judged again in order, since one may
stand on another that is lost, such as the `remove` of a subscription whose `register` is gone: it is lost with it.
"""

import contextlib
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from tidings.log.bookkeeping import Bookkeeping
from tidings.log.frames import Frame, Stored, Submitted, frames_of, unpacked, whole_lines
from tidings.log.pages import Pages, both_views
from tidings.log.sealed import sealed, unsealed
from tidings.log.store_schema import (
    CONFIGURATION,
    NEED,
    START,
    connect,
    insert_frame,
    make,
    told,
    write_note,
)
from tidings.log.stored_facts import Lost
from tidings.log.wire import decode_event, encode_event
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Configure, Event, Globe, Space

DAMAGED: Final = "damaged"
UNFOUNDED: Final = "stands on what was lost"
FORGOTTEN: Final = "forgotten before, and the ids that it left in force are lost"
_FRAMES_A_COMMIT: Final = 256
"""Frames written between two commits of the new log."""


class Repaired(NamedTuple):
    """What came of a repair."""

    start: int
    end: int
    n_events: int
    """Events in the new log."""
    lost: list[Lost]
    """What is not, by position."""


class _Place(NamedTuple):
    """Where some events are in the old file."""

    first: int
    end: int
    view: int
    page: int
    at: int
    before: int
    lines: tuple[tuple[int, bytes], ...] = ()
    """Of a damaged frame: what is whole, each line with its position."""


def repair(path: Path | str, target: Path | str, told_of: Callable[[str], None] = lambda text: None) -> Repaired:
    """Write what is whole of a log to a new one, which must not exist yet."""
    path, target = Path(path), Path(target)
    if target.exists():
        raise FileError(Problem("file-unreadable", str(target), "a file", "a name that is free"))
    with ExitStack() as stack:
        try:
            views = [stack.enter_context(view) for view in both_views(path)]
        except OSError as error:
            raise FileError(
                Problem("file-unreadable", str(path), error.strerror or str(error), "a file to read")
            ) from None
        told_of("looking for what is whole")
        found = _Found(views)
        if not found.places and not found.notes:
            raise FileError(Problem("file-format", str(path), "nothing of a log", "a log of Tidings"))
        try:
            return _written(found, views, target, told_of)
        except BaseException:
            for suffix in ("", "-wal", "-shm"):
                target.with_name(target.name + suffix).unlink(missing_ok=True)
            raise


class _Found:
    """Everything that is whole in the old file, the events as places where they are."""

    def __init__(self, views: list[Pages]) -> None:
        self.notes: dict[str, object] = {}
        self.ledger: dict[int, list[bytes]] = {}
        self.lost: list[Lost] = []
        whole: dict[int, _Place] = {}
        partial: list[_Place] = []
        for i, view in enumerate(views):
            for page, at, before in view.frames():
                stored = unpacked(view.frame(page, at, before) or b"")
                if stored is not None:
                    frame = stored.frame
                    place = _Place(frame.first, frame.end, i, page, at, before)
                    if frame.first not in whole or whole[frame.first].end < frame.end:
                        whole[frame.first] = place
        for view in views:
            self._take_cells(view, whole, partial)
        self.start = self.notes.get(START, 0)
        self.places = sorted(whole.values()) + sorted(partial)

    def _take_cells(self, view: Pages, whole: dict[int, _Place], partial: list[_Place]) -> None:
        parts: dict[int, list[tuple[int, bytes]]] = {}
        for cell in view.cells():
            data = cell.columns[-1] if cell.columns else None
            if not isinstance(data, bytes):
                continue
            content = unsealed(data)
            if content is not None and content[0] == "ledger" and isinstance(cell.columns[1], int):
                parts.setdefault(cell.columns[1], []).append((cell.row, data))
            elif content is not None and content[0] == "lost" and isinstance(content[1], list):
                self.lost.append(Lost(*content[1]))
            elif content is not None:
                self.notes.setdefault(*content)
            elif len(cell.columns) == 5 and cell.row not in whole and isinstance(cell.columns[1], int):
                lines = whole_lines(data, cell.row, cell.columns[1])
                if lines:
                    partial.append(_Place(lines[0][0], lines[-1][0] + 1, 0, cell.page, 0, 0, tuple(lines)))
        for position, rows in parts.items():
            self.ledger.setdefault(position, [data for _, data in sorted(rows)])

    def books(self, start: int) -> Bookkeeping | None:
        """What was known at the oldest whole checkpoint from the start on; the beginning knows nothing."""
        if start == 0:
            return Bookkeeping()
        for position in sorted(self.ledger):
            books = Bookkeeping.from_parts(self.ledger[position]) if position >= start else None
            if books is not None:
                return books
        return None

    def end(self) -> int:
        """The next position, as far as anything tells."""
        needs = [position for name, position in self.notes.items() if name.startswith(NEED)]
        known = [place.end for place in self.places] + [one.end for one in self.lost] + list(self.ledger)
        return max([0, *known, *(position for position in needs if isinstance(position, int))])

    def stored(self, views: list[Pages]) -> Iterator[Stored]:
        """The events in order, each position once; of several frames that hold it, the first whole one counts."""
        position = self.start if isinstance(self.start, int) else 0
        for first, end, place in _cover(self.places, position):
            if place.lines:
                lines = [line for at, line in place.lines if first <= at < end]
                yield Stored(Frame(first, end - first, b"\n".join(lines)), 0)
                continue
            stored = unpacked(views[place.view].frame(place.page, place.at, place.before) or b"")
            assert stored is not None
            yield stored._replace(frame=stored.frame.cut(first, end))


def _cover(places: list[_Place], start: int) -> Iterator[tuple[int, int, _Place]]:
    """Runs of positions, each with where it is best taken from."""
    taken: list[tuple[int, int, _Place]] = []
    whole = [place for place in places if not place.lines]
    position = start
    for place in sorted(whole, key=lambda place: (place.first, -place.end)):
        if place.end > position:
            taken.append((max(place.first, position), place.end, place))
            position = place.end
    ends = [end for _, end, _ in taken]
    firsts = [first for first, _, _ in taken]
    seen: set[int] = set()
    for place in places:
        for at, _ in place.lines:
            before = bisect_right(firsts, at)
            if at >= start and at not in seen and not (before and at < ends[before - 1]):
                taken.append((at, at + 1, place))
                seen.add(at)
    run: tuple[int, int, _Place] | None = None
    for one in sorted(taken, key=lambda one: one[:2]):
        if run is not None and one[2].lines and one[2] is run[2] and one[0] == run[1]:
            run = (run[0], one[1], run[2])
            continue
        if run is not None:
            yield run
        run = one
    if run is not None:
        yield run


def _written(found: _Found, views: list[Pages], target: Path, told_of: Callable[[str], None]) -> Repaired:
    make(target)
    with contextlib.closing(connect(target)) as db, told(target):
        db.execute("BEGIN IMMEDIATE")
        for name, value in found.notes.items():
            write_note(db, name, value)
        writer = _Writer(db, found, told_of)
        for stored in found.stored(views):
            writer.take(stored)
        return writer.finish()


class _Writer:
    """Writes the new log, and judges what may stand on something lost."""

    def __init__(self, db: sqlite3.Connection, found: _Found, told_of: Callable[[str], None]) -> None:
        self._db, self._found, self._told_of = db, found, told_of
        self._lost = list(found.lost)
        start = found.start if isinstance(found.start, int) else 0
        self._start = self._position = start
        self._books = found.books(start)
        self._space: Space = Globe()
        line = found.notes.get(CONFIGURATION)
        if isinstance(line, bytes):
            configuration = decode_event(line, Globe())
            assert isinstance(configuration, Configure)
            self._space = configuration.space
        self._has_gap = bool(self._lost)
        self._n_events = self._n_frames = 0

    def take(self, stored: Stored) -> None:
        """Take in the next frame."""
        frame = stored.frame
        if frame.first > self._position:
            self._lose(self._position, frame.first, DAMAGED)
        self._position = frame.end
        if frame.first == 0 and CONFIGURATION not in self._found.notes:
            self._configure(frame)
        books = self._books
        judged = books is not None and self._has_gap and frame.end > books.position
        if judged:
            runs = self._judged(frame)
        else:
            runs = [frame]
            if books is not None and frame.end > books.position:
                books.replay(stored._replace(frame=frame.cut(books.position, frame.end)))
        for run in runs:
            came = [one for one in stored.submitted if run.first <= one.first < run.end]
            self._insert(run, stored.time_ms, came)
        if judged and books is not None:
            books.position = frame.end

    def finish(self) -> Repaired:
        """Say what was lost, keep a checkpoint and commit."""
        db, end = self._db, self._found.end()
        if end > self._position:
            self._lose(self._position, end, DAMAGED)
        if self._books is None:
            # Whoever appends to the new log finds the ids free that only the ledger could have known.
            self._lost.append(Lost(0, self._start, FORGOTTEN))
        lost = _joined(self._lost)
        for one in lost:
            db.execute("INSERT INTO lost (first, data) VALUES (?, ?)", (one.first, sealed("lost", list(one))))
        books = self._books or Bookkeeping()
        books.position = max(end, self._position)
        if books.position and self._books is not None:
            rows = [part.row() for part in books.parts()]
            db.executemany("INSERT INTO ledger (position, data) VALUES (?, ?)", rows)
        if self._n_events and CONFIGURATION not in self._found.notes:
            # Neither the note nor the first event is whole: the default is what nobody configured.
            write_note(db, CONFIGURATION, encode_event(Configure()))
        db.execute("COMMIT")
        return Repaired(self._start, books.position, self._n_events, lost)

    def _configure(self, frame: Frame) -> None:
        event = decode_event(frame.lines()[0], Globe())
        configuration = event if isinstance(event, Configure) else Configure()
        self._space = configuration.space
        write_note(self._db, CONFIGURATION, encode_event(configuration))
        self._found.notes[CONFIGURATION] = encode_event(configuration)

    def _judged(self, frame: Frame) -> list[Frame]:
        """The events of a frame that stand on nothing lost, in runs."""
        assert self._books is not None
        ledger, runs, run = self._books.ledger, list[Frame](), list[bytes]()
        for at, line in enumerate(frame.lines(), frame.first):
            if at < self._books.position:
                run.append(line)
                continue
            try:
                event: Event | None = decode_event(line, self._space)
            except InputError:
                event = None
            if event is not None and not ledger.check(at, event):
                ledger.apply(event)
                run.append(line)
                continue
            self._lose(at, at + 1, UNFOUNDED)
            if run:
                runs.append(Frame(at - len(run), len(run), b"\n".join(run)))
            run = []
        if run:
            runs.append(Frame(frame.end - len(run), len(run), b"\n".join(run)))
        return runs

    def _insert(self, frame: Frame, time_ms: int, submitted: list[Submitted]) -> None:
        lines = frame.lines()
        for start, end in frames_of(lines):
            at = frame.first + start
            came = [one for one in submitted if at <= one.first < frame.first + end]
            insert_frame(self._db, at, lines[start:end], time_ms, came)
        self._n_events += frame.n
        self._n_frames += 1
        if self._n_frames % _FRAMES_A_COMMIT == 0:
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            self._told_of(f"{self._n_events:,} events saved")

    def _lose(self, first: int, end: int, why: str) -> None:
        known = [one for one in self._found.lost if one.first < end and one.end > first]
        if not (known and known[0].first <= first and known[-1].end >= end):
            self._lost.append(Lost(first, end, why))
        self._has_gap = True


def _joined(lost: list[Lost]) -> list[Lost]:
    """What was lost, in order, without overlaps, neighbours of one reason together."""
    joined: list[Lost] = []
    for one in sorted(set(lost)):
        if joined and one.first < joined[-1].end:
            one = one._replace(first=joined[-1].end)
        if one.first >= one.end:
            continue
        if joined and one.first == joined[-1].end and one.why == joined[-1].why:
            joined[-1] = joined[-1]._replace(end=one.end)
        else:
            joined.append(one)
    return joined
