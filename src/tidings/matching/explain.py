"""Why a message is or is not in the result set of a subscription, read from the arrays that the matchers run on.

The clauses come from the table, in the order and with the filing word that the index gave them; places are decided by
the kernels that decide matches; the ranks of `best` and `nearest` are found anew from all live messages, so that they
hold for every method.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from numba import njit

from tidings.columns import block as b
from tidings.columns.messages import AGE, ALIVE, LIMIT, PUBLISHED, USED, MessageTable, Weighting
from tidings.columns.subscriptions import SubscriptionTable
from tidings.dtypes import Integer
from tidings.matching.filing import Cell, cells_of
from tidings.matching.reach import Reach, reach_of
from tidings.matching.scores import Measure, similar, unit_words
from tidings.matching.shard import Shard
from tidings.model.events import Publish
from tidings.space.metrics import box_distance
from tidings.words.analyser import Analyser

KIND_NAMES: Final = {b.WITHIN: "within", b.AROUND: "around", b.BEST: "best", b.NEAREST: "nearest"}


class Published(NamedTuple):
    """A message as the log has it."""

    event: Publish
    position: int
    number: int
    """How many were published before it."""
    time: int
    """When it was published: its `ts`, or the time then."""
    retracted: int | None = None
    """The position of the first `retract` of its id since."""


class ClauseVerdict(Struct, frozen=True):
    """One clause of an expression and what the message says to it."""

    words: tuple[str, ...]
    """All of these are asked for; the first is the one that an index files it under."""
    excluded: tuple[str, ...]
    """None of these may be there."""
    missing: tuple[str, ...]
    """Asked for, but not in the message."""
    present: tuple[str, ...]
    """Excluded, but in the message."""
    cells: tuple[Cell, ...] = ()
    """Where the index keeps it."""

    @property
    def holds(self) -> bool:
        """Whether the message satisfies it."""
        return not self.missing and not self.present


class Ranking(Struct, frozen=True):
    """Where a message stands among all that qualify for a `best` or `nearest`."""

    shared: tuple[str, ...]
    """Words that it shares with the subscription; without one it does not qualify."""
    k: int
    candidates: int
    """Live messages that qualify."""
    place: int | None = None
    """From 1, best first; None when it does not qualify."""
    distance: float | None = None
    score: float | None = None
    """Only of `best`."""
    near: float | None = None
    similar: float | None = None
    last_kept: float | None = None
    """The score or distance of the last one in the set, when the set is full."""


class Explanation(Struct, frozen=True):
    """What holds between one subscription and one message after one position of the log."""

    subscription: str
    message: str
    kind: str
    position: int
    """After the event here."""
    published: int
    """The position of the message."""
    in_set: bool
    """For `within`: whether it matched at its publication."""
    registered: int
    """Where the version of the subscription that is in force was registered."""
    words: tuple[str, ...]
    """The words of the message."""
    gone: str = ""
    """Why the message is no longer live; empty while it is. `within` does not ask."""
    too_early: bool = False
    """Published before the subscription was registered, which `within` and `nearest` do not look at."""
    clauses: tuple[ClauseVerdict, ...] = ()
    """Of `within` and `around`: one has to hold; none stands for an expression that cannot be satisfied."""
    any_words: bool = False
    """Of `within` and `around`: there is no expression."""
    reach: Reach | None = None
    """Of `within` and `around`: the region and the message's place."""
    ranking: Ranking | None = None
    """Of `best` and `nearest`."""


def explain(shard: Shard, subscription: str, message: Published, position: int) -> Explanation | None:
    """Explain the state of a shard after a position; None when no subscription with this id is in force."""
    slot = shard.subscriptions.find(subscription)
    if not slot:
        return None
    table = shard.subscriptions.table
    kind, born = int(table.kind[slot]), int(table.born[slot])
    words = _words_of(shard, message.event)
    gone = _why_gone(shard, message)
    too_early = message.position < born and kind in (b.WITHIN, b.NEAREST)
    clauses: tuple[ClauseVerdict, ...] = ()
    reach: Reach | None = None
    ranking: Ranking | None = None
    any_words = False
    if kind in (b.WITHIN, b.AROUND):
        any_words, clauses = _clauses(shard, slot, words)
        reach = reach_of(shard, slot, message.event)
        satisfied = any_words or any(clause.holds for clause in clauses)
        in_set = satisfied and reach.meets and not too_early and not (gone and kind == b.AROUND)
    else:
        ranking = _ranking(shard, slot, kind, words, 0 if gone else shard.window.find(message.event.id))
        in_set = ranking.place is not None and ranking.place <= ranking.k
    return Explanation(
        subscription,
        message.event.id,
        KIND_NAMES[kind],
        position,
        message.position,
        in_set,
        born,
        tuple(sorted(words)),
        gone,
        too_early,
        clauses,
        any_words,
        reach,
        ranking,
    )


def _words_of(shard: Shard, event: Publish) -> set[str]:
    if event.text is not None:
        return set(Analyser(shard.configuration.analyser).words(event.text))
    return set(event.words or ())


def _why_gone(shard: Shard, message: Published) -> str:
    """Why a message is not live; the live window is asked first."""
    window = shard.window.table
    slot = shard.window.find(message.event.id)
    if slot and int(window.position[slot]) == message.position:
        return ""
    if message.retracted is not None:
        return f"retracted at position {message.retracted}"
    now, expires = shard.window.now, message.event.expires
    if expires is not None and expires <= now:
        return f"expired: `expires` is {expires}, and the time is {now}"
    age, limit = int(window.state[AGE]), int(window.state[LIMIT])
    if age != b.NEVER and message.time + age <= now:
        return f"too old: {now - message.time} ms, and the window is {age} ms"
    return f"pushed out: {int(window.state[PUBLISHED]) - message.number - 1} later messages, and the window is {limit}"


def _clauses(shard: Shard, slot: int, words: set[str]) -> tuple[bool, tuple[ClauseVerdict, ...]]:
    """Whether any words do, and else every clause with what the message says to it."""
    table, vocabulary = shard.subscriptions.table, shard.subscriptions.vocabulary
    verdicts: list[ClauseVerdict] = []
    place = int(table.term_start[slot])
    while True:
        header = int(table.term[place])
        n_words, n_excluded = header & 0xFFFF, (header >> b.EXCLUDED_SHIFT) & 0x7FFF
        ids = [int(word) for word in table.term[place + 1 : place + 1 + n_words + n_excluded]]
        if not ids:
            return True, ()
        names = [vocabulary.word(word) for word in ids]
        asked, excluded = tuple(names[:n_words]), tuple(names[n_words:])
        if any(names):
            missing = tuple(word for word in asked if word not in words)
            present = tuple(word for word in excluded if word in words)
            cells = cells_of(shard, slot, ids[0]) if table.kind[slot] == b.WITHIN else ()
            verdicts.append(ClauseVerdict(asked, excluded, missing, present, cells))
        if not header & b.MORE_CLAUSES:
            return False, tuple(verdicts)
        place += 1 + n_words + n_excluded


@njit(nogil=True, cache=True)
def _measures(
    globe: bool,
    table: SubscriptionTable,
    hashes: npt.NDArray[np.uint64],
    weighting: Weighting,
    subscription: Integer,
    window: MessageTable,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """By slot of the window: how similar, and how far; NaN where a message does not qualify by its words."""
    words = unit_words(table, hashes, weighting, subscription)
    start = np.int64(table.geometry_start[subscription])
    lon, lat = table.geometry[start], table.geometry[start + 1]
    likeness, distance = np.full(window.state[USED] + 1, np.nan), np.full(window.state[USED] + 1, np.nan)
    for slot in range(1, len(likeness)):
        if window.status[slot] != ALIVE:
            continue
        shares, total = similar(words, window, slot)
        if shares:
            likeness[slot] = total
            place = window.place[slot]
            distance[slot] = box_distance(globe, lon, lat, place[0], place[1], place[2], place[3])
    return likeness, distance


def _ranking(shard: Shard, slot: int, kind: int, words: set[str], message: int) -> Ranking:
    """The ranking of a live message, or with slot 0 of one that is not."""
    table, window = shard.subscriptions.table, shard.window.table
    vocabulary = shard.subscriptions.vocabulary
    measure = Measure.of(shard.configuration)
    likeness, distance = _measures(
        measure.globe, table, vocabulary.arrays().hash, shard.weighting, np.int64(slot), window
    )
    if kind == b.NEAREST:
        likeness[window.position[: len(likeness)] <= table.born[slot]] = np.nan
    found = np.flatnonzero(~np.isnan(likeness))
    start, term = int(table.geometry_start[slot]), int(table.term_start[slot])
    k, ids = int(table.geometry[start + 2]), table.term[term + 1 : term + 1 + 2 * int(table.term[term]) : 2]
    shared = tuple(word for word in map(vocabulary.word, ids.tolist()) if word in words)
    value: npt.NDArray[np.float64] = distance
    near = np.maximum(0.0, 1.0 - distance / measure.max_distance)
    if kind == b.BEST:
        alpha = float(table.geometry[start + 3])
        value = alpha * near + (1.0 - alpha) * likeness
        order = found[np.lexsort((-window.position[found], -value[found]))]
    else:
        order = found[np.lexsort((window.position[found], value[found]))]
    last = float(value[order[k - 1]]) if len(order) >= k else None
    if not message or np.isnan(likeness[message]):
        return Ranking(shared, k, len(found), last_kept=last)
    best = kind == b.BEST
    return Ranking(
        shared,
        k,
        len(found),
        place=1 + int(np.flatnonzero(order == message)[0]),
        distance=float(distance[message]),
        score=float(value[message]) if best else None,
        near=float(near[message]) if best else None,
        similar=float(likeness[message]) if best else None,
        last_kept=last,
    )
