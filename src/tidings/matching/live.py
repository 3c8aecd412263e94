"""Who is live at one event of a block, while a matcher replays it."""

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.block import MOVE, Block
from tidings.columns.messages import USED, MessageTable
from tidings.columns.standing import Changes
from tidings.columns.subscriptions import SubscriptionTable
from tidings.columns.window import Timeline
from tidings.dtypes import Integer
from tidings.index.clauses import add_word
from tidings.words.vocabulary import VocabularyArrays, find_word


@njit(nogil=True, cache=True)
def live_before(window: MessageTable, timeline: Timeline) -> npt.NDArray[np.bool_]:
    """By slot: whether the message was live before the block."""
    live = np.zeros(window.state[USED] + 1, np.bool_)
    for slot in range(1, len(live)):
        live[slot] = window.status[slot] != 0
    for slot in timeline.born:
        live[slot] = False
    return live


@njit(nogil=True, cache=True)
def pass_event(live: npt.NDArray[np.bool_], timeline: Timeline, event: Integer) -> None:
    """Let the messages of one event come and go."""
    for i in range(timeline.death_start[event], timeline.death_start[event + 1]):
        live[timeline.died[i]] = False
    if timeline.born[event]:
        live[timeline.born[event]] = True


@njit(nogil=True, cache=True)
def in_force(
    kind: Integer, block: Block, table: SubscriptionTable, changes: Changes, events: Integer
) -> npt.NDArray[np.int64]:
    """The versions of a kind that are in force after so many events of the block."""
    mark = table.kind == kind
    for event in range(events, len(block.op)):
        mark[changes.began[event]] = False
    for event in range(events):
        if block.op[event] != MOVE:
            mark[changes.ended[event]] = False
    return np.flatnonzero(mark)


@njit(nogil=True, cache=True)
def add_words(words: npt.NDArray[np.uint64], vocabulary: VocabularyArrays, window: MessageTable, slot: Integer) -> None:
    """Put the words of a message into a set of word ids."""
    start = window.word_start[slot]
    for i in range(start, start + np.int64(window.n_words[slot])):
        add_word(words, np.int64(find_word(vocabulary.slot_hash, vocabulary.slot_id, window.word_hash[i])))
