"""`brute` for `around`: no state but where each subscription stands, which is its geometry in the table.

A message is in a subscription's set exactly when it is live, its words satisfy the clauses and its place meets the
shape where the subscription stands. So what a birth, a death or a move changes is decided by evaluating this before
and after.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.messages import MessageTable, Weighting
from tidings.columns.standing import Changes, Subscriptions
from tidings.columns.subscriptions import OF_KIND, SubscriptionTable
from tidings.columns.window import Timeline
from tidings.dtypes import Integer
from tidings.index.clauses import satisfies, word_set
from tidings.matching.base import NOTHING, Found, empty_found, longer_found
from tidings.matching.live import add_words, in_force, live_before, pass_event
from tidings.model.events import Configure
from tidings.space.around import around_meets
from tidings.space.extent import is_globe
from tidings.space.shapes import DISC
from tidings.words.vocabulary import VocabularyArrays


@njit(nogil=True, cache=True)
def _meets(
    globe: bool, table: SubscriptionTable, subscription: Integer, window: MessageTable, message: Integer
) -> bool:
    start = np.int64(table.geometry_start[subscription])
    return around_meets(
        globe,
        table.shape[subscription] == DISC,
        table.geometry[start],
        table.geometry[start + 1],
        table.geometry[start + 2],
        table.geometry[start + 3],
        window.place[message, 0],
        window.place[message, 1],
        window.place[message, 2],
        window.place[message, 3],
    )


@njit(nogil=True, cache=True)
def _emit(found: Found, n: Integer, event: Integer, subscription: Integer, message: Integer, sign: Integer) -> Integer:
    found.event[n], found.subscription[n], found.message[n] = event, subscription, message
    found.sign[n], found.value[n] = sign, np.nan
    return n + 1


@njit(nogil=True, cache=True)
def _announce(
    globe: bool,
    table: SubscriptionTable,
    vocabulary: VocabularyArrays,
    standing: npt.NDArray[np.int64],
    window: MessageTable,
    message: Integer,
    words: npt.NDArray[np.uint64],
    found: Found,
    n: Integer,
    event: Integer,
    sign: Integer,
) -> Integer:
    """Tell every subscription that has or gets a message that it comes or goes."""
    add_words(words, vocabulary, window, message)
    for i in range(len(standing)):
        subscription = standing[i]
        if satisfies(table.term, np.int64(table.term_start[subscription]), words) and _meets(
            globe, table, subscription, window, message
        ):
            n = _emit(found, n, event, subscription, message, sign)
    words[:] = 0
    return n


@njit(nogil=True, cache=True)
def _replay(
    globe: bool,
    block: Block,
    table: SubscriptionTable,
    vocabulary: VocabularyArrays,
    changes: Changes,
    window: MessageTable,
    timeline: Timeline,
    live: npt.NDArray[np.bool_],
    words: npt.NDArray[np.uint64],
    found: Found,
    n: Integer,
    first: int,
) -> tuple[int, Integer]:
    """Replay from event `first` on as long as there is room; the event to go on with, and the rows so far."""
    standing = in_force(b.AROUND, block, table, changes, first)
    for event in range(first, len(block.op)):
        deaths = timeline.death_start[event + 1] - timeline.death_start[event]
        if n + (len(standing) + 1) * (deaths + 1) + 2 * len(live) > len(found.event):
            return event, n
        for i in range(timeline.death_start[event], timeline.death_start[event + 1]):
            n = _announce(globe, table, vocabulary, standing, window, timeline.died[i], words, found, n, event, -1)
        pass_event(live, timeline, event)
        if timeline.born[event]:
            n = _announce(globe, table, vocabulary, standing, window, timeline.born[event], words, found, n, event, 1)
        op = block.op[event]
        if op == b.MOVE:
            subscription = changes.ended[event]
            start = np.int64(table.geometry_start[subscription])
            was = np.zeros(len(live), np.bool_)
            for message in range(len(live)):
                was[message] = live[message] and _meets(globe, table, subscription, window, message)
            table.geometry[start : start + 2] = block.moved_to[block.row[event]]
            for message in range(len(live)):
                if not live[message] or was[message] == _meets(globe, table, subscription, window, message):
                    continue
                add_words(words, vocabulary, window, message)
                if satisfies(table.term, np.int64(table.term_start[subscription]), words):
                    n = _emit(found, n, event, subscription, message, -1 if was[message] else 1)
                words[:] = 0
        elif op == b.REGISTER or op == b.REPLACE or op == b.REMOVE:
            begins, ends = np.int64(changes.began[event]), np.int64(changes.ended[event])
            begins = begins if table.kind[begins] == b.AROUND else np.int64(0)
            ends = ends if table.kind[ends] == b.AROUND else np.int64(0)
            if begins == 0 and ends == 0:
                continue
            if op != b.REMOVE:
                for message in range(len(live)):
                    if not live[message]:
                        continue
                    add_words(words, vocabulary, window, message)
                    before = (
                        ends != 0
                        and satisfies(table.term, np.int64(table.term_start[ends]), words)
                        and _meets(globe, table, ends, window, message)
                    )
                    after = (
                        begins != 0
                        and satisfies(table.term, np.int64(table.term_start[begins]), words)
                        and _meets(globe, table, begins, window, message)
                    )
                    words[:] = 0
                    if after != before:
                        n = _emit(found, n, event, begins if after else ends, message, 1 if after else -1)
            standing = in_force(b.AROUND, block, table, changes, event + 1)
    return len(block.op), n


class BruteAround:
    """Evaluates every `around` at every event that could change it."""

    def __init__(self, configuration: Configure) -> None:
        self._globe = is_globe(configuration.space)

    def step(
        self,
        block: Block,
        subscriptions: Subscriptions,
        changes: Changes,
        window: MessageTable,
        timeline: Timeline,
        weighting: Weighting,
    ) -> Found:
        """Replay a block."""
        table, vocabulary = subscriptions.table, subscriptions.vocabulary.arrays()
        if not table.state[OF_KIND + b.AROUND]:
            return NOTHING
        words = word_set(len(vocabulary.references))
        live = live_before(window, timeline)
        found, n, event = empty_found(1024), 0, 0
        while True:
            event, n = _replay(
                self._globe, block, table, vocabulary, changes, window, timeline, live, words, found, n, event
            )
            if event == len(block.op):
                return Found._make(column[:n] for column in found)
            deaths = int(timeline.death_start[event + 1] - timeline.death_start[event])
            found = longer_found(found, n + (len(table.kind) + 1) * (deaths + 1) + 2 * len(live))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing of its own."""
        return {}

    @classmethod
    def from_arrays(cls, configuration: Configure, arrays: dict[str, npt.NDArray[Any]]) -> "BruteAround":
        """A matcher."""
        return cls(configuration)
