"""`brute`: every subscription against every message. The reference that every other index is compared with."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.growing import grown
from tidings.columns.standing import Subscriptions
from tidings.columns.subscriptions import SubscriptionTable
from tidings.index.base import Messages, Pairs
from tidings.index.clauses import add_word, satisfies, word_set
from tidings.model.events import Space
from tidings.space.extent import is_globe
from tidings.space.geometry import region_meets


@njit(nogil=True, cache=True)
def _match(
    table: SubscriptionTable,
    indexed: npt.NDArray[np.bool_],
    globe: bool,
    messages: Messages,
    words: npt.NDArray[np.uint64],
    start: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int32],
) -> int:
    """Write down the matches as far as there is room, and count them all."""
    found = 0
    for message in range(len(messages.position)):
        position, place = messages.position[message], messages.place[message]
        for i in range(messages.word_start[message], messages.word_start[message + 1]):
            add_word(words, np.int64(messages.word[i]))
        for slot in range(len(indexed)):
            if (
                indexed[slot]
                and table.born[slot] < position < table.dead[slot]
                and satisfies(table.term, np.int64(table.term_start[slot]), words)
                and region_meets(
                    globe,
                    table.shape[slot],
                    table.geometry,
                    np.int64(table.geometry_start[slot]),
                    place[0],
                    place[1],
                    place[2],
                    place[3],
                )
            ):
                if found < len(slots):
                    slots[found] = slot
                found += 1
        for i in range(messages.word_start[message], messages.word_start[message + 1]):
            words[np.int64(messages.word[i]) >> 6] = np.uint64(0)
        start[message + 1] = found
    return found


class Brute:
    """Knows which slots it is to look at, and looks at all of them."""

    def __init__(self, space: Space) -> None:
        self._globe = is_globe(space)
        self._indexed = np.zeros(64, np.bool_)

    def insert(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """Look at these slots, too."""
        self._indexed = grown(self._indexed, len(subscriptions.table.kind))
        self._indexed[slots] = True

    def delete(self, subscriptions: Subscriptions, slots: npt.NDArray[np.int32]) -> None:
        """Look at these slots no more."""
        self._indexed[slots] = False

    def match(self, subscriptions: Subscriptions, messages: Messages, versions: bool) -> Pairs:
        """The subscriptions that each message matches."""
        start = np.zeros(len(messages.position) + 1, np.int64)
        words = word_set(len(subscriptions.vocabulary.arrays().references))
        room = 16 * len(messages.position)
        while True:
            slots = np.empty(room, np.int32)
            found = _match(subscriptions.table, self._indexed, self._globe, messages, words, start, slots)
            if found <= room:
                return Pairs(start, slots[:found])
            room = found

    def observe(self, subscriptions: Subscriptions, messages: Messages) -> None:
        """There is nothing to learn."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Which slots are looked at."""
        return {"indexed": self._indexed}

    @classmethod
    def from_arrays(cls, space: Space, arrays: dict[str, npt.NDArray[Any]]) -> "Brute":
        """The index of these arrays."""
        brute = cls(space)
        brute._indexed = arrays["indexed"]
        return brute

    def stats(self) -> dict[str, float]:
        """How many slots are looked at."""
        return {"subscriptions": int(self._indexed.sum()), "bytes": self._indexed.nbytes}
