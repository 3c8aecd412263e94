"""The SQLite file of a log: what is in it, how it is made and opened, and what its errors mean.

| table | holds |
|---|---|
| `frames` | the events, a frame a row; the columns beside it say again what a scan wants without reading it |
| `notes` | the identity, the configuration, what each consumer needs |
| `ledger` | the ids in force and live at some position, in parts, so that opening replays little |
| `lost` | positions that a repair could not recover |

A log is made under another name and linked to its own when it is whole, so that nobody ever meets half a schema.
"""

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tidings.log.frames import Submitted, packed
from tidings.log.sealed import sealed
from tidings.model.errors import FileError, Problem

APPLICATION_ID: Final = int.from_bytes(b"Tidl")
USER_VERSION: Final = 1
BUSY_S: Final = 30.0
"""So long one process waits for another's write."""
CHECKPOINT_PAGES: Final = 2048
"""The write-ahead log goes into the file whenever it has so many pages."""
WAL_LEFT_BYTES: Final = 64 << 20
"""So much room a write-ahead log that once was larger keeps."""

IDENTITY: Final = "identity"
CONFIGURATION: Final = "configuration"
START: Final = "start"
"""The oldest position that retention has kept."""
NEED: Final = "need:"
"""Before the name of a consumer."""

SCHEMA: Final = {
    "frames": "CREATE TABLE frames (first INTEGER PRIMARY KEY, n INTEGER NOT NULL, n_bytes INTEGER NOT NULL, "
    "time_ms INTEGER NOT NULL, frame BLOB NOT NULL)",
    "notes": "CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, data BLOB NOT NULL)",
    "ledger": "CREATE TABLE ledger (id INTEGER PRIMARY KEY, position INTEGER NOT NULL, data BLOB NOT NULL)",
    "lost": "CREATE TABLE lost (first INTEGER PRIMARY KEY, data BLOB NOT NULL)",
}

_LACK_OF_ROOM_BYTES: Final = 1 << 20


def make(path: Path) -> None:
    """Make an empty log, unless there is one by now."""
    made = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    try:
        with told(path), contextlib.closing(sqlite3.connect(made, isolation_level=None)) as db:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            db.execute("BEGIN")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={USER_VERSION}")
            for statement in SCHEMA.values():
                db.execute(statement)
            write_note(db, IDENTITY, uuid.uuid4().hex)
            db.execute("COMMIT")
        if path.exists() and path.stat().st_size == 0:
            os.replace(made, path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(made, path)
        sync_directory(path)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    finally:
        made.unlink(missing_ok=True)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection to a log that exists, checked to be one."""
    uri = f"file:{quote(str(path.absolute()))}?mode={'ro' if read_only else 'rw'}"
    if not path.is_file():
        hint = "`tidings log append` makes one" if not path.exists() else ""
        found = "a directory" if path.is_dir() else "no such file"
        raise FileError(Problem("file-unreadable", str(path), found, "a log", hint))
    with told(path):
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        # Damage can make a text of a blob; what it is not is found out by whoever reads it.
        db.text_factory = lambda text: text.decode(errors="replace")
        try:
            _check(db, path)
            if not read_only:
                db.execute("PRAGMA synchronous=FULL")
                db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
                db.execute(f"PRAGMA journal_size_limit={WAL_LEFT_BYTES}")
        except BaseException:
            db.close()
            raise
        return db


def write_note(db: sqlite3.Connection, name: str, value: object) -> None:
    """Keep a value under a name."""
    db.execute(
        "INSERT INTO notes (name, data) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET data = excluded.data",
        (name, sealed(name, value)),
    )


def insert_frame(
    db: sqlite3.Connection, first: int, lines: Sequence[bytes], time_ms: int, submitted: Sequence[Submitted] = ()
) -> None:
    """Write events as one frame."""
    n_bytes = sum(map(len, lines)) + len(lines)
    row = (first, len(lines), n_bytes, time_ms, packed(first, lines, time_ms, submitted))
    db.execute("INSERT INTO frames VALUES (?, ?, ?, ?, ?)", row)


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors that say what to do."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise closed(path) from None
    except sqlite3.Error as error:
        raise _meant(path, error) from error


def closed(path: Path) -> FileError:
    """What is said to someone who uses a log that is closed."""
    return FileError(Problem("log-closed", str(path), "a closed log", "an open one"))


def corrupt(path: Path, found: str) -> FileError:
    """What is said about a log that is damaged."""
    hint = "`tidings log verify` says what is damaged, `tidings log repair` saves what is whole"
    return FileError(Problem("file-corrupt", str(path), found, "what was written", hint))


def sync_directory(path: Path) -> None:
    """Make the entries of a file's directory durable."""
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _check(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise FileError(Problem("file-format", str(path), "another SQLite database", "a log of Tidings"))
    if version != USER_VERSION:
        hint = "install the version of Tidings that wrote it, or a newer one"
        raise FileError(Problem("file-format", str(path), f"version {version}", f"version {USER_VERSION}", hint))


def _meant(path: Path, error: sqlite3.Error) -> FileError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_room(path)):
        return _no_room(path)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        hint = "another process keeps writing; try again, or see who has the file open"
        return FileError(Problem("log-busy", str(path), f"locked for {BUSY_S:.0f} s", "a turn to write", hint))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return corrupt(path, str(error))
    if code == sqlite3.SQLITE_ERROR and "no such" in str(error):
        return corrupt(path, f"a damaged schema: {error}")
    return _unwritable(path, str(error))


def _has_no_room(path: Path) -> bool:
    try:
        room = os.statvfs(path.parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < _LACK_OF_ROOM_BYTES


def _no_room(path: Path) -> FileError:
    hint = "nothing was lost; make room, and append again"
    return FileError(Problem("disk-full", str(path), "no room left", "room to write", hint))


def _unwritable(path: Path, found: str) -> FileError:
    return FileError(Problem("file-unreadable", str(path), found, "a log that can be read and written"))
