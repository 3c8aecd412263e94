"""Where arrays stand in a file, each in a region of its own, and how a region comes into the file."""

import mmap
import os
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

_ALIGNMENT: Final = 64
_LARGEST_WRITE: Final = 1 << 30

Array = npt.NDArray[Any]


class Region(msgspec.Struct, array_like=True):
    """Where an array stands, and how much room it has there."""

    dtype: str
    shape: tuple[int, ...]
    offset: int
    room: int


def region_of(array: Array, offset: int, room: int) -> Region:
    """The region of an array that is to stand there."""
    return Region(array.dtype.str, array.shape, offset, room)


def aligned(n_bytes: int) -> int:
    """The room that so many bytes take."""
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT


def whole_pages(n_bytes: int) -> int:
    """The end of a file of so many bytes; a later part of it must begin where a mapping can."""
    return -(-n_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY


def allocate(descriptor: int, start: int, end: int) -> None:
    """Blocks for a part of the file, or OSError and the file as it was."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, start, end - start)
        else:
            for offset in range(start, end, 1 << 20):
                os.pwrite(descriptor, bytes(min(1 << 20, end - offset)), offset)
    except OSError:
        os.ftruncate(descriptor, start)
        raise


def write_at(descriptor: int, array: Array, offset: int) -> None:
    """Write bytes through the descriptor: a page that is only written need not be mapped for it."""
    data = array.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done : done + _LARGEST_WRITE], offset + done)


def placed_in_gaps(
    wanted: dict[str, int], taken: Iterable[tuple[int, int]], spans: Iterable[tuple[int, int]]
) -> tuple[dict[str, tuple[int, int]], int]:
    """Offset and room for so many bytes each, the largest first, in the smallest gap between what is taken that will
    do, or else behind the last span; and the end of the file that this takes. No region crosses from one span into
    the next.
    """
    taken = sorted(taken)
    gaps: list[tuple[int, int]] = []
    end = 0
    for start, end in spans:
        at = start
        for offset, room in taken:
            if room and start <= offset < end:
                gaps.append((offset - at, at))
                at = offset + room
        gaps.append((end - at, at))
    placed: dict[str, tuple[int, int]] = {}
    for name, n_bytes in sorted(wanted.items(), key=lambda item: -item[1]):
        room = aligned(n_bytes)
        fit = min((gap for gap in gaps if gap[0] >= room), default=None)
        if fit is None:
            placed[name] = (end, room)
            end += room
        else:
            gaps.remove(fit)
            gaps.append((fit[0] - room, fit[1] + room))
            placed[name] = (fit[1], room)
    return placed, whole_pages(end)
