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
from tidings.columns.block import Block
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
    entry_of,
    find_live,
    hash_of_slot,
    home_of,
    leave,
    reindex,
    weigh,
    weigh_anew,
)
from tidings.columns.pool import pool_give, pool_take, room_for, rounded_total
from tidings.columns.prefetching import prefetch
from tidings.columns.unaligned import eight_at
from tidings.dtypes import Integer
from tidings.words.arenas import Arena
from tidings.words.hash_kernels import hash_bytes
from tidings.words.hashing import hash_utf8

BY_SLOT: Final = ("status", "position", "number", "death", "place", "word_start", "n_words", "id_start", "id_length")

_AHEAD: Final = 8
"""So many messages ahead their entries are asked for; the index of a large window does not fit into a core's cache."""


class Timeline(NamedTuple):
    """Who came and who went at each event of a block."""

    born: npt.NDArray[np.int32]
    """By event: the slot of the message that came to life, or 0."""
    death_start: npt.NDArray[np.int64]
    """n + 1 offsets into `died`."""
    died: npt.NDArray[np.int32]
    """Slots that died, by event."""


@njit(nogil=True, cache=True)
def _push(state: npt.NDArray[np.int64], due: npt.NDArray[np.int64], time: Integer, number: Integer, slot: int) -> None:
    """Note when a message dies."""
    place = state[DUE]
    state[DUE] += 1
    while place > 0 and due[(place - 1) >> 1, 0] > time:
        above = (place - 1) >> 1
        due[place, 0], due[place, 1], due[place, 2] = due[above, 0], due[above, 1], due[above, 2]
        place = above
    due[place, 0], due[place, 1], due[place, 2] = time, number, slot


@njit(nogil=True, cache=True)
def _pop(state: npt.NDArray[np.int64], due: npt.NDArray[np.int64]) -> None:
    """Forget the earliest death."""
    state[DUE] -= 1
    n = state[DUE]
    time, number, slot = due[n, 0], due[n, 1], due[n, 2]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        if child + 1 < n and due[child + 1, 0] < due[child, 0]:
            child += 1
        if due[child, 0] >= time:
            break
        due[place, 0], due[place, 1], due[place, 2] = due[child, 0], due[child, 1], due[child, 2]
        place = child
    due[place, 0], due[place, 1], due[place, 2] = time, number, slot


@njit(nogil=True, cache=True)
def _tidy(window: MessageTable) -> None:
    """Drop the deaths of messages that died otherwise, so that the heap is no larger than the window."""
    state, due = window.state, window.due
    n = state[DUE]
    state[DUE] = 0
    for i in range(n):
        time, number, slot = due[i, 0], due[i, 1], due[i, 2]
        if window.number[slot] == number and window.status[slot] == ALIVE:
            _push(state, due, time, number, slot)


@njit(nogil=True, cache=True)
def _hash_ids(ids: Arena) -> npt.NDArray[np.uint64]:
    hashes = np.empty(len(ids.offset) - 1, np.uint64)
    for row in range(len(hashes)):
        hashes[row] = hash_bytes(ids.data, ids.offset[row], ids.offset[row + 1])
    return hashes


@njit(nogil=True, cache=True)
def _replay(
    window: MessageTable,
    block: Block,
    units: npt.NDArray[np.float64],
    hashes: npt.NDArray[np.uint64],
    born: npt.NDArray[np.int32],
    death_start: npt.NDArray[np.int64],
    died: npt.NDArray[np.int32],
) -> int:
    """All comings and goings of a block, in order; how many died. The arrays have room for those that come.

    The walk is written out here: as functions of its own its parts cost four times as much, since every call counts
    the references of all arrays that it is given.
    """
    state, status, position_of, number_of, death_of = (
        window.state, window.status, window.position, window.number, window.death,
    )  # fmt: skip
    place, slot_of, due, ring = window.place, window.slot_of, window.due, window.ring
    word_start, n_words, word_head = window.word_start, window.n_words, window.word_head
    word_hash, word_count, unit = window.word_hash, window.word_count, window.unit
    id_start, id_length, id_head, id_data = window.id_start, window.id_length, window.id_head, window.id_data
    id_bytes = id_data.view(np.uint8)
    ops, times, rows, positions = block.op, block.time, block.row, block.position
    new_place, expires, new_start = block.messages.place, block.messages.expires, block.messages.word_start
    new_hash, new_count = block.messages.word_hash, block.messages.word_count
    new_offset, new_id = block.messages.id.offset, block.messages.id.data
    names = block.names
    limit, age, mask, ring_mask = state[LIMIT], state[AGE], len(slot_of) - 1, len(ring) - 1
    n_died = 0
    for event in range(len(ops)):
        op, row = ops[event], rows[event]
        if times[event] > state[NOW]:
            state[NOW] = times[event]
        number, told = state[PUBLISHED], op != b.RETRACT and op != b.PUBLISH
        while True:
            slot = np.int64(0)
            if state[DUE] > 0 and due[0, 0] <= state[NOW]:
                slot = due[0, 2]
                if number_of[slot] != due[0, 1] or status[slot] != ALIVE:
                    slot = np.int64(0)
                _pop(state, due)
            elif told:
                break
            else:
                told = True
                if op == b.RETRACT:
                    first, last = names.offset[row], names.offset[row + 1]
                    hash_ = hash_bytes(names.data, first, last)
                    slot = find_live(slot_of, id_start, id_length, id_bytes, names.data, hash_, first, last)
                elif number >= limit:
                    slot = np.int64(ring[(number - limit) & ring_mask])
                    if number_of[slot] != number - limit or status[slot] != ALIVE:
                        slot = np.int64(0)
            if slot:
                died[n_died] = slot
                n_died += 1
                status[slot] = DEAD
                leave(slot_of, entry_of(hash_of_slot(id_start, id_length, id_data, slot), slot))
        death_start[event + 1] = n_died
        if op != b.PUBLISH:
            continue
        # What the next few messages touch in the index of ids: when they come, and when others go for them.
        if row + _AHEAD < len(hashes):
            prefetch(slot_of, home_of(hashes[row + _AHEAD], mask))
        if number + _AHEAD >= limit:
            goes = np.int64(ring[(number + _AHEAD - limit) & ring_mask])
            prefetch(slot_of, home_of(hash_of_slot(id_start, id_length, id_data, goes), mask))

        state[PUBLISHED] = number + 1
        if state[NOW] == b.NO_TIME:
            state[NOW] = 0
        death = expires[row]
        if age != b.NEVER:
            death = min(death, (state[NOW] if times[event] == b.NO_TIME else times[event]) + age)
        if death <= state[NOW]:
            continue
        slot = state[FREE_SLOT]
        if slot != 0:
            state[FREE_SLOT] = position_of[slot]
        else:
            state[USED] += 1
            slot = state[USED]
        state[COUNT] += 1
        born[event] = slot
        status[slot] = ALIVE
        position_of[slot], number_of[slot], death_of[slot] = positions[event], number, death
        for i in range(4):
            place[slot, i] = new_place[row, i]

        first, size = new_start[row], new_start[row + 1] - new_start[row]
        start = pool_take(word_head, word_hash, size)
        word_start[slot], n_words[slot] = start, size
        for i in range(size):
            word_hash[start + i], word_count[start + i] = new_hash[first + i], new_count[first + i]
            unit[start + i] = units[first + i]

        first, size = new_offset[row], new_offset[row + 1] - new_offset[row]
        start = pool_take(id_head, id_data, (size + 7) >> 3)
        id_start[slot], id_length[slot] = start, size
        if first + size + 8 <= len(new_id):
            for i in range((size + 7) >> 3):
                id_data[start + i] = eight_at(new_id, first + 8 * i)
        else:
            for i in range(size):
                id_bytes[8 * start + i] = new_id[first + i]
        enter(slot_of, entry_of(hashes[row], slot))
        if limit != b.NEVER:
            ring[number & ring_mask] = slot
        if death != b.NEVER:
            _push(state, due, death, number, slot)
    return n_died


@njit(nogil=True, cache=True)
def _bury(window: MessageTable, died: npt.NDArray[np.int32]) -> None:
    """Give back what the dead of a block held."""
    state, status, position = window.state, window.status, window.position
    word_head, word_hash, word_start, n_words = window.word_head, window.word_hash, window.word_start, window.n_words
    id_head, id_data, id_start, id_length = window.id_head, window.id_data, window.id_start, window.id_length
    for i in range(len(died)):
        slot = np.int64(died[i])
        pool_give(word_head, word_hash, word_start[slot], np.int64(n_words[slot]))
        pool_give(id_head, id_data, id_start[slot], (np.int64(id_length[slot]) + 7) >> 3)
        status[slot] = 0
        position[slot] = state[FREE_SLOT]
        state[FREE_SLOT] = slot
        state[COUNT] -= 1


@njit(nogil=True, cache=True)
def _refill_ring(window: MessageTable, ring: npt.NDArray[np.int32]) -> None:
    status, number = window.status, window.number
    for slot in range(1, window.state[USED] + 1):
        if status[slot] == ALIVE:
            ring[number[slot] & (len(ring) - 1)] = slot


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
        words = block.messages
        units = np.empty(len(words.word_hash))
        weigh(weighting, words.word_start[:-1], np.diff(words.word_start), words.word_hash, words.word_count, units)
        hashes = _hash_ids(block.messages.id)
        n_died = _replay(self.table, block, units, hashes, born, death_start, died)
        return Timeline(born, death_start, died[:n_died].copy())

    def bury(self, timeline: Timeline) -> None:
        """Give back what those that died in a block held."""
        if len(timeline.died):
            _bury(self.table, timeline.died)

    def weigh_anew(self, weighting: Weighting) -> None:
        """Weigh every live message by a new version of the weights."""
        weigh_anew(self.table, weighting)

    def find(self, message: str) -> int:
        """The slot of the live message with this id, or 0."""
        data = np.frombuffer(message.encode(), np.uint8)
        table, hash_ = self.table, np.uint64(hash_utf8(message.encode()))
        id_bytes = table.id_data.view(np.uint8)
        return int(find_live(table.slot_of, table.id_start, table.id_length, id_bytes, data, hash_, 0, len(data)))

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
            table = table._replace(slot_of=np.zeros(power_of_two(3 * (int(table.state[COUNT]) + n)), np.uint64))
            reindex(table, table.slot_of)
        if table.state[LIMIT] != b.NEVER:
            needed = min(int(table.state[LIMIT]), int(table.state[PUBLISHED]) + n) + 1
            if needed > len(table.ring):
                table = table._replace(ring=np.zeros(power_of_two(needed), np.int32))
                _refill_ring(table, table.ring)
        self.table = table
