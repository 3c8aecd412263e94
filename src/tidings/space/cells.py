"""Places as pairs of 32-bit integers, and two curves through them.

`fixed` maps a coordinate to 0 .. 2^32 - 1 over the extent of the space, monotonically: comparing cells never
contradicts comparing coordinates. `morton` interleaves two such numbers, `hilbert` walks so that neighbours on the
curve are neighbours in space. On both curves every quadrant of every level is one run of indexes. From Python an index
is given as np.uint64, since Numba takes a plain int for a signed one.
"""

import numpy as np
from numba import njit

from tidings.dtypes import Integer

_TOP = 4294967295.0
_SPREAD_16 = np.uint64(0x0000FFFF0000FFFF)
_SPREAD_8 = np.uint64(0x00FF00FF00FF00FF)
_SPREAD_4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_SPREAD_2 = np.uint64(0x3333333333333333)
_SPREAD_1 = np.uint64(0x5555555555555555)
_U1, _U2, _U4, _U8, _U16 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(16)
_LOW_32 = np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def fixed(value: float, low: float, high: float) -> np.uint32:
    """Where a coordinate lies between two others, in steps of 2^-32 of their distance; outside it is clamped."""
    if not value > low:
        return np.uint32(0)
    if value >= high:
        return np.uint32(_TOP)
    return np.uint32(min((value - low) / (high - low) * 4294967296.0, _TOP))


@njit(nogil=True, cache=True)
def _spread(value: np.uint64) -> np.uint64:
    value = (value | (value << _U16)) & _SPREAD_16
    value = (value | (value << _U8)) & _SPREAD_8
    value = (value | (value << _U4)) & _SPREAD_4
    value = (value | (value << _U2)) & _SPREAD_2
    return (value | (value << _U1)) & _SPREAD_1


@njit(nogil=True, cache=True)
def _gather(value: np.uint64) -> np.uint64:
    value = value & _SPREAD_1
    value = (value | (value >> _U1)) & _SPREAD_2
    value = (value | (value >> _U2)) & _SPREAD_4
    value = (value | (value >> _U4)) & _SPREAD_8
    value = (value | (value >> _U8)) & _SPREAD_16
    return (value | (value >> _U16)) & _LOW_32


@njit(nogil=True, cache=True)
def morton(x: Integer, y: Integer) -> np.uint64:
    """The Z-order index of a cell: the bits of x at the even places, those of y at the odd ones."""
    return _spread(np.uint64(x)) | (_spread(np.uint64(y)) << _U1)


@njit(nogil=True, cache=True)
def morton_cell(index: np.uint64) -> tuple[np.int64, np.int64]:
    """The cell at a Z-order index."""
    whole = np.uint64(index)
    return np.int64(_gather(whole)), np.int64(_gather(whole >> _U1))


@njit(nogil=True, cache=True)
def hilbert(x: int, y: int) -> np.uint64:
    """The index of a cell on Hilbert's curve over 2^32 x 2^32 cells."""
    across, up = np.int64(x), np.int64(y)
    index = np.uint64(0)
    for level in range(31, -1, -1):
        right, top = (across >> level) & 1, (up >> level) & 1
        index = (index << _U2) | np.uint64((3 * right) ^ top)
        if top == 0:
            if right == 1:
                across, up = 4294967295 - across, 4294967295 - up
            across, up = up, across
    return index


@njit(nogil=True, cache=True)
def hilbert_cell(index: np.uint64) -> tuple[np.int64, np.int64]:
    """The cell at an index of Hilbert's curve."""
    rest = np.uint64(index)
    across, up = np.int64(0), np.int64(0)
    for level in range(32):
        digit = np.int64(rest & np.uint64(3))
        rest = rest >> _U2
        right = digit >> 1
        top = (digit ^ right) & 1
        if top == 0:
            if right == 1:
                last = (np.int64(1) << level) - 1
                across, up = last - across, last - up
            across, up = up, across
        across += right << level
        up += top << level
    return across, up
