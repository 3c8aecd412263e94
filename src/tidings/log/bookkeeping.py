"""What a log must know to judge the next event: the ledger and the producers, from checkpoints and by replaying.

Replaying looks only at what these two want to know: about a microsecond an event.
"""

import sqlite3
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, cast
from uuid import uuid4

import msgspec
from msgspec import Struct

from tidings.log.fields import normal_id
from tidings.log.frames import Stored, Submitted, unpacked
from tidings.log.ledger import Kept, Ledger, Mark
from tidings.log.producers import Producers
from tidings.log.sealed import sealed, unsealed
from tidings.log.store_schema import corrupt
from tidings.log.wire import decode_event
from tidings.model.events import Configure, Globe, Publish, Remove, Retract, Tick

CHECKPOINT_EVENTS: Final = 200_000
"""A checkpoint is due after so many events, or half as many as there are ids when that is more."""
MOST_EVENTS: Final = 1_000_000
"""And after so many in any case."""
PART_IDS: Final = 8192
"""Ids in one part of a checkpoint."""
ROWS_AT_ONCE: Final = 16

_NEVER_MS: Final = -(2**63)
"""An end of time that does not come; no time is so early."""
_HEAD: Final = "head"
_KINDS: Final = "kinds"
_LIVES: Final = "lives"
_PRODUCERS: Final = "producers"


class _Seen(Struct, gc=False):
    """What an accepted event has for the ledger."""

    op: str
    id: str = ""
    ts: int | None = None
    expires: int | None = None
    kind: str = ""


_decode: Final = msgspec.json.Decoder(_Seen).decode


class Bookkeeping:
    """The ledger and the producers after all events before a position."""

    def __init__(self) -> None:
        self.position = 0
        self.ledger = Ledger()
        self.producers = Producers()
        self.checkpoint = 0
        """Where the newest checkpoint stands."""
        self._mark: Mark | None = None

    @classmethod
    def of(cls, db: sqlite3.Connection, path: Path) -> "Bookkeeping":
        """From the newest whole checkpoint, or from the beginning; what came after it is not replayed yet."""
        for (position,) in db.execute("SELECT DISTINCT position FROM ledger ORDER BY position DESC").fetchall():
            rows = db.execute("SELECT data FROM ledger WHERE position = ? ORDER BY id", (position,))
            books = cls.from_parts(data for (data,) in rows)
            if books is not None:
                return books
        (start,) = db.execute("SELECT coalesce(min(first), 0) FROM frames").fetchone()
        lost = db.execute("SELECT 1 FROM lost WHERE first = 0").fetchone()
        if start and not lost:
            raise corrupt(path, "no whole checkpoint of the ledger, and the events before are no longer kept")
        return cls()

    @classmethod
    def from_parts(cls, parts: Iterable[object]) -> "Bookkeeping | None":
        """What `parts` said, or None when one is missing or damaged."""
        head: tuple[object, ...] | None = None
        kinds: list[tuple[str, str]] = []
        lives: list[tuple[str, tuple[int, float]]] = []
        known: list[Submitted] = []
        n_found = 0
        for data in parts:
            content = unsealed(data)
            if content is None or content[0] != "ledger":
                return None
            token, what, *values = cast(list[object], content[1])
            if what == _HEAD:
                head = (token, *values)
                n_found = 0
            elif head is None or token != head[0]:
                continue
            elif what == _KINDS:
                kinds += ((id_, kind) for id_, kind in cast(list[list[str]], values[0]))
            elif what == _LIVES:
                lives += _unpacked_lives(*cast(tuple[list[str], bytes, bytes], values))
            else:
                known += [msgspec.convert(value, Submitted) for value in cast(list[object], values[0])]
            n_found += 1
        if head is None or n_found != head[1]:
            return None
        books = cls()
        _, _, position, now, published, n_window, ms_window = cast(
            tuple[str, int, int, int | None, int, int | None, int | None], head
        )
        books.position = books.checkpoint = position
        books.ledger = Ledger.of(Kept(now, published, n_window, ms_window, kinds, lives))
        books.producers = Producers(known)
        return books

    def parts(self) -> deque["Part"]:
        """Everything known now, in parts that are to be written in this order; later changes do not show in them."""
        kept = self.ledger.kept()
        contents: list[tuple[object, ...]] = [(_KINDS, part) for part in _cut(kept.kinds)]
        contents += [(_LIVES, part) for part in _cut(kept.lives)]
        contents += [(_PRODUCERS, part) for part in _cut(self.producers.all())]
        token = uuid4().hex
        head = (_HEAD, len(contents) + 1, self.position, *kept[:4])
        return deque(Part(self.position, token, content) for content in (head, *contents))

    def begin(self) -> None:
        """From here on it can go back to here."""
        self._mark = self.ledger.mark()

    def go_back(self) -> None:
        """Nothing came of what was judged since `begin`."""
        if self._mark is not None:
            self.ledger.back_to(self._mark)
        self.producers.drop()
        self._mark = None

    def keep(self, end: int) -> None:
        """What was judged since `begin` is durable, and ends there."""
        self._mark = None
        self.ledger.forget()
        self.producers.keep()
        self.position = end

    def is_due(self) -> bool:
        """Whether enough has happened since the newest checkpoint for another one."""
        return self.position - self.checkpoint >= max(CHECKPOINT_EVENTS, min(MOST_EVENTS, self.ledger.n_ids // 2))

    def catch_up(self, db: sqlite3.Connection, path: Path, end: int) -> None:
        """Replay what is in the log and not known yet."""
        while self.position < end:
            rows = db.execute(
                "SELECT first, frame FROM frames WHERE first >= ? ORDER BY first LIMIT ?", (self.position, ROWS_AT_ONCE)
            ).fetchall()
            if not rows:
                # The rest was lost before this log was repaired.
                self.position = end
            for first, data in rows:
                stored = unpacked(data)
                if stored is None or stored.frame.first != first:
                    raise corrupt(path, f"a damaged frame at position {first}")
                self.replay(stored)

    def replay(self, stored: Stored) -> None:
        """Take in a frame of events that were accepted."""
        for line in stored.frame.lines():
            self._replay(line)
        self.position = stored.frame.end
        for submitted in stored.submitted:
            self.producers.stage(submitted)
        self.producers.keep()

    def _replay(self, line: bytes) -> None:
        seen, ledger = _decode(line), self.ledger
        match seen.op:
            case "publish":
                id_ = normal_id(seen.id)
                if not ledger.publish(id_, seen.ts, seen.expires):
                    ledger.take(Publish(id_, ts=seen.ts, expires=seen.expires))
            case "retract":
                ledger.apply(Retract(normal_id(seen.id)))
            case "register" | "replace":
                ledger.subscribe(normal_id(seen.id), seen.kind)
            case "remove":
                if ledger.kind_of(normal_id(seen.id)) is not None:
                    ledger.apply(Remove(normal_id(seen.id)))
            case "tick":
                ledger.apply(Tick(seen.ts or 0))
            case "configure":
                event = decode_event(line, Globe())
                assert isinstance(event, Configure)
                ledger.apply(event)


class Part:
    """One part of a checkpoint, encoded when it is written."""

    def __init__(self, position: int, token: str, content: tuple[object, ...]) -> None:
        self.position, self._token, self._content = position, token, content

    def row(self) -> tuple[int, bytes]:
        """Its row in the table `ledger`."""
        what, *values = self._content
        if what == _LIVES:
            values = [*_packed_lives(cast(list[tuple[str, tuple[int, float]]], values[0]))]
        return self.position, sealed("ledger", (self._token, what, *values))


def _cut(values: Sequence[object]) -> Iterator[Sequence[object]]:
    for start in range(0, len(values), PART_IDS):
        yield values[start : start + PART_IDS]


def _packed_lives(lives: list[tuple[str, tuple[int, float]]]) -> tuple[list[str], bytes, bytes]:
    ids = [message for message, _ in lives]
    numbers = array("q", (number for _, (number, _) in lives))
    ends = array("q", (_NEVER_MS if end == float("inf") else int(end) for _, (_, end) in lives))
    return ids, numbers.tobytes(), ends.tobytes()


def _unpacked_lives(ids: list[str], numbers: bytes, ends: bytes) -> Iterator[tuple[str, tuple[int, float]]]:
    never = float("inf")
    lives = zip(array("q", numbers), (never if end == _NEVER_MS else end for end in array("q", ends)), strict=True)
    return zip(ids, lives, strict=True)
