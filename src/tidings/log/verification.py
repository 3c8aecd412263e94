"""Looking at every byte of a log that matters: what is damaged, and where."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tidings.log.frames import unpacked
from tidings.log.pages import Pages
from tidings.log.sealed import unsealed
from tidings.log.store_schema import CONFIGURATION, IDENTITY, SCHEMA, connect, told
from tidings.log.wal_file import scan_wal, wal_of
from tidings.model.errors import FileError, Problem

MOST_TOLD: Final = 100
_HINT: Final = "`tidings log repair` saves what is whole"
_FIXED: Final = {
    18: b"\x02\x02",
    21: b"\x40\x20\x20",
    44: b"\0\0\0\x04",
    56: b"\0\0\0\x01",
    64: b"\0\0\0\x01",
    72: bytes(20),
}
"""Bytes of the file's header that are the same in every log."""


def verify(path: Path | str, told_of: Callable[[str], None] = lambda text: None) -> list[Problem]:
    """What is damaged in a log: nothing, or problems that name positions and pages where they can be known.

    The file is only read, and others may go on appending.
    """
    path = Path(path)
    found: list[Problem] = []
    for look in range(3):
        if look:
            time.sleep(0.05)
        found = list(_of_wal(path))
        if not found:
            break
    told_of("looking at the file's structure")
    try:
        with contextlib.closing(connect(path, read_only=True)) as db, told(path):
            db.execute("BEGIN")
            found += _of_header(path)
            found += _of_structure(db, path)
            found += _of_notes(db, path)
            for i, problem in enumerate(_of_frames(db, path, told_of)):
                if i < MOST_TOLD:
                    found.append(problem)
    except FileError as error:
        if error.code not in ("file-corrupt", "file-format") and not found:
            raise
        found += error.problems
    except (sqlite3.Error, ValueError, OverflowError) as error:
        found.append(_problem(path, str(error)))
    return found


def _of_wal(path: Path) -> Iterator[Problem]:
    scan = scan_wal(path)
    if scan is not None and (scan.damage or scan.doubt):
        yield _problem(wal_of(path), scan.damage or scan.doubt)


def _of_header(path: Path) -> Iterator[Problem]:
    wal = scan_wal(path)
    with Pages(path, wal=wal if wal is not None and wal.n_valid else None) as pages:
        header = pages.page(1)[:100]
        for at, expected in _FIXED.items():
            if header[at : at + len(expected)] != expected:
                yield _problem(path, f"byte {at} of the file's header is damaged")
        n_pages = int.from_bytes(header[28:32])
        if n_pages > pages.count:
            yield _problem(path, f"cut: {pages.count} of {n_pages} pages are there")
        elif wal is None and path.stat().st_size % pages.size:
            yield _problem(path, f"the last page is cut: {path.stat().st_size} bytes are no whole pages")


def _of_structure(db: sqlite3.Connection, path: Path) -> Iterator[Problem]:
    for (text,) in db.execute("PRAGMA integrity_check(20)").fetchall():
        if text != "ok":
            yield _problem(path, " ".join(str(text).split("\n")))
    made = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall())
    if made != SCHEMA:
        yield _problem(path, "the schema is not that of a log")
    for name, kind, table in db.execute("SELECT name, type, tbl_name FROM sqlite_schema WHERE sql IS NOT NULL"):
        if kind != "table" or name != table:
            yield _problem(path, f"the schema of {name} is damaged")


def _of_notes(db: sqlite3.Connection, path: Path) -> Iterator[Problem]:
    names = set()
    for name, data in db.execute("SELECT name, data FROM notes").fetchall():
        note = unsealed(data)
        names.add(name)
        if note is None or note[0] != name:
            yield _problem(path, f"the note {name!r} is damaged")
    (n_frames,) = db.execute("SELECT count(*) FROM frames").fetchone()
    for name in (IDENTITY, *([CONFIGURATION] if n_frames else [])):
        if name not in names:
            yield _problem(path, f"the note {name!r} is missing")
    for id_, position, data in db.execute("SELECT id, position, data FROM ledger"):
        part = unsealed(data)
        if part is None or part[0] != "ledger":
            yield _problem(path, f"part {id_} of the checkpoint of the ledger at {position} is damaged")
    for first, data in db.execute("SELECT first, data FROM lost"):
        lost = unsealed(data)
        if lost is None or lost[0] != "lost" or not isinstance(lost[1], list) or lost[1][0] != first:
            yield _problem(path, f"what was lost at {first} is damaged")


def _of_frames(db: sqlite3.Connection, path: Path, told_of: Callable[[str], None]) -> Iterator[Problem]:
    lost = [unsealed(data) for (data,) in db.execute("SELECT data FROM lost ORDER BY first")]
    gaps = [(one[1][0], one[1][1]) for one in lost if one is not None and isinstance(one[1], list)]
    expected: int | None = None
    rows = db.execute("SELECT first, n, n_bytes, time_ms, frame FROM frames ORDER BY first")
    for first, n, n_bytes, time_ms, data in rows:
        for gap in gaps:
            if expected is not None and gap[0] <= expected < gap[1]:
                expected = gap[1]
        if expected is not None and first != expected:
            yield _problem(path, f"positions {expected} to {first - 1} are missing" if first > expected else
                           f"position {first} is there twice")  # fmt: skip
        expected = first + n
        stored = unpacked(data) if isinstance(data, bytes) else None
        right = stored is not None and stored.frame.payload.count(b"\n") == n - 1
        if stored is None or not right:
            yield _problem(path, f"positions {first} to {first + n - 1} are damaged, {_pages_of(path, first)}")
        elif (stored.frame.first, stored.frame.n, stored.time_ms) != (first, n, time_ms) or n_bytes != (
            len(stored.frame.payload) + 1
        ):
            yield _problem(path, f"the row at position {first} is not what its frame says, {_pages_of(path, first)}")
        told_of(f"{expected:,} events")


def _pages_of(path: Path, first: int) -> str:
    wal = scan_wal(path)
    with Pages(path, wal=wal if wal is not None and wal.n_valid else None) as pages:
        for cell in pages.cells():
            if cell.row == first and len(cell.columns) == 5:
                on = [cell.page, *cell.pages]
                shown = ", ".join(map(str, on[:12])) + (", …" if len(on) > 12 else "")
                return f"on page {shown}" if len(on) == 1 else f"on one of the pages {shown}"
    return "on a page that cannot be named"


def _problem(path: Path, found: str) -> Problem:
    return Problem("file-corrupt", str(path), found, "what was written", _HINT)
