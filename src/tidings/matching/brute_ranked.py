"""`brute` for `best` and `nearest`: the k kept messages of each subscription, found again from all live ones when one
of a full set dies.

Both kinds rank: `best` by score, higher first and the newer of two equals; `nearest` by distance, smaller first and
the older of two equals. To have one order, the rank of `nearest` is minus the distance, and a position is compared
with the sign of the kind.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.growing import grown
from tidings.columns.messages import MessageTable, Weighting
from tidings.columns.pool import empty_head, pool_give, pool_take, room_for, rounded
from tidings.columns.standing import Changes, Subscriptions
from tidings.columns.subscriptions import OF_KIND, SubscriptionTable
from tidings.columns.window import Timeline
from tidings.dtypes import Integer
from tidings.matching.base import NOTHING, Found, empty_found, longer_found
from tidings.matching.live import in_force, live_before, pass_event
from tidings.matching.scores import Measure, shares_word, similar, unit_words
from tidings.model.events import Configure
from tidings.model.limits import MAX_K
from tidings.space.metrics import box_distance


class Kept(NamedTuple):
    """The kept messages of every subscription, best first."""

    start: npt.NDArray[np.int64]
    """By slot of the subscription: where its piece of k begins."""
    size: npt.NDArray[np.int32]
    """By slot: how many it keeps now."""
    head: npt.NDArray[np.int64]
    message: npt.NDArray[np.int32]
    """Slots of the message table."""
    rank: npt.NDArray[np.float64]
    """Aligned with `message`: the score, or minus the distance."""


def empty_kept() -> Kept:
    """Of no subscriptions."""
    return Kept(
        np.zeros(64, np.int64), np.zeros(64, np.int32), empty_head(), np.zeros(256, np.int32), np.zeros(256, np.float64)
    )


@njit(nogil=True, cache=True)
def _rank(
    kind: int,
    measure: Measure,
    table: SubscriptionTable,
    subscription: Integer,
    words: tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]],
    window: MessageTable,
    message: Integer,
) -> float:
    """The rank of a message for a subscription; NaN when they share no word, or when it is too old for `nearest`."""
    if kind == b.NEAREST and window.position[message] <= table.born[subscription]:
        return np.nan
    shares, similarity = similar(words, window, message)
    if not shares:
        return np.nan
    start = np.int64(table.geometry_start[subscription])
    place = window.place[message]
    distance = box_distance(
        measure.globe, table.geometry[start], table.geometry[start + 1], place[0], place[1], place[2], place[3]
    )
    if kind == b.NEAREST:
        return -distance
    near = max(0.0, 1.0 - distance / measure.max_distance)
    alpha: float = table.geometry[start + 3]
    return alpha * near + (1.0 - alpha) * similarity


@njit(nogil=True, cache=True)
def _before(kind: int, window: MessageTable, rank: float, message: Integer, other_rank: float, other: Integer) -> bool:
    """Whether a message stands before another one."""
    if rank != other_rank:
        return rank > other_rank
    position: Integer = window.position[message]
    newer: bool = position > window.position[other]
    return newer if kind == b.BEST else not newer


@njit(nogil=True, cache=True)
def _keep(
    kind: int, kept: Kept, subscription: Integer, k: Integer, window: MessageTable, rank: float, message: Integer
) -> None:
    """Put a message where it belongs among the kept ones; the last of k leaves."""
    start, size = kept.start[subscription], np.int64(kept.size[subscription])
    if size == k:
        if not _before(kind, window, rank, message, kept.rank[start + k - 1], kept.message[start + k - 1]):
            return
        size -= 1
    at = start + size
    while at > start and _before(kind, window, rank, message, kept.rank[at - 1], kept.message[at - 1]):
        kept.rank[at], kept.message[at] = kept.rank[at - 1], kept.message[at - 1]
        at -= 1
    kept.rank[at], kept.message[at] = rank, message
    kept.size[subscription] = size + 1


@njit(nogil=True, cache=True)
def _find_again(
    kind: int,
    measure: Measure,
    kept: Kept,
    table: SubscriptionTable,
    subscription: Integer,
    hashes: npt.NDArray[np.uint64],
    words: tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]],
    k: Integer,
    window: MessageTable,
    live: npt.NDArray[np.bool_],
) -> None:
    """The k best of all live messages."""
    kept.size[subscription] = 0
    term, start = table.term, np.int64(table.term_start[subscription])
    word_hash, word_start, n_words = window.word_hash, window.word_start, window.n_words
    for message in range(1, len(live)):
        # Looked at here, since most messages end here and a call counts the references of all arrays of both tables.
        first = word_start[message]
        if live[message] and shares_word(term, start, hashes, word_hash, first, first + np.int64(n_words[message])):
            rank = _rank(kind, measure, table, subscription, words, window, message)
            if not np.isnan(rank):
                _keep(kind, kept, subscription, k, window, rank, message)


@njit(nogil=True, cache=True)
def _tell(
    kind: int, found: Found, n: Integer, event: Integer, subscription: Integer, message: Integer, sign: int, rank: float
) -> Integer:
    found.event[n], found.subscription[n], found.message[n], found.sign[n] = event, subscription, message, sign
    found.value[n] = -rank if kind == b.NEAREST else rank
    return n + 1


@njit(nogil=True, cache=True)
def _tell_difference(
    kind: int,
    kept: Kept,
    subscription: Integer,
    old_subscription: Integer,
    was: npt.NDArray[np.int32],
    was_rank: npt.NDArray[np.float64],
    mark: npt.NDArray[np.uint8],
    found: Found,
    n: Integer,
    event: Integer,
) -> Integer:
    """Say what left and what came between a set that was and the one that is kept now."""
    start, size = kept.start[subscription], np.int64(kept.size[subscription])
    for i in range(start, start + size):
        mark[kept.message[i]] = 1
    for i in range(len(was)):
        if mark[was[i]]:
            mark[was[i]] = 2
        else:
            n = _tell(kind, found, n, event, old_subscription, was[i], -1, was_rank[i])
    for i in range(start, start + size):
        if mark[kept.message[i]] == 1:
            n = _tell(kind, found, n, event, subscription, kept.message[i], 1, kept.rank[i])
        mark[kept.message[i]] = 0
    return n


@njit(nogil=True, cache=True)
def _k_of(table: SubscriptionTable, subscription: Integer) -> Integer:
    return np.int64(table.geometry[np.int64(table.geometry_start[subscription]) + 2])


@njit(nogil=True, cache=True)
def _forget(kept: Kept, subscription: Integer, k: Integer) -> None:
    pool_give(kept.head, kept.message, kept.start[subscription], k)
    kept.size[subscription] = 0


@njit(nogil=True, cache=True)
def _replay(
    kind: int,
    measure: Measure,
    block: Block,
    table: SubscriptionTable,
    hashes: npt.NDArray[np.uint64],
    changes: Changes,
    window: MessageTable,
    timeline: Timeline,
    weighting: Weighting,
    kept: Kept,
    live: npt.NDArray[np.bool_],
    mark: npt.NDArray[np.uint8],
    found: Found,
    n: Integer,
    first: int,
) -> tuple[int, Integer, Integer]:
    """Replay from event `first` on as long as there is room; the event to go on with, and the rows so far."""
    standing = in_force(kind, block, table, changes, first)
    for event in range(first, len(block.op)):
        deaths = timeline.died[timeline.death_start[event] : timeline.death_start[event + 1]]
        op = block.op[event]
        most = 4 * MAX_K
        for i in range(len(standing)):
            subscription = standing[i]
            most += 2 * (_k_of(table, subscription) if op == b.REWEIGH else min(len(deaths) + 1, MAX_K))
        if n + most > len(found.event):
            return event, n, n + most
        for message in deaths:
            mark[message] = 1
        pass_event(live, timeline, event)
        born = np.int64(timeline.born[event])
        if len(deaths) or born or op == b.REWEIGH:
            for i in range(len(standing)):
                subscription = standing[i]
                k, start, size = _k_of(table, subscription), kept.start[subscription], np.int64(kept.size[subscription])
                dead = False
                for j in range(start, start + size):
                    dead |= mark[kept.message[j]] == 1
                again = op == b.REWEIGH and kind == b.BEST
                if not dead and not again:
                    if not born:
                        continue
                    begin, end = window.word_start[born], window.word_start[born] + np.int64(window.n_words[born])
                    place = np.int64(table.term_start[subscription])
                    if not shares_word(table.term, place, hashes, window.word_hash, begin, end):
                        continue
                words = unit_words(table, hashes, weighting, subscription)
                if not dead and not again:
                    rank = _rank(kind, measure, table, subscription, words, window, born)
                    if np.isnan(rank):
                        continue
                    last = start + size - 1
                    if size == k:
                        if not _before(kind, window, rank, born, kept.rank[last], kept.message[last]):
                            continue
                        n = _tell(kind, found, n, event, subscription, kept.message[last], -1, kept.rank[last])
                    _keep(kind, kept, subscription, k, window, rank, born)
                    n = _tell(kind, found, n, event, subscription, born, 1, rank)
                    continue
                was = kept.message[start : start + size].copy()
                was_rank = kept.rank[start : start + size].copy()
                for message in deaths:
                    mark[message] = 0
                if size == k or again:
                    _find_again(kind, measure, kept, table, subscription, hashes, words, k, window, live)
                else:
                    # All that qualify were kept, so nobody waits outside.
                    kept.size[subscription] = 0
                    for j in range(len(was)):
                        if live[was[j]]:
                            _keep(kind, kept, subscription, k, window, was_rank[j], was[j])
                    if born:
                        rank = _rank(kind, measure, table, subscription, words, window, born)
                        if not np.isnan(rank):
                            _keep(kind, kept, subscription, k, window, rank, born)
                n = _tell_difference(kind, kept, subscription, subscription, was, was_rank, mark, found, n, event)
                for message in deaths:
                    mark[message] = 1
        for message in deaths:
            mark[message] = 0
        if op != b.REGISTER and op != b.REPLACE and op != b.REMOVE:
            continue
        begins, ends = np.int64(changes.began[event]), np.int64(changes.ended[event])
        begins = begins if table.kind[begins] == kind else np.int64(0)
        ends = ends if table.kind[ends] == kind else np.int64(0)
        if begins == 0 and ends == 0:
            continue
        start, size = kept.start[ends], np.int64(kept.size[ends]) if ends else np.int64(0)
        was, was_rank = kept.message[start : start + size].copy(), kept.rank[start : start + size].copy()
        if ends:
            _forget(kept, ends, _k_of(table, ends))
        if begins:
            kept.start[begins] = pool_take(kept.head, kept.message, _k_of(table, begins))
            kept.size[begins] = 0
            if kind == b.BEST:
                words = unit_words(table, hashes, weighting, begins)
                _find_again(kind, measure, kept, table, begins, hashes, words, _k_of(table, begins), window, live)
        if op != b.REMOVE:
            n = _tell_difference(kind, kept, begins, ends, was, was_rank, mark, found, n, event)
        standing = in_force(kind, block, table, changes, event + 1)
    return len(block.op), n, n


@njit(nogil=True, cache=True)
def _room_of(kind: int, table: SubscriptionTable, began: npt.NDArray[np.int32]) -> Integer:
    """The elements that the sets of the versions that begin can take."""
    room = 0
    for slot in began:
        if slot and table.kind[slot] == kind:
            room += rounded(_k_of(table, slot))
    return room


class _BruteRanked:
    """Keeps k messages for each subscription of its kind."""

    kind: ClassVar[int]

    def __init__(self, configuration: Configure) -> None:
        self._measure = Measure.of(configuration)
        self._kept = empty_kept()

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
        table = subscriptions.table
        if not table.state[OF_KIND + self.kind]:
            return NOTHING
        kept = self._kept
        room = _room_of(self.kind, table, changes.began)
        self._kept = kept = kept._replace(
            start=grown(kept.start, len(table.kind)),
            size=grown(kept.size, len(table.kind)),
            message=room_for(kept.head, kept.message, room),
            rank=room_for(kept.head, kept.rank, room),
        )
        live = live_before(window, timeline)
        mark = np.zeros(len(live), np.uint8)
        found, n, event = empty_found(1024), 0, 0
        hashes = subscriptions.vocabulary.arrays().hash
        while True:
            event, n, needed = _replay(
                self.kind, self._measure, block, table, hashes, changes, window, timeline, weighting, kept, live, mark,
                found, n, event,
            )  # fmt: skip
            if event == len(block.op):
                return Found._make(column[:n] for column in found)
            found = longer_found(found, needed)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The kept messages."""
        return dict(self._kept._asdict())

    @classmethod
    def from_arrays(cls, configuration: Configure, arrays: dict[str, npt.NDArray[Any]]) -> "_BruteRanked":
        """The matcher of these arrays, which it goes on changing."""
        matcher = cls(configuration)
        matcher._kept = Kept(**arrays)
        return matcher


class BruteBest(_BruteRanked):
    """`best`, by score."""

    kind = b.BEST


class BruteNearest(_BruteRanked):
    """`nearest`, by distance."""

    kind = b.NEAREST
