"""SQLite's write-ahead log, read by its format: which of its pages count, and whether any were damaged.

SQLite takes a damaged frame for the place where a crash cut the last write, and silently drops it with all that
follows, which may be commits that were acknowledged. Here the rest is looked at: where a commit lies beyond the damage,
it was not a crash. (Chapter "WAL-mode file format" of SQLite's documentation.)
"""

import struct
import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.log.store_schema import corrupt

HEADER_BYTES: Final = 32
FRAME_HEADER_BYTES: Final = 24
_MAGIC: Final = 0x377F0682
"""Checksums read little-endian words; with the lowest bit set, big-endian ones."""
_VERSION: Final = 3_007_000
_MASK: Final = 0xFFFF_FFFF
_LOOKS: Final = 3
"""A file that others write to is looked at again before it is called damaged."""
_BETWEEN_LOOKS_S: Final = 0.05
_FRAMES_AT_ONCE: Final = 1024

_Words = npt.NDArray[np.uint32]


class WalPage(NamedTuple):
    """The image of a page in the write-ahead log."""

    page: int
    offset: int
    is_commit: bool
    is_whole: bool
    """Its checksum follows from the one stored before it."""
    is_current: bool
    """It was written since the log last began anew."""


class WalScan(NamedTuple):
    """What there is in a write-ahead log."""

    page_size: int
    pages: list[WalPage]
    n_valid: int
    """So many pages SQLite takes: up to the last whole commit."""
    n_committed: int
    """So many pages were committed, as far as can be seen."""
    header_is_whole: bool
    n_bytes: int

    @property
    def damage(self) -> str:
        """What is damaged for sure; empty when nothing is."""
        if not self.header_is_whole:
            return "the header of the write-ahead log is damaged" if self.pages or self.n_bytes >= HEADER_BYTES else ""
        bad = self._first_bad
        if bad < self.n_committed - 1:
            return f"frame {bad} of the write-ahead log is damaged, before a commit"
        return ""

    @property
    def doubt(self) -> str:
        """What is either damaged or a write that a crash cut short, and so was never acknowledged."""
        bad = self._first_bad
        if self.damage or bad == len(self.pages):
            return ""
        # What a killed writer left behind stands after a whole commit, is of this time, and commits nothing.
        page = self.pages[bad]
        if (page.is_current or page.is_whole) and (page.is_commit or bad > self.n_valid):
            return f"frame {bad} of the write-ahead log, the last write, is damaged or was cut short by a crash"
        return ""

    @property
    def _first_bad(self) -> int:
        for i, page in enumerate(self.pages):
            if not (page.is_whole and page.is_current):
                return i
        return len(self.pages)


def wal_of(path: Path) -> Path:
    """The write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def scan_wal(path: Path) -> WalScan | None:
    """Look at the write-ahead log of a database; None when there is none or nothing in it."""
    wal = wal_of(path)
    try:
        data = np.fromfile(wal, np.uint8)
    except FileNotFoundError:
        return None
    if len(data) == 0:
        return None
    header = data[:HEADER_BYTES].tobytes().ljust(HEADER_BYTES, b"\0")
    magic, version, page_size, _, salt_1, salt_2, sum_1, sum_2 = struct.unpack(">8I", header)
    whole = magic & ~1 == _MAGIC and version == _VERSION and page_size in {1 << k for k in range(9, 17)}
    words = "<u4" if magic & 1 == 0 else ">u4"
    if whole:
        found = _advanced((0, 0), np.frombuffer(header[:24], words).astype(np.uint32)[None])
        whole = found[0] == (sum_1, sum_2)
    if not whole:
        page_size = page_size if page_size in {1 << k for k in range(9, 17)} else _page_size_of(path)
    step = FRAME_HEADER_BYTES + page_size
    n = max(0, len(data) - HEADER_BYTES) // step
    frames = data[HEADER_BYTES : HEADER_BYTES + n * step].reshape(n, step)
    heads = np.ascontiguousarray(frames[:, :FRAME_HEADER_BYTES]).view(">u4").astype(np.int64)
    if not whole and n:
        # The salts of the first frame are the log's, since frames are written from the first on.
        salt_1, salt_2 = int(heads[0, 2]), int(heads[0, 3])
    sums = [(sum_1, sum_2), *zip(heads[:, 4].tolist(), heads[:, 5].tolist(), strict=True)]
    pages: list[WalPage] = []
    for start in range(0, n, _FRAMES_AT_ONCE):
        part = frames[start : start + _FRAMES_AT_ONCE]
        content = np.concatenate([part[:, :8], part[:, FRAME_HEADER_BYTES:]], axis=1)
        found = _advanced_each(sums[start : start + len(part)], content.view(words).astype(np.uint32))
        for i in range(len(part)):
            at = start + i
            page, size, found_1, found_2 = heads[at, :4].tolist()
            current = (found_1, found_2) == (salt_1, salt_2)
            offset = HEADER_BYTES + at * step + FRAME_HEADER_BYTES
            pages.append(WalPage(page, offset, size != 0, found[i] == sums[at + 1], current))
    n_valid = 0
    for i, seen in enumerate(pages):
        if not (seen.is_whole and seen.is_current):
            break
        if seen.is_commit:
            n_valid = i + 1
    committed = [i + 1 for i, seen in enumerate(pages) if seen.is_current and seen.is_commit]
    return WalScan(page_size, pages, n_valid if whole else 0, max(committed, default=0), whole, len(data))


def check_wal(path: Path) -> None:
    """Raise `file-corrupt` when opening this log for writing would drop what was acknowledged."""
    for look in range(_LOOKS):
        if look:
            time.sleep(_BETWEEN_LOOKS_S)
        scan = scan_wal(path)
        damage = scan.damage if scan is not None else ""
        if not damage:
            return
    raise corrupt(wal_of(path), damage)


def _advanced(sums: tuple[int, int], content: _Words) -> list[tuple[int, int]]:
    return _advanced_each([sums], content)


def _advanced_each(before: list[tuple[int, int]], content: _Words) -> list[tuple[int, int]]:
    """The checksum after the words of each row, from the one before it.

    A step takes two words: s0 += x0 + s1, then s1 += x1 + s0. That is linear, so that the words of a row count with
    powers of one matrix, whose entries are Fibonacci numbers.
    """
    n_steps = content.shape[1] // 2
    fibonacci = [1, 0]
    while len(fibonacci) < 2 * n_steps + 3:
        fibonacci.append((fibonacci[-1] + fibonacci[-2]) & _MASK)
    # fibonacci[k + 1] is F(k), and F(-1) = 1.
    f = np.array(fibonacci, np.uint32)
    powers = 2 * np.arange(n_steps - 1, -1, -1)
    x0, both = content[:, 0::2], content[:, 0::2] + content[:, 1::2]
    d0 = (x0 * f[powers] + both * f[powers + 1]).sum(axis=1, dtype=np.uint32).tolist()
    d1 = (x0 * f[powers + 1] + both * f[powers + 2]).sum(axis=1, dtype=np.uint32).tolist()
    a, b, c = fibonacci[2 * n_steps], fibonacci[2 * n_steps + 1], fibonacci[2 * n_steps + 2]
    return [((a * s0 + b * s1 + d0[i]) & _MASK, (b * s0 + c * s1 + d1[i]) & _MASK) for i, (s0, s1) in enumerate(before)]


def _page_size_of(path: Path) -> int:
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(18)[16:18])
    except OSError:
        size = 0
    return 65_536 if size == 1 else size if size in {1 << k for k in range(9, 16)} else 4096
