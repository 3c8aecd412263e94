"""A pool: pieces of different sizes in one flat array, with free lists by size.

A piece that is given back is linked into the list of its size through its own first element, and taken again by the
next piece of that size. Sizes up to `LARGEST_EXACT` have a list each, so that nothing is wasted inside a piece;
larger ones are rounded up to a power of two. A pool does not grow inside a kernel: whoever calls one makes sure
beforehand that all that the call can take is there (`room_for`).

The kernels work on arrays of any number type. `pool_head` holds, per size class, the start of the first free piece
plus one, and in its last element the end of the used part.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.growing import Scalar, grown
from tidings.dtypes import Integer

LARGEST_EXACT: Final = 64
N_CLASSES: Final = LARGEST_EXACT + 33
_END: Final = N_CLASSES


def empty_head() -> npt.NDArray[np.int64]:
    """The head of a pool without pieces."""
    return np.zeros(N_CLASSES + 1, np.int64)


@njit(nogil=True, cache=True)
def rounded(size: Integer) -> Integer:
    """The number of elements that a piece of this size occupies."""
    if size <= LARGEST_EXACT:
        return np.int64(size)
    room = np.int64(2 * LARGEST_EXACT)
    while room < size:
        room *= 2
    return room


@njit(nogil=True, cache=True)
def _class_of(size: Integer) -> Integer:
    if size <= LARGEST_EXACT:
        return size
    room = 2 * LARGEST_EXACT
    number = LARGEST_EXACT + 1
    while room < size:
        room *= 2
        number += 1
    return number


@njit(nogil=True, cache=True)
def pool_take(head: npt.NDArray[np.int64], data: npt.NDArray[Any], size: Integer) -> Integer:
    """The start of a piece of `size` elements (its content is undefined)."""
    if size == 0:
        return np.int64(0)
    number = _class_of(size)
    first = head[number]
    if first != 0:
        start = first - 1
        head[number] = np.int64(data[start])
        return start
    start = head[_END]
    head[_END] = start + rounded(size)
    return start


@njit(nogil=True, cache=True)
def pool_give(head: npt.NDArray[np.int64], data: npt.NDArray[Any], start: Integer, size: Integer) -> None:
    """Give a piece back."""
    if size == 0:
        return
    number = _class_of(size)
    data[start] = head[number]
    head[number] = start + 1


def pool_end(head: npt.NDArray[np.int64]) -> int:
    """The end of the used part of a pool's array."""
    return int(head[_END])


def room_for(head: npt.NDArray[np.int64], data: npt.NDArray[Scalar], elements: int) -> npt.NDArray[Scalar]:
    """The pool's array with room for so many more elements, whatever the free lists hold."""
    return grown(data, pool_end(head) + elements)


@njit(nogil=True, cache=True)
def rounded_total(offset: npt.NDArray[np.int64], unit: int) -> Integer:
    """The elements that pieces of these lengths occupy, each of `unit` units of length."""
    total = 0
    for i in range(len(offset) - 1):
        total += rounded((offset[i + 1] - offset[i] + unit - 1) // unit)
    return total
