"""The pyramid as an index: makes room, calls the kernels."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.growing import grown
from tidings.columns.standing import Subscriptions
from tidings.columns.subscriptions import SubscriptionTable
from tidings.index.base import Messages, Pairs
from tidings.index.clauses import word_set
from tidings.index.pyramid import arrays as a
from tidings.index.pyramid.filing import file_slot, has_node_room, unfile_slot
from tidings.index.pyramid.searching import search
from tidings.index.pyramid.tuning import count_words, fade, patrol
from tidings.model.events import Space
from tidings.space.extent import extent_of, is_globe
from tidings.space.geometry import INDEX_BOXES

MESSAGES_PER_PATROLLED: Final = 2
"""A million subscriptions are patrolled once in two million messages, at a twentieth of the time of matching them."""


@njit(nogil=True, cache=True)
def _insert(
    arrays: a.PyramidArrays,
    table: SubscriptionTable,
    references: npt.NDArray[np.int64],
    boxes: npt.NDArray[np.float64],
    stack: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
    first: int,
) -> int:
    """File slots from number `first` on; the number of the first one for which there was no room."""
    for i in range(first, len(slots)):
        if not file_slot(arrays, table, references, boxes, stack, np.int64(slots[i])):
            return i
    return len(slots)


@njit(nogil=True, cache=True)
def _delete(
    arrays: a.PyramidArrays,
    table: SubscriptionTable,
    boxes: npt.NDArray[np.float64],
    stack: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
) -> None:
    for slot in slots:
        unfile_slot(arrays, table, boxes, stack, np.int64(slot))


class Pyramid:
    """A quadtree for each word, in which a subscription is filed under the rarest word of each of its clauses."""

    def __init__(self, space: Space) -> None:
        self._arrays = a.empty_pyramid(extent_of(space), is_globe(space))
        self._boxes = np.empty((INDEX_BOXES, 4), np.float64)
        self._stack = np.empty((1024, 4), np.int64)
        self._low_set = word_set(1 << 16)
        self._words = word_set(0)

    def insert(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """File these subscriptions."""
        self._know_words(subscriptions)
        references = subscriptions.vocabulary.arrays().references
        done = 0
        while True:
            done = _insert(self._arrays, subscriptions.table, references, self._boxes, self._stack, slots, done)
            if done == len(slots):
                return
            self._grow()

    def delete(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """Take these subscriptions out."""
        _delete(self._arrays, subscriptions.table, self._boxes, self._stack, slots)

    def match(self, subscriptions: Subscriptions, messages: Messages, versions: bool) -> Pairs:
        """The subscriptions that each message matches; then a little tuning."""
        self._know_words(subscriptions)
        start, slot = search(self._arrays, subscriptions.table, messages, versions, self._low_set, self._words)
        self._tune(subscriptions, len(messages.position))
        return Pairs(start, slot)

    def observe(self, subscriptions: Subscriptions, messages: Messages) -> None:
        """Count the words of the messages; then the tuning that comes after a match."""
        self._know_words(subscriptions)
        count_words(self._arrays.counter, self._arrays.hits, messages.word, len(messages.position))
        self._tune(subscriptions, len(messages.position))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All state, by name."""
        return dict(self._arrays._asdict())

    @classmethod
    def from_arrays(cls, space: Space, arrays: dict[str, npt.NDArray[Any]]) -> "Pyramid":
        """The pyramid of these arrays, which it goes on changing."""
        pyramid = cls(space)
        pyramid._arrays = a.PyramidArrays(**arrays)
        return pyramid

    def stats(self) -> dict[str, float]:
        """Sizes, and counts of the work done so far."""
        counter = self._arrays.counter
        return {
            "bytes": sum(array.nbytes for array in self._arrays),
            "entries": int(counter[a.ENTRIES]),
            "nodes": int(self._arrays.node_head[-1]) // a.NODE_SIZE,
            "words": int(np.count_nonzero(self._arrays.root)),
            "nodes_visited": int(counter[a.PROBED]),
            "entries_scanned": int(counter[a.SCANNED]),
            "verified": int(counter[a.VERIFIED]),
            "matched": int(counter[a.MATCHED]),
            "refiled": int(counter[a.REFILED]),
        }

    def _tune(self, subscriptions: Subscriptions, n_messages: int) -> None:
        fade(self._arrays)
        counter = self._arrays.counter
        budget, counter[a.OWED] = divmod(int(counter[a.OWED]) + n_messages, MESSAGES_PER_PATROLLED)
        if not budget:
            return
        references = subscriptions.vocabulary.arrays().references
        homeless = patrol(self._arrays, subscriptions.table, references, self._boxes, self._stack, budget)
        if homeless:
            self._grow()
            self.insert(subscriptions, np.array([homeless], np.int32))

    def _know_words(self, subscriptions: Subscriptions) -> None:
        """Room for every word id of the vocabulary."""
        n = len(subscriptions.vocabulary.arrays().references)
        if n > len(self._arrays.root):
            self._arrays = self._arrays._replace(root=grown(self._arrays.root, n), hits=grown(self._arrays.hits, n))
        if len(self._words) < len(self._arrays.root) // 64 + 1:
            self._words = word_set(len(self._arrays.root))

    def _grow(self) -> None:
        """More room for what is short of it: nodes are few beside entries."""
        arrays = self._arrays
        if not has_node_room(arrays):
            self._arrays = arrays._replace(node=grown(arrays.node, len(arrays.node) + 1))
        else:
            self._arrays = arrays._replace(entry=grown(arrays.entry, len(arrays.entry) + 1))
