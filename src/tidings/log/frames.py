"""A frame: the events of one commit to a log, as bytes that identify and check themselves.

    magic, first position, n events, time appended, lengths     header, with its own checksum
    a checksum for every line
    who submitted them: producer, sequence, count               only where a producer was named
    the lines, with a line feed between two

Nothing outside a frame is needed to know what it is, where it belongs and whether it is whole; so a log can be read
from what is left of a damaged file. A damaged frame still gives the lines whose own checksum holds.
"""

import struct
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple
from zlib import crc32

import msgspec

from tidings.model.limits import MAX_FRAME_BYTES, MAX_FRAME_EVENTS

MAGIC: Final = b"TidF"
_HEADER: Final = struct.Struct("<4sIqqIIIIII")
HEADER_BYTES: Final = _HEADER.size


class Frame(NamedTuple):
    """Consecutive events of a log."""

    first: int
    """The position of the first."""
    n: int
    payload: bytes
    """Their lines, joined by line feeds."""

    @property
    def end(self) -> int:
        """The position after the last."""
        return self.first + self.n

    def lines(self) -> list[bytes]:
        """The event of each line, in the wire format."""
        return self.payload.split(b"\n")

    def cut(self, first: int, end: int) -> "Frame":
        """The events of it that are in [first, end), which are some."""
        if first <= self.first and end >= self.end:
            return self
        first, end = max(first, self.first), min(end, self.end)
        lines = self.lines()[first - self.first : end - self.first]
        return Frame(first, end - first, b"\n".join(lines))


class Submitted(msgspec.Struct, frozen=True, array_like=True):
    """Which producer's submission events came with."""

    producer: str
    sequence: int
    first: int
    count: int


class Stored(NamedTuple):
    """A frame as it is stored, taken apart."""

    frame: Frame
    time_ms: int
    submitted: tuple[Submitted, ...] = ()


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(tuple[Submitted, ...]).decode


def packed(first: int, lines: Sequence[bytes], time_ms: int, submitted: Sequence[Submitted] = ()) -> bytes:
    """The frame of these lines, as it is stored."""
    payload = b"\n".join(lines)
    table = line_table(lines)
    notes = _encode(submitted) if submitted else b""
    return b"".join((_header(first, len(lines), time_ms, payload, table, notes), table, notes, payload))


def unpacked(data: object) -> Stored | None:
    """The frame that was stored, or None when it is not whole; damage may even have made a text of it."""
    if not isinstance(data, bytes) or len(data) < HEADER_BYTES:
        return None
    magic, header_crc, first, time_ms, n, n_notes, n_payload, table_crc, notes_crc, payload_crc = _HEADER.unpack_from(
        data
    )
    notes_at = HEADER_BYTES + 4 * n
    payload_at = notes_at + n_notes
    if magic != MAGIC or crc32(data[8:HEADER_BYTES]) != header_crc or len(data) != payload_at + n_payload:
        return None
    notes, payload = data[notes_at:payload_at], data[payload_at:]
    if crc32(payload) != payload_crc or crc32(notes) != notes_crc or crc32(data[HEADER_BYTES:notes_at]) != table_crc:
        return None
    return Stored(Frame(first, n, payload), time_ms, _decode(notes) if notes else ())


def blob_bytes(start: bytes) -> int | None:
    """How long the stored frame is that begins like this; None when nothing whole begins so."""
    if len(start) < HEADER_BYTES:
        return None
    magic, header_crc, _, _, n, n_notes, n_payload, *_ = _HEADER.unpack_from(start)
    if magic != MAGIC or crc32(start[8:HEADER_BYTES]) != header_crc:
        return None
    return HEADER_BYTES + 4 * int(n) + int(n_notes) + int(n_payload)


def whole_lines(data: bytes, first: int, n: int) -> list[tuple[int, bytes]]:
    """The lines of a damaged frame whose own checksum holds, each with its position.

    `first` and `n` are what the frame's row says, for when its header is damaged. Lines are found in order: a line feed
    that is gone joins two, and one that should not be there cuts one, but the others are still recognised.
    """
    n_notes = 0
    if len(data) < HEADER_BYTES + 4:
        return []
    if blob_bytes(data) is not None:
        _, _, first, _, n, n_notes, *_ = _HEADER.unpack_from(data)
    table = array("I", data[HEADER_BYTES : HEADER_BYTES + 4 * n][: (len(data) - HEADER_BYTES) // 4 * 4])
    pieces = data[HEADER_BYTES + 4 * n + n_notes :].split(b"\n")
    where: dict[int, list[int]] = {}
    for i, piece in enumerate(pieces):
        where.setdefault(crc32(piece), []).append(i)
    found, at = [], 0
    for i, crc in enumerate(table):
        piece_at = next((k for k in where.get(crc, ()) if k >= at), None)
        if piece_at is not None:
            found.append((first + i, pieces[piece_at]))
            at = piece_at + 1
    return found


def line_table(lines: Iterable[bytes]) -> bytes:
    """The checksum of every line."""
    return array("I", map(crc32, lines)).tobytes()


def frames_of(lines: Sequence[bytes]) -> list[tuple[int, int]]:
    """How lines are cut into frames of bounded size: the first line of each, and the one after its last."""
    if len(lines) <= MAX_FRAME_EVENTS and sum(map(len, lines)) <= MAX_FRAME_BYTES:
        return [(0, len(lines))]
    cuts, start, before = [], 0, 0
    for i, total in enumerate(accumulate(map(len, lines))):
        if i > start and (total - before > MAX_FRAME_BYTES or i - start >= MAX_FRAME_EVENTS):
            cuts.append((start, i))
            start, before = i, total - len(lines[i])
    return [*cuts, (start, len(lines))]


def _header(first: int, n: int, time_ms: int, payload: bytes, table: bytes, notes: bytes) -> bytes:
    fields = (first, time_ms, n, len(notes), len(payload), crc32(table), crc32(notes), crc32(payload))
    without = _HEADER.pack(MAGIC, 0, *fields)
    return _HEADER.pack(MAGIC, crc32(without[8:]), *fields)
