"""Verifying words: whether the words of a message, as a bit set over word ids, satisfy a subscription's clauses."""

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.block import EXCLUDED_SHIFT, MORE_CLAUSES
from tidings.dtypes import Integer


def word_set(n_words: int) -> npt.NDArray[np.uint64]:
    """An empty set of ids below `n_words`."""
    return np.zeros((n_words >> 6) + 1, np.uint64)


@njit(nogil=True, cache=True)
def has_word(words: npt.NDArray[np.uint64], word: Integer) -> bool:
    """Whether a set has a word."""
    has: bool = words[word >> 6] >> np.uint64(word & 63) & np.uint64(1) != 0
    return has


@njit(nogil=True, cache=True)
def add_word(words: npt.NDArray[np.uint64], word: Integer) -> None:
    """Put a word into a set."""
    words[word >> 6] |= np.uint64(1) << np.uint64(word & 63)


@njit(nogil=True, cache=True)
def satisfies(term: npt.NDArray[np.uint32], place: Integer, words: npt.NDArray[np.uint64]) -> bool:
    """Whether a set of words satisfies one of the clauses that stand in the terms from a place on."""
    while True:
        header = np.int64(term[place])
        excluded_from = place + 1 + (header & 0xFFFF)
        end = excluded_from + ((header >> EXCLUDED_SHIFT) & 0x7FFF)
        good = True
        for i in range(place + 1, end):
            if has_word(words, np.int64(term[i])) != (i < excluded_from):
                good = False
                break
        if good or header & MORE_CLAUSES == 0:
            return good
        place = end
