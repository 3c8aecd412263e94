"""Scores as they are defined: float64, sums in code-point order of the words, nothing fused."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.messages import MessageTable, Weighting, weight_of
from tidings.columns.subscriptions import SubscriptionTable
from tidings.dtypes import Integer
from tidings.model.events import Configure
from tidings.space.extent import extent_of, is_globe
from tidings.space.metrics import HALF_CIRCUMFERENCE_M


class Measure(NamedTuple):
    """How far is far."""

    globe: bool
    max_distance: float

    @classmethod
    def of(cls, configuration: Configure) -> "Measure":
        """The measure of a log."""
        globe = is_globe(configuration.space)
        if configuration.max_distance is not None:
            return cls(globe, configuration.max_distance)
        x0, y0, x1, y1 = extent_of(configuration.space)
        diagonal = math.sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
        return cls(globe, HALF_CIRCUMFERENCE_M if globe else diagonal)


@njit(nogil=True, cache=True)
def unit_words(
    table: SubscriptionTable, hashes: npt.NDArray[np.uint64], weighting: Weighting, subscription: Integer
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
    """The words of a `best` or `nearest` in code-point order: hashes, and weights as a vector of length 1."""
    start = np.int64(table.term_start[subscription])
    n = np.int64(table.term[start])
    words, unit = np.empty(n, np.uint64), np.empty(n, np.float64)
    squares = 0.0
    for i in range(n):
        words[i] = hashes[table.term[start + 1 + 2 * i]]
        unit[i] = np.float64(table.term[start + 2 + 2 * i]) * weight_of(weighting, words[i])
        squares += unit[i] * unit[i]
    norm = math.sqrt(squares)
    for i in range(n):
        unit[i] = unit[i] / norm if norm > 0.0 else 0.0
    return words, unit


@njit(nogil=True, cache=True)
def shares_word(
    term: npt.NDArray[np.uint32],
    start: Integer,
    hashes: npt.NDArray[np.uint64],
    word_hash: npt.NDArray[np.uint64],
    first: Integer,
    end: Integer,
) -> bool:
    """Whether the counted words from a place of the terms on and a message's words have one in common."""
    for i in range(start + 1, start + 1 + 2 * np.int64(term[start]), 2):
        wanted = hashes[term[i]]
        for j in range(first, end):
            if word_hash[j] == wanted:
                return True
    return False


@njit(nogil=True, cache=True)
def similar(
    words: tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]], window: MessageTable, message: Integer
) -> tuple[bool, float]:
    """Whether a message shares a word with a subscription's unit words, and the sum over the shared ones."""
    hashes, unit = words
    start = window.word_start[message]
    end = start + np.int64(window.n_words[message])
    shares, total = False, 0.0
    for i in range(len(hashes)):
        for j in range(start, end):
            if window.word_hash[j] == hashes[i]:
                shares = True
                total += unit[i] * window.unit[j]
                break
    return shares, total
