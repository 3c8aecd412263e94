"""What a log forgets and how it gives room back: retention, merging of small frames, and free pages.

All is done in small transactions, so that appending goes on in between.
"""

import sqlite3
import time
from pathlib import Path
from typing import Final, NamedTuple

from tidings.log.frames import Stored, Submitted, unpacked
from tidings.log.group_commit import Appender
from tidings.log.store_schema import START, corrupt, insert_frame, told, write_note
from tidings.log.stored_facts import needs_of, start_of
from tidings.model.limits import MAX_FRAME_BYTES, MAX_FRAME_EVENTS

FRAMES_AT_ONCE: Final = 256
PAGES_AT_ONCE: Final = 2_000
_SMALL: Final = 2
"""A frame is merged with the next when both together fill no more than the bounds."""


class Retained(NamedTuple):
    """What retention did."""

    start: int
    """The oldest position that is kept now."""
    n_events: int
    """Events that are gone."""
    n_bytes: int


class Compacted(NamedTuple):
    """What compaction did."""

    frames_before: int
    frames: int
    bytes_before: int
    """Of the file."""
    bytes: int


def retain(appender: Appender, *, max_age_ms: int | None, max_bytes: int | None) -> Retained:
    """Forget the oldest frames that are too old or too many bytes, and that nobody needs.

    The newest frame always stays. What consumers need and what the ledger could not do without stays too: before
    anything is forgotten, a checkpoint of the ledger is written.
    """
    db, lock, path = appender.db, appender.lock, appender.path
    with lock, told(path):
        cut = _wanted_cut(db, max_age_ms, max_bytes)
        cut = min([cut, *needs_of(db).values()])
        start = start_of(db)
        if cut > start:
            # Whole frames only, and never past the newest.
            row = db.execute("SELECT max(first) FROM frames WHERE first <= ?", (cut,)).fetchone()
            cut = row[0]
        if cut <= start:
            return Retained(start, 0, 0)
        (oldest,) = db.execute("SELECT coalesce(min(position), -1) FROM ledger").fetchone()
    if oldest < cut:
        appender.checkpoint(alone=True)
    n_events = n_bytes = 0
    while True:
        with lock, told(path):
            rows = db.execute(
                "SELECT first, n, n_bytes FROM frames WHERE first < ? ORDER BY first LIMIT ?", (cut, FRAMES_AT_ONCE)
            ).fetchall()
            if not rows:
                return Retained(start_of(db), n_events, n_bytes)
            db.execute("BEGIN IMMEDIATE")
            db.execute("DELETE FROM frames WHERE first <= ?", (rows[-1][0],))
            write_note(db, START, rows[-1][0] + rows[-1][1])
            db.execute("COMMIT")
        n_events += sum(row[1] for row in rows)
        n_bytes += sum(row[2] for row in rows)


def compact(appender: Appender) -> Compacted:
    """Merge small frames into large ones and give free pages back to the file system."""
    db, lock, path = appender.db, appender.lock, appender.path
    before = _sizes(db, path)
    position = -1
    while True:
        with lock, told(path):
            step = _merge_after(db, path, position)
        if step is None:
            break
        position = step
    while True:
        with lock, told(path):
            db.execute(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})").fetchall()
            (left,) = db.execute("PRAGMA freelist_count").fetchone()
        if not left:
            break
    with lock, told(path):
        # With somebody reading, this does what it can.
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        after = _sizes(db, path)
    return Compacted(before[0], after[0], before[1], after[1])


def _wanted_cut(db: sqlite3.Connection, max_age_ms: int | None, max_bytes: int | None) -> int:
    cut = start_of(db)
    if max_age_ms is not None:
        oldest_ms = time.time_ns() // 1_000_000 - max_age_ms
        for first, n, time_ms in db.execute("SELECT first, n, time_ms FROM frames ORDER BY first"):
            if time_ms >= oldest_ms:
                break
            cut = first + n
    if max_bytes is not None:
        total = 0
        for first, n, n_bytes in db.execute("SELECT first, n, n_bytes FROM frames ORDER BY first DESC"):
            total += n_bytes
            if total > max_bytes:
                cut = max(cut, first + n)
                break
    return cut


def _merge_after(db: sqlite3.Connection, path: Path, position: int) -> int | None:
    """Merge the next run of frames that fit in one; answers the first position of the last, None at the end."""
    run: list[tuple[int, int, int]] = []
    n_events = n_bytes = 0
    db.execute("BEGIN IMMEDIATE")
    try:
        rows = db.execute("SELECT first, n, n_bytes FROM frames WHERE first > ? ORDER BY first", (position,))
        for first, n, size in rows:
            follows = not run or first == run[-1][0] + run[-1][1]
            if run and (not follows or n_events + n > MAX_FRAME_EVENTS or n_bytes + size > MAX_FRAME_BYTES):
                break
            run.append((first, n, size))
            n_events, n_bytes = n_events + n, n_bytes + size
        rows.close()
        if len(run) >= _SMALL:
            _merge(db, path, run[0][0], run[-1][0])
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return run[0][0] if run else None


def _merge(db: sqlite3.Connection, path: Path, first: int, last: int) -> None:
    several: list[Stored] = []
    for at, data in db.execute(
        "SELECT first, frame FROM frames WHERE first BETWEEN ? AND ? ORDER BY first", (first, last)
    ):
        stored = unpacked(data)
        if stored is None or stored.frame.first != at:
            raise corrupt(path, f"a damaged frame at position {at}")
        several.append(stored)
    lines = [line for stored in several for line in stored.frame.lines()]
    submitted: list[Submitted] = [one for stored in several for one in stored.submitted]
    db.execute("DELETE FROM frames WHERE first BETWEEN ? AND ?", (first, last))
    insert_frame(db, first, lines, max(stored.time_ms for stored in several), submitted)


def _sizes(db: sqlite3.Connection, path: Path) -> tuple[int, int]:
    (n_frames,) = db.execute("SELECT count(*) FROM frames").fetchone()
    return n_frames, path.stat().st_size
