"""The hash of `hashing`, compiled, for kernels and for whole arenas of words."""

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.dtypes import Integer
from tidings.words import hashing
from tidings.words.arenas import read_only

# Numba turns uint64 with a Python int into float64, so every constant is typed.
_MULTIPLIER = np.uint64(hashing.MULTIPLIER)
_FOLD = np.uint64(hashing.FOLD)
_FINISH = np.uint64(hashing.FINISH)
_INSTEAD_OF_ZERO = np.uint64(hashing.INSTEAD_OF_ZERO)
_ZERO, _8 = np.uint64(0), np.uint64(8)
_27, _29, _30, _31, _32 = np.uint64(27), np.uint64(29), np.uint64(30), np.uint64(31), np.uint64(32)


@njit(nogil=True, cache=True)
def hash_bytes(data: npt.NDArray[np.uint8], start: Integer, end: Integer) -> np.uint64:
    """The hash of the word `data[start:end]`."""
    state = np.uint64(end - start + 1) * _MULTIPLIER
    i = start
    while i < end:
        block = _ZERO
        shift = _ZERO
        for j in range(i, min(i + 8, end)):
            block |= np.uint64(data[j]) << shift
            shift += _8
        block *= _FOLD
        state = (state ^ block ^ (block >> _32)) * _MULTIPLIER
        state ^= state >> _29
        i += 8
    state = (state ^ (state >> _30)) * _FOLD
    state = (state ^ (state >> _27)) * _FINISH
    state ^= state >> _31
    return state if state != _ZERO else _INSTEAD_OF_ZERO


@njit(nogil=True, cache=True)
def _hash_strings(offset: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], out: npt.NDArray[np.uint64]) -> None:
    for i in range(len(out)):
        out[i] = hash_bytes(data, offset[i], offset[i + 1])


def hash_strings(offset: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """The hashes of all words of an arena."""
    out = np.empty(len(offset) - 1, np.uint64)
    _hash_strings(read_only(offset), read_only(data), out)
    return out
