"""What is asked of a log's file directly: its ends, its configuration, what was lost and what is needed."""

import sqlite3
from typing import NamedTuple, cast

from tidings.log.sealed import unsealed
from tidings.log.store_schema import CONFIGURATION, IDENTITY, NEED
from tidings.log.wire import decode_event
from tidings.model.events import Configure, Globe


class Lost(NamedTuple):
    """Positions that a repair could not recover, or that stand on what it could not."""

    first: int
    end: int
    why: str


def start_of(db: sqlite3.Connection) -> int:
    """The oldest position that is kept."""
    row = db.execute("SELECT first FROM frames ORDER BY first LIMIT 1").fetchone()
    return cast(int, row[0]) if row else end_of(db)


def end_of(db: sqlite3.Connection) -> int:
    """The next position."""
    row = db.execute("SELECT first + n FROM frames ORDER BY first DESC LIMIT 1").fetchone()
    end = cast(int, row[0]) if row else 0
    lost = db.execute("SELECT data FROM lost ORDER BY first DESC LIMIT 1").fetchone()
    return max(end, _lost(lost[0]).end) if lost else end


def note_of(db: sqlite3.Connection, name: str) -> object:
    """What is kept under a name; None when nothing is, or when it is damaged."""
    row = db.execute("SELECT data FROM notes WHERE name = ?", (name,)).fetchone()
    found = unsealed(row[0]) if row else None
    return found[1] if found is not None and found[0] == name else None


def identity_of(db: sqlite3.Connection) -> str:
    """What tells this log from any other, also from one in its place."""
    return str(note_of(db, IDENTITY) or "")


def configuration_of(db: sqlite3.Connection) -> Configure | None:
    """The configuration; None while the log is empty."""
    line = note_of(db, CONFIGURATION)
    if not isinstance(line, bytes):
        return None
    event = decode_event(line, Globe())
    assert isinstance(event, Configure)
    return event


def needs_of(db: sqlite3.Connection) -> dict[str, int]:
    """The oldest position that each consumer needs."""
    rows = db.execute("SELECT name FROM notes WHERE name >= ? AND name < ?", (NEED, NEED[:-1] + ";")).fetchall()
    needs = {name[len(NEED) :]: note_of(db, name) for (name,) in rows}
    return {consumer: position for consumer, position in needs.items() if isinstance(position, int)}


def lost_of(db: sqlite3.Connection) -> list[Lost]:
    """What was lost, in order."""
    return [_lost(data) for (data,) in db.execute("SELECT data FROM lost ORDER BY first")]


def _lost(data: bytes) -> Lost:
    found = unsealed(data)
    assert found is not None
    return Lost(*cast(list[object], found[1]))  # type: ignore[arg-type]
