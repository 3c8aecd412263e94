"""Keeping the pyramid tuned: a patrol that refiles subscriptions whose filing word has become common.

Words drift: what was rare when a subscription was filed may be in every second message now. With every batch the
patrol looks at a bounded number of subscriptions, in turn, and refiles one when another of its words has become at
least `TWICE` as rare as the one it is filed under. How often messages have a word is counted while matching and
halved every `HALF_LIFE` messages, so that old habits fade. Places need no patrol: a quadtree splits where
subscriptions are and loses its empty cells.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.block import EXCLUDED_SHIFT, MORE_CLAUSES, NEVER, WITHIN
from tidings.columns.subscriptions import USED, SubscriptionTable
from tidings.dtypes import Integer
from tidings.index.pyramid.arrays import CURSOR, MESSAGES, REFILED, PyramidArrays
from tidings.index.pyramid.filing import file_slot, prior, rarest, unfile_slot

HALF_LIFE: Final = 65_536
TWICE: Final = 2.0
NOTABLE: Final = 64.0
"""A filing word that fewer messages had is rare enough whatever the others are."""


@njit(nogil=True, cache=True)
def count_words(
    counter: npt.NDArray[np.int64], hits: npt.NDArray[np.uint32], word: npt.NDArray[np.uint32], n_messages: int
) -> None:
    """Count what the search counts of the words of messages, where nobody searches."""
    counter[MESSAGES] += n_messages
    for i in range(len(word)):
        hits[word[i]] += np.uint32(1)


@njit(nogil=True, cache=True)
def fade(arrays: PyramidArrays) -> None:
    """Halve the counts of messages once enough have come."""
    if arrays.counter[MESSAGES] >= HALF_LIFE:
        arrays.counter[MESSAGES] >>= 1
        for word in range(len(arrays.hits)):
            arrays.hits[word] >>= np.uint32(1)


@njit(nogil=True, cache=True)
def _misfiled(
    term: npt.NDArray[np.uint32],
    hits: npt.NDArray[np.uint32],
    references: npt.NDArray[np.int64],
    per_reference: float,
    clause: Integer,
) -> bool:
    """Whether one of the clauses from a place on is filed under a word that is no longer its rarest."""
    while True:
        header = np.int64(term[clause])
        if header & 0xFFFF > 1:
            _, lowest, first = rarest(term, hits, references, per_reference, clause)
            if first >= NOTABLE and first >= TWICE * lowest:
                return True
        if header & MORE_CLAUSES == 0:
            return False
        clause += 1 + (header & 0xFFFF) + ((header >> EXCLUDED_SHIFT) & 0x7FFF)


@njit(nogil=True, cache=True)
def patrol(
    arrays: PyramidArrays,
    table: SubscriptionTable,
    references: npt.NDArray[np.int64],
    boxes: npt.NDArray[np.float64],
    stack: npt.NDArray[np.int64],
    budget: int,
) -> Integer:
    """Look at the next `budget` slots and refile what is filed under a common word.

    The slot that could not be filed again for want of room, or 0; it is to be filed before anything else happens.
    """
    kind, dead, term_start, term, hits = table.kind, table.dead, table.term_start, table.term, arrays.hits
    used, per_reference = table.state[USED], prior(table)
    slot = arrays.counter[CURSOR]
    for _ in range(min(budget, used)):
        slot = slot + 1 if slot < used else np.int64(1)
        if kind[slot] != WITHIN or dead[slot] != NEVER:
            continue
        if _misfiled(term, hits, references, per_reference, np.int64(term_start[slot])):
            arrays.counter[REFILED] += 1
            unfile_slot(arrays, table, boxes, stack, slot)
            if not file_slot(arrays, table, references, boxes, stack, slot):
                arrays.counter[CURSOR] = slot
                return slot
    arrays.counter[CURSOR] = slot
    return np.int64(0)
