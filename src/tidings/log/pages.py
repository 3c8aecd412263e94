"""The pages of a SQLite file, read by its format: what is left of a log that SQLite may refuse to open.

A frame begins with its magic number and says how long it is, so it is found on any page without trusting the page's
own structure; the part that does not fit on the page goes on in a chain of overflow pages, each naming the next. How
much stands on the first page follows from the length of the whole record, of which only the few bytes before the frame
are unknown: they are tried. (SQLite's documentation, "Database File Format", 1.6.)
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, NamedTuple, Self

from tidings.log.frames import MAGIC, blob_bytes, unpacked
from tidings.log.wal_file import WalScan, scan_wal, wal_of

LEAF: Final = 13
"""The type of a page with rows of a table."""
_HEADER_BYTES: Final = 100
"""Of the file, at the start of page 1."""
_BEFORE: Final = sorted(range(6, 48), key=lambda c: abs(c - 20))
"""Bytes of a record before the frame in it, the likely ones first."""
_MOST_PAGES: Final = 1 << 16
"""A longer chain goes in circles."""


class Cell(NamedTuple):
    """A row of some table, as far as it can be read."""

    page: int
    row: int
    columns: list[int | bytes | None]
    pages: list[int]
    """The overflow pages that it goes on in."""


class Pages:
    """The pages of a database, with those of its write-ahead log or without; a context manager."""

    def __init__(self, path: Path, *, wal: WalScan | None) -> None:
        self._file: Final[BinaryIO] = path.open("rb")
        self._wal_file: BinaryIO | None = None
        start = self._file.read(_HEADER_BYTES)
        size = int.from_bytes(start[16:18])
        plausible = 65_536 if size == 1 else size if size in {1 << k for k in range(9, 16)} else 4096
        self.size: Final = wal.page_size if wal is not None else plausible
        self._images: dict[int, int] = {}
        if wal is not None and wal_of(path).exists():
            self._wal_file = wal_of(path).open("rb")
            self._images = {one.page: one.offset for one in wal.pages[: wal.n_committed] if one.is_current}
        n_bytes = self._file.seek(0, 2)
        self.count: Final = max([-(-n_bytes // self.size), *self._images])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if self._wal_file is not None:
            self._wal_file.close()

    def page(self, number: int) -> bytes:
        """A page by its number, from 1; empty when there is none."""
        offset = self._images.get(number)
        if offset is not None and self._wal_file is not None:
            self._wal_file.seek(offset)
            return self._wal_file.read(self.size)
        if not 1 <= number <= self.count:
            return b""
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size)

    def frames(self) -> Iterator[tuple[int, int, int]]:
        """Where a frame begins that looks whole: the page, the offset on it, the bytes of the record before it."""
        likely = list(_BEFORE)
        for number in range(1, self.count + 1):
            data = self.page(number)
            at = data.find(MAGIC)
            while at >= 0:
                n_bytes = blob_bytes(data[at:])
                for before in likely if n_bytes is not None else ():
                    if self.frame(number, at, before) is not None:
                        likely.remove(before)
                        likely.insert(0, before)
                        yield number, at, before
                        break
                at = data.find(MAGIC, at + 1)

    def frame(self, number: int, at: int, before: int) -> bytes | None:
        """The bytes of a frame that `frames` found; None when they are not whole."""
        data = self.page(number)
        n_bytes = blob_bytes(data[at:])
        if n_bytes is None:
            return None
        n_local = self._local(before + n_bytes) - before
        end = at + n_local
        if n_local >= n_bytes:
            found = data[at : at + n_bytes]
        elif n_local < 0 or end + 4 > len(data):
            return None
        else:
            found = data[at:end] + self._chain(int.from_bytes(data[end : end + 4]), n_bytes - n_local)[0]
        return found if unpacked(found) is not None else None

    def cells(self) -> Iterator[Cell]:
        """Every row of every table, from pages that still have their structure."""
        for number in range(1, self.count + 1):
            data = self.page(number)
            start = _HEADER_BYTES if number == 1 else 0
            if len(data) < self.size or data[start] != LEAF:
                continue
            n_cells = int.from_bytes(data[start + 3 : start + 5])
            for i in range(min(n_cells, self.size // 4)):
                pointer = int.from_bytes(data[start + 8 + 2 * i : start + 10 + 2 * i])
                cell = self._cell(number, data, pointer)
                if cell is not None:
                    yield cell

    def _cell(self, number: int, data: bytes, at: int) -> Cell | None:
        try:
            n_bytes, at = _varint(data, at)
            row, at = _varint(data, at)
            n_local = self._local(n_bytes)
            record, pages = data[at : at + n_local], list[int]()
            if n_local < n_bytes:
                first = int.from_bytes(data[at + n_local : at + n_local + 4])
                rest, pages = self._chain(first, n_bytes - n_local)
                record += rest
            return Cell(number, row, _columns(record), pages)
        except (IndexError, struct.error):
            return None

    def _chain(self, number: int, n_bytes: int) -> tuple[bytes, list[int]]:
        """What overflow pages hold, as far as they can be followed."""
        parts: list[bytes] = []
        pages: list[int] = []
        while n_bytes > 0 and number and len(pages) < _MOST_PAGES:
            data = self.page(number)
            if len(data) < 4:
                break
            pages.append(number)
            parts.append(data[4 : 4 + min(n_bytes, self.size - 4)])
            n_bytes -= self.size - 4
            number = int.from_bytes(data[:4])
        return b"".join(parts), pages

    def _local(self, n_bytes: int) -> int:
        """How much of a record of this size stands on its leaf."""
        most = self.size - 35
        if n_bytes <= most:
            return n_bytes
        least = (self.size - 12) * 32 // 255 - 23
        local = least + (n_bytes - least) % (self.size - 4)
        return local if local <= most else least


def both_views(path: Path) -> list[Pages]:
    """The pages as they are meant to be seen, and as they are without the write-ahead log."""
    wal = scan_wal(path)
    plain = Pages(path, wal=None)
    return [plain] if wal is None or not wal.n_committed else [Pages(path, wal=wal), plain]


def _columns(record: bytes) -> list[int | bytes | None]:
    """The columns of a record, the last as far as there is anything."""
    n_header, at = _varint(record, 0)
    types = []
    while at < n_header:
        kind, at = _varint(record, at)
        types.append(kind)
    columns: list[int | bytes | None] = []
    at = n_header
    for kind in types:
        if kind >= 12:
            n_bytes = (kind - 12) // 2
            columns.append(record[at : at + n_bytes])
        else:
            n_bytes = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
            value = {0: None, 8: 0, 9: 1}.get(kind, int.from_bytes(record[at : at + n_bytes], signed=True))
            columns.append(value)
        at += n_bytes
    return columns


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(8):
        byte = data[at + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return value << 8 | data[at + 8], at + 9
