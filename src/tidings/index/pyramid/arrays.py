"""The arrays of the pyramid, and how an entry is packed into sixteen bytes.

Each word that a subscription is filed under has a quadtree over the whole space. A node is a list of entries and,
once the list is long enough to pay for it, four children. An entry is two 64-bit words:

    0   the box, in 15-bit coordinates of the node's own cell: x0, y0, 32767 - x1, 32767 - y1, a lane of 16 bits each
    1   the slot in the low 29 bits, three flags, and two tags: the low 16 bits of the ids of two more words

The lanes are chosen so that one subtraction compares all four sides at once: with the message's own box packed as
x1, y1, 32767 - x0, 32767 - y0 and the top bit of every lane set, no lane borrows exactly when the boxes meet; and when
no lane of the difference is 0 either, they meet in their interiors, so that the exact box need not be read. Because
coordinates are fixed-point numbers made by a monotone map, both conclusions are exact. The flags say what an entry
cannot answer by itself: its words (more than three, excluded ones, ids over 16 bits), its region (not a single box),
and whether a message can find its subscription more than once.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.pool import empty_head
from tidings.dtypes import Integer

MAX_LEVEL: Final = 17
"""A node of level 17 with its 15 bits uses up the 32 bits of a coordinate."""
LANE: Final = 32767
TOPS: Final = np.uint64(0x8000800080008000)
LOWS: Final = np.uint64(0x7FFF7FFF7FFF7FFF)
SLOT_MASK: Final = (1 << 29) - 1
VERIFY_WORDS: Final = 1 << 29
VERIFY_REGION: Final = 1 << 30
REPEATED: Final = 1 << 31
ANY_WORD: Final = 0
"""The id under which subscriptions without a positive word are filed; every message looks there."""

START: Final = 0
LENGTH: Final = 1
CAPACITY: Final = 2
CHILDREN: Final = 3
NODE_SIZE: Final = 4

MESSAGES: Final = 0
CURSOR: Final = 1
ENTRIES: Final = 2
REFILED: Final = 3
PROBED: Final = 4
SCANNED: Final = 5
VERIFIED: Final = 6
MATCHED: Final = 7
OWED: Final = 8
N_COUNTERS: Final = 9


class PyramidArrays(NamedTuple):
    """All state of the index; the subscriptions themselves are in the table."""

    frame: npt.NDArray[np.float64]
    """min_x, min_y, and the factors from coordinates to 32-bit fixed-point numbers; last, 1.0 on the globe."""
    counter: npt.NDArray[np.int64]
    """MESSAGES (decayed with `hits`), CURSOR of the patrol, ENTRIES, totals of work since the start, and OWED: messages
    for which nobody has patrolled yet."""
    root: npt.NDArray[np.uint32]
    """By word id: its node, 0 for none."""
    hits: npt.NDArray[np.uint32]
    """By word id: messages that had it, halved now and then."""
    node_head: npt.NDArray[np.int64]
    node: npt.NDArray[np.uint32]
    """Nodes of four numbers, START, LENGTH and CAPACITY of the list (in entries) and CHILDREN (the first of four)."""
    entry_head: npt.NDArray[np.int64]
    entry: npt.NDArray[np.uint64]
    """Two words an entry."""


def empty_pyramid(bounds: tuple[float, float, float, float], globe: bool) -> PyramidArrays:
    """A pyramid without entries over a space of these bounds."""
    min_x, min_y, max_x, max_y = bounds
    node_head = empty_head()
    node_head[-1] = NODE_SIZE  # node 0 stands for none
    return PyramidArrays(
        frame=np.array([min_x, min_y, 2.0**32 / (max_x - min_x), 2.0**32 / (max_y - min_y), float(globe)]),
        counter=np.zeros(N_COUNTERS, np.int64),
        root=np.zeros(64, np.uint32),
        hits=np.zeros(64, np.uint32),
        node_head=node_head,
        node=np.zeros(64 * NODE_SIZE, np.uint32),
        entry_head=empty_head(),
        entry=np.zeros(256, np.uint64),
    )


@njit(nogil=True, cache=True)
def fixed(value: float, low: float, scale: float) -> np.int64:
    """A coordinate as a 32-bit fixed-point number; monotone, and clamped at the edges of the space."""
    scaled = (value - low) * scale
    if scaled <= 0.0:
        return np.int64(0)
    if scaled >= 4294967295.0:
        return np.int64(4294967295)
    return np.int64(scaled)


@njit(nogil=True, cache=True)
def local(value: Integer, origin: Integer, level: Integer) -> Integer:
    """A fixed-point coordinate in the 15 bits of a cell, clamped to it."""
    inside = (value - origin) >> (17 - level)
    return min(max(inside, np.int64(0)), np.int64(LANE))


@njit(nogil=True, cache=True)
def packed(a: Integer, b: Integer, c: Integer, d: Integer) -> np.uint64:
    """Four 15-bit numbers as lanes."""
    return np.uint64(a) | np.uint64(b) << np.uint64(16) | np.uint64(c) << np.uint64(32) | np.uint64(d) << np.uint64(48)
