"""The head of a segment: what its header says, and the filter that tells whether a subscription may be in it.

The filter sets two bits per subscription id, both in one page. A reader who asks for one subscription reads the header,
the table of the pages' checksums and one page, and passes over the segment when a bit is missing: every segment that
has the subscription is read, and of the others about one in twenty.
"""

import struct
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from tidings.model.errors import FileError, Problem
from tidings.words.hashing import hash_word

MAGIC: Final = b"TIDSEGM\0"
VERSION: Final = 1
HEADER_BYTES: Final = 128
PAGE_BYTES: Final = 2048
"""Of the filter; a segment with fewer rows has one smaller page."""

ALL_PLUS: Final = 0
ALL_MINUS: Final = 1
SIGNS: Final = 2
"""There is a column of signs, one bit a row."""
MEASURES: Final = 255
"""There is a column of measures."""

_HEADER: Final = struct.Struct("<8sIIQqqQQQQQQIIHHBBBBB3xII8x")
_CHECKSUM: Final = struct.Struct("<I")


class Header(NamedTuple):
    """What stands at the head of a segment."""

    magic: bytes
    version: int
    shard: int
    epoch: int
    first: int
    end: int
    n_rows: int
    n_runs: int
    n_values: int
    message_bytes: int
    subscription_bytes: int
    column_bytes: int
    """Of all columns, from behind the filter to the end."""
    n_pages: int
    page_bytes: int
    message_length: int
    """Of every message id in bytes, where `message_width` is 0."""
    subscription_length: int
    message_width: int
    """The bytes of a length: 0 when all are the same, else 2."""
    subscription_width: int
    """0, 1 or 2."""
    elsewhere: int
    """Whether some message was published at another position than its delta's."""
    signs: int
    measure: int
    """Of all rows, or MEASURES."""
    table_checksum: int
    column_checksum: int


def packed(header: Header) -> bytes:
    """The header as bytes, with its checksum."""
    head = _HEADER.pack(*header)
    return head + _CHECKSUM.pack(zlib.crc32(head))


def header_of(data: bytes | memoryview, place: str) -> Header:
    """The header at the beginning of a segment, checked; `place` is what an error names."""
    head = bytes(data[:HEADER_BYTES])
    if len(head) < HEADER_BYTES:
        raise corrupt(place, f"its length: {len(head)} bytes")
    if not head.startswith(MAGIC):
        raise FileError(Problem("file-format", place, repr(head[:8]), "a segment"))
    if zlib.crc32(head[: _HEADER.size]) != segment_checksum(head):
        raise corrupt(place, "its header")
    header = Header(*_HEADER.unpack_from(head))
    if header.version != VERSION:
        raise FileError(Problem("file-format", place, f"version {header.version}", f"version {VERSION}"))
    return header


def segment_checksum(data: bytes | memoryview) -> int:
    """What tells a segment from others: the checksum of its header, which covers all other checksums."""
    return int(_CHECKSUM.unpack_from(data, _HEADER.size)[0]) if len(data) >= HEADER_BYTES else -1


def pages_start(header: Header) -> int:
    """Where the filter's pages begin, behind the table of their checksums."""
    return HEADER_BYTES + aligned(4 * header.n_pages)


def columns_start(header: Header) -> int:
    """Where the columns begin; before it stand header, table and filter."""
    return pages_start(header) + header.n_pages * header.page_bytes


def check_filter(header: Header, head: memoryview, place: str) -> None:
    """Check what stands between the header and the columns."""
    start = pages_start(header)
    checksums = _table(header, head[HEADER_BYTES:start], place)
    for page, checksum in enumerate(checksums):
        at = start + page * header.page_bytes
        if zlib.crc32(head[at : at + header.page_bytes]) != checksum:
            raise corrupt(place, f"page {page} of its filter")


def may_contain(subscription: str, read: Callable[[int, int], bytes], place: str) -> bool:
    """Whether the filter lets a subscription through; `read` gives bytes of the segment from one place to another."""
    header = header_of(read(0, HEADER_BYTES), place)
    if not header.n_rows:
        return False
    hashed = hash_word(subscription)
    page = ((hashed >> 32) * header.n_pages) >> 32
    start = pages_start(header)
    checksums = _table(header, memoryview(read(HEADER_BYTES, start)), place)
    start += page * header.page_bytes
    bits = read(start, start + header.page_bytes)
    if len(bits) < header.page_bytes or zlib.crc32(bits) != checksums[page]:
        raise corrupt(place, f"page {page} of its filter")
    mask = 8 * header.page_bytes - 1
    return all(bits[bit >> 3] >> (bit & 7) & 1 for bit in (hashed & mask, (hashed >> 14) & mask))


def filter_size(n_rows: int) -> tuple[int, int]:
    """How many pages, and the bytes of one: a byte a row, in powers of two up to a page."""
    if n_rows == 0:
        return 0, 8
    if n_rows > PAGE_BYTES:
        return -(-n_rows // PAGE_BYTES), PAGE_BYTES
    return 1, max(8, 1 << (n_rows - 1).bit_length())


def _table(header: Header, table: memoryview, place: str) -> tuple[int, ...]:
    if len(table) < aligned(4 * header.n_pages) or zlib.crc32(table) != header.table_checksum:
        raise corrupt(place, "the table of its filter")
    return struct.unpack_from(f"<{header.n_pages}I", table)


def aligned(size: int) -> int:
    """The next multiple of eight."""
    return -(-size // 8) * 8


def corrupt(place: str, what: str) -> FileError:
    """The error that names what is not as it was written."""
    return FileError(
        Problem("file-corrupt", place, what, "bytes as they were written", "`tidings deliveries verify` says how much")
    )
