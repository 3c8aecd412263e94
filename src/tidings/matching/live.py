"""Who is live at one event of a block, while a matcher replays it."""

import numpy as np
from numba import njit

from tidings.columns.block import MOVE
from tidings.columns.messages import USED
from tidings.index.clauses import add_word
from tidings.words.vocabulary import find_word


@njit(nogil=True, cache=True)
def live_before(window, timeline):  # type: ignore[no-untyped-def]
    """By slot: whether the message was live before the block."""
    live = np.zeros(window.state[USED] + 1, np.bool_)
    for slot in range(1, len(live)):
        live[slot] = window.status[slot] != 0
    for slot in timeline.born:
        live[slot] = False
    return live


@njit(nogil=True, cache=True)
def pass_event(live, timeline, event):  # type: ignore[no-untyped-def]
    """Let the messages of one event come and go."""
    for i in range(timeline.death_start[event], timeline.death_start[event + 1]):
        live[timeline.died[i]] = False
    if timeline.born[event]:
        live[timeline.born[event]] = True


@njit(nogil=True, cache=True)
def in_force(kind, block, table, changes, events):  # type: ignore[no-untyped-def]
    """The versions of a kind that are in force after so many events of the block."""
    mark = table.kind == kind
    for event in range(events, len(block.op)):
        mark[changes.began[event]] = False
    for event in range(events):
        if block.op[event] != MOVE:
            mark[changes.ended[event]] = False
    return np.flatnonzero(mark)


@njit(nogil=True, cache=True)
def add_words(words, vocabulary, window, slot):  # type: ignore[no-untyped-def]
    """Put the words of a message into a set of word ids."""
    start = window.word_start[slot]
    for i in range(start, start + np.int64(window.n_words[slot])):
        add_word(words, np.int64(find_word(vocabulary.slot_hash, vocabulary.slot_id, window.word_hash[i])))
