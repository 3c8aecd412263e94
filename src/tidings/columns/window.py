"""The live window: when each message comes to life and when it dies.

A message dies when it is retracted, when *now* reaches its `expires` or its age the window's, or when as many later
messages as the window holds have been published. The window replays a block in order of position before any matcher
does and answers with a `Timeline`: which message was born and which died at each event. The slots of the dead stay
readable until the block is over, so a matcher that replays the block can look at every message that was live in it.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block, MessageColumns
from tidings.columns.growing import grown, power_of_two
from tidings.columns.messages import (
    AGE,
    ALIVE,
    COUNT,
    DEAD,
    DUE,
    FREE_SLOT,
    LIMIT,
    NOW,
    PUBLISHED,
    USED,
    MessageTable,
    Weighting,
    enter,
    find_live,
    leave,
    reindex,
    weigh,
    weigh_anew,
)
from tidings.columns.pool import pool_give, pool_take, room_for, rounded_total
from tidings.dtypes import Integer

BY_SLOT: Final = ("status", "position", "number", "death", "place", "word_start", "n_words", "id_start", "id_length")


class Timeline(NamedTuple):
    """Who came and who went at each event of a block."""

    born: npt.NDArray[np.int32]
    """By event: the slot of the message that came to life, or 0."""
    death_start: npt.NDArray[np.int64]
    """n + 1 offsets into `died`."""
    died: npt.NDArray[np.int32]
    """Slots that died, by event."""


@njit(nogil=True, cache=True)
def _push(window: MessageTable, time: Integer, number: Integer, slot: Integer) -> None:
    """Note when a message dies."""
    place = window.state[DUE]
    window.state[DUE] += 1
    while place > 0 and window.due[(place - 1) >> 1, 0] > time:
        window.due[place] = window.due[(place - 1) >> 1]
        place = (place - 1) >> 1
    window.due[place, 0], window.due[place, 1], window.due[place, 2] = time, number, slot


@njit(nogil=True, cache=True)
def _pop(window: MessageTable) -> None:
    """Forget the earliest death."""
    window.state[DUE] -= 1
    n = window.state[DUE]
    time, number, slot = window.due[n, 0], window.due[n, 1], window.due[n, 2]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        if child + 1 < n and window.due[child + 1, 0] < window.due[child, 0]:
            child += 1
        if window.due[child, 0] >= time:
            break
        window.due[place] = window.due[child]
        place = child
    window.due[place, 0], window.due[place, 1], window.due[place, 2] = time, number, slot


@njit(nogil=True, cache=True)
def _tidy(window: MessageTable) -> None:
    """Drop the deaths of messages that died otherwise, so that the heap is no larger than the window."""
    n = window.state[DUE]
    window.state[DUE] = 0
    for i in range(n):
        time, number, slot = window.due[i, 0], window.due[i, 1], window.due[i, 2]
        if window.number[slot] == number and window.status[slot] == ALIVE:
            _push(window, time, number, slot)


@njit(nogil=True, cache=True)
def _bear(
    window: MessageTable,
    weighting: Weighting,
    messages: MessageColumns,
    row: Integer,
    position: Integer,
    number: Integer,
    death: Integer,
) -> Integer:
    """A message comes to life; the arrays have room for it."""
    slot = window.state[FREE_SLOT]
    if slot != 0:
        window.state[FREE_SLOT] = window.position[slot]
    else:
        window.state[USED] += 1
        slot = window.state[USED]
    window.state[COUNT] += 1
    window.status[slot] = ALIVE
    window.position[slot], window.number[slot], window.death[slot] = position, number, death
    window.place[slot] = messages.place[row]

    first, last = messages.word_start[row], messages.word_start[row + 1]
    start = pool_take(window.word_head, window.word_hash, last - first)
    window.word_start[slot], window.n_words[slot] = start, last - first
    window.word_hash[start : start + last - first] = messages.word_hash[first:last]
    window.word_count[start : start + last - first] = messages.word_count[first:last]
    weigh(window, weighting, slot)

    first, last = messages.id.offset[row], messages.id.offset[row + 1]
    start = pool_take(window.id_head, window.id_data, (last - first + 7) >> 3)
    window.id_start[slot], window.id_length[slot] = start, last - first
    window.id_data.view(np.uint8)[8 * start : 8 * start + last - first] = messages.id.data[first:last]
    enter(window, slot)
    if window.state[LIMIT] != b.NEVER:
        window.ring[number & (len(window.ring) - 1)] = slot
    if death != b.NEVER:
        _push(window, death, number, slot)
    return slot


@njit(nogil=True, cache=True)
def _replay(
    window: MessageTable,
    weighting: Weighting,
    block: Block,
    born: npt.NDArray[np.int32],
    death_start: npt.NDArray[np.int64],
    died: npt.NDArray[np.int32],
) -> int:
    """All comings and goings of a block, in order; how many died."""
    n_died = 0
    for event in range(len(block.op)):
        if block.time[event] > window.state[NOW]:
            window.state[NOW] = block.time[event]
            while window.state[DUE] > 0 and window.due[0, 0] <= window.state[NOW]:
                number, slot = window.due[0, 1], window.due[0, 2]
                _pop(window)
                if window.number[slot] == number and window.status[slot] == ALIVE:
                    died[n_died] = slot
                    n_died += 1
                    leave(window, slot)
                    window.status[slot] = DEAD
        op = block.op[event]
        slot = np.int64(0)
        if op == b.RETRACT:
            row = block.row[event]
            slot = find_live(window, block.names.data, block.names.offset[row], block.names.offset[row + 1])
        elif op == b.PUBLISH:
            number = window.state[PUBLISHED]
            window.state[PUBLISHED] = number + 1
            if number >= window.state[LIMIT]:
                oldest = np.int64(window.ring[(number - window.state[LIMIT]) & (len(window.ring) - 1)])
                if window.number[oldest] == number - window.state[LIMIT] and window.status[oldest] == ALIVE:
                    slot = oldest
        if slot:
            died[n_died] = slot
            n_died += 1
            leave(window, slot)
            window.status[slot] = DEAD
        if op == b.PUBLISH:
            if window.state[NOW] == b.NO_TIME:
                window.state[NOW] = 0
            row = block.row[event]
            time = window.state[NOW] if block.time[event] == b.NO_TIME else block.time[event]
            death = block.messages.expires[row]
            if window.state[AGE] != b.NEVER:
                death = min(death, time + window.state[AGE])
            if death > window.state[NOW]:
                born[event] = _bear(window, weighting, block.messages, row, block.position[event], number, death)
        death_start[event + 1] = n_died
    return n_died


@njit(nogil=True, cache=True)
def _bury(window: MessageTable, died: npt.NDArray[np.int32]) -> None:
    """Give back what the dead of a block held."""
    for i in range(len(died)):
        slot = np.int64(died[i])
        pool_give(window.word_head, window.word_hash, window.word_start[slot], np.int64(window.n_words[slot]))
        pool_give(window.id_head, window.id_data, window.id_start[slot], (np.int64(window.id_length[slot]) + 7) >> 3)
        window.status[slot] = 0
        window.position[slot] = window.state[FREE_SLOT]
        window.state[FREE_SLOT] = slot
        window.state[COUNT] -= 1


@njit(nogil=True, cache=True)
def _refill_ring(window: MessageTable) -> None:
    for slot in range(1, window.state[USED] + 1):
        if window.status[slot] == ALIVE:
            window.ring[window.number[slot] & (len(window.ring) - 1)] = slot


class LiveWindow:
    """The live messages of a shard."""

    def __init__(self, table: MessageTable) -> None:
        self.table = table

    @property
    def n_live(self) -> int:
        """How many messages are live."""
        return int(self.table.state[COUNT])

    @property
    def now(self) -> int:
        """The largest time so far."""
        return int(self.table.state[NOW])

    def replay(self, weighting: Weighting, block: Block) -> Timeline:
        """Let the messages of a sealed block come and go; the dead stay readable until `bury`."""
        n = len(block.op)
        self._make_room(block)
        born, death_start = np.zeros(n, np.int32), np.zeros(n + 1, np.int64)
        died = np.empty(self.n_live + len(block.messages.expires), np.int32)
        n_died = _replay(self.table, weighting, block, born, death_start, died)
        return Timeline(born, death_start, died[:n_died].copy())

    def bury(self, timeline: Timeline) -> None:
        """Give back what those that died in a block held."""
        _bury(self.table, timeline.died)

    def weigh_anew(self, weighting: Weighting) -> None:
        """Weigh every live message by a new version of the weights."""
        weigh_anew(self.table, weighting)

    def find(self, message: str) -> int:
        """The slot of the live message with this id, or 0."""
        data = np.frombuffer(message.encode(), np.uint8)
        return int(find_live(self.table, data, 0, len(data)))

    def holds(self, message: str, time: int) -> bool:
        """Whether a live message has this id, at a time that may still be to come."""
        slot = self.find(message)
        return slot != 0 and int(self.table.death[slot]) > max(time, self.now)

    def _make_room(self, block: Block) -> None:
        table, messages = self.table, block.messages
        n = len(messages.expires)
        if not n:
            return
        if table.state[DUE] > 2 * table.state[COUNT] + 1024:
            _tidy(table)
        used = max(int(table.state[USED]), int(table.state[COUNT]) + n) + 1
        words = rounded_total(messages.word_start, 1)
        table = table._replace(
            **{name: grown(getattr(table, name), used) for name in BY_SLOT},
            word_hash=room_for(table.word_head, table.word_hash, words),
            word_count=room_for(table.word_head, table.word_count, words),
            unit=room_for(table.word_head, table.unit, words),
            id_data=room_for(table.id_head, table.id_data, rounded_total(messages.id.offset, 8)),
            due=grown(table.due, int(table.state[DUE]) + n),
        )
        if (int(table.state[COUNT]) + n) * 2 > len(table.slot_of):
            table = table._replace(slot_of=np.zeros(power_of_two(3 * (int(table.state[COUNT]) + n)), np.int32))
            reindex(table)
        if table.state[LIMIT] != b.NEVER:
            needed = min(int(table.state[LIMIT]), int(table.state[PUBLISHED]) + n) + 1
            if needed > len(table.ring):
                table = table._replace(ring=np.zeros(power_of_two(needed), np.int32))
                _refill_ring(table)
        self.table = table
