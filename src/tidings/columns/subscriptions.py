"""The table of subscriptions: one slot each, in flat arrays, with pools for what differs in size.

A slot is one *version* of a subscription: it is in force for the positions [born, dead). A `replace` is a new version
in a new slot; the old slot stays readable until the block that ended it is over, so that everything that happens
inside a block can be answered by position, whatever order the work is done in.

Every kind lives in the same table. `geometry` and `term` say what they hold in `columns.block`; here the words of the
terms are dense ids of the shard's vocabulary. Ids are UTF-8 in pieces of four bytes, found through an open-addressing
index of slots.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import SubscriptionColumns
from tidings.columns.growing import grown, power_of_two
from tidings.columns.pool import empty_head, pool_give, pool_take, room_for, rounded, rounded_total
from tidings.columns.prefetching import prefetch
from tidings.columns.unaligned import SLACK, put_eight
from tidings.dtypes import Integer
from tidings.space.shapes import BOX, EVERYWHERE
from tidings.words.arenas import Arena
from tidings.words.hash_kernels import hash_bytes

USED: Final = 0
"""Of `state`: slots 1 .. USED have been taken at some time."""
FREE_SLOT: Final = 1
"""Of `state`: the first free slot, 0 for none; the next one stands in its `born`."""
COUNT: Final = 2
"""Of `state`: slots in use."""
OF_KIND: Final = 3
"""Of `state`, plus a kind: slots of this kind in use."""


AHEAD: Final = 16
"""So many ids ahead are asked for; the records of a million subscriptions do not fit into a core's own cache."""
LONG_ID: Final = 255
"""In an id's record, instead of a length: it stands elsewhere."""


class SubscriptionTable(NamedTuple):
    """Slot 0 is never used."""

    state: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    """FREE, WITHIN, AROUND, BEST or NEAREST."""
    shape: npt.NDArray[np.uint8]
    born: npt.NDArray[np.int64]
    dead: npt.NDArray[np.int64]
    """NEVER while it is in force."""
    geometry_start: npt.NDArray[np.uint32]
    term_start: npt.NDArray[np.uint32]
    id_record: npt.NDArray[np.uint8]
    """(n, 16): the length of the id and its bytes, so that an answer reads one cache line per id. A longer id than 15
    bytes is LONG_ID, three bytes unused, its length, its start in `id_data`, both four bytes."""
    geometry_head: npt.NDArray[np.int64]
    geometry: npt.NDArray[np.float64]
    term_head: npt.NDArray[np.int64]
    term: npt.NDArray[np.uint32]
    id_head: npt.NDArray[np.int64]
    id_data: npt.NDArray[np.uint32]
    """Long ids, in pieces of four bytes."""
    slot_of: npt.NDArray[np.int32]
    """Open addressing by the hash of the id; 0 is empty; a power of two of places, at most three fifths full."""


_BY_SLOT: Final = ("kind", "shape", "born", "dead", "geometry_start", "term_start", "id_record")


def empty_table() -> SubscriptionTable:
    """A table without subscriptions."""
    return SubscriptionTable(
        state=np.zeros(OF_KIND + 5, np.int64),
        kind=np.zeros(64, np.uint8),
        shape=np.zeros(64, np.uint8),
        born=np.zeros(64, np.int64),
        dead=np.zeros(64, np.int64),
        geometry_start=np.zeros(64, np.uint32),
        term_start=np.zeros(64, np.uint32),
        id_record=np.zeros((64, 16), np.uint8),
        geometry_head=empty_head(),
        geometry=np.zeros(256, np.float64),
        term_head=empty_head(),
        term=np.zeros(256, np.uint32),
        id_head=empty_head(),
        id_data=np.zeros(256, np.uint32),
        slot_of=np.zeros(64, np.int32),
    )


@njit(nogil=True, cache=True)
def _id_span(table: SubscriptionTable, slot: Integer) -> tuple[npt.NDArray[np.uint8], Integer, Integer]:
    """The bytes in which the id of a slot stands, and its first and last place there."""
    record = table.id_record.reshape(table.id_record.size)
    first = 16 * slot
    if record[first] != LONG_ID:
        return record, first + 1, first + 1 + np.int64(record[first])
    numbers = record.view(np.uint32)
    start = 4 * np.int64(numbers[4 * slot + 2])
    return table.id_data.view(np.uint8), start, start + np.int64(numbers[4 * slot + 1])


@njit(nogil=True, cache=True)
def _same_id(
    table: SubscriptionTable, slot: Integer, data: npt.NDArray[np.uint8], start: Integer, stop: Integer
) -> bool:
    mine, first, last = _id_span(table, slot)
    if last - first != stop - start:
        return False
    for i in range(stop - start):  # noqa: SIM110
        if mine[first + i] != data[start + i]:
            return False
    return True


@njit(nogil=True, cache=True)
def find_slot(table: SubscriptionTable, data: npt.NDArray[np.uint8], start: Integer, stop: Integer) -> np.int64:
    """The slot of the version in force with this id, or 0."""
    mask = len(table.slot_of) - 1
    place = np.int64(hash_bytes(data, start, stop) & np.uint64(mask))
    while True:
        slot = np.int64(table.slot_of[place])
        if slot == 0 or _same_id(table, slot, data, start, stop):
            return slot
        place = (place + 1) & mask


@njit(nogil=True, cache=True)
def _hash_of_slot(table: SubscriptionTable, slot: Integer) -> np.uint64:
    mine, first, last = _id_span(table, slot)
    return hash_bytes(mine, first, last)


@njit(nogil=True, cache=True)
def _enter(table: SubscriptionTable, slot: Integer) -> None:
    mask = len(table.slot_of) - 1
    place = np.int64(_hash_of_slot(table, slot) & np.uint64(mask))
    while table.slot_of[place] != 0:
        place = (place + 1) & mask
    table.slot_of[place] = slot


@njit(nogil=True, cache=True)
def leave(table: SubscriptionTable, slot: Integer) -> None:
    """Take a slot out of the index of ids; what stands behind it moves up, so that there are no tombstones."""
    mask = len(table.slot_of) - 1
    place = np.int64(_hash_of_slot(table, slot) & np.uint64(mask))
    while table.slot_of[place] != slot:
        place = (place + 1) & mask
    hole = place
    while True:
        place = (place + 1) & mask
        other = np.int64(table.slot_of[place])
        if other == 0:
            break
        home = np.int64(_hash_of_slot(table, other) & np.uint64(mask))
        if ((place - home) & mask) >= ((place - hole) & mask):
            table.slot_of[hole] = other
            hole = place
    table.slot_of[hole] = 0


@njit(nogil=True, cache=True)
def _reindex(table: SubscriptionTable) -> None:
    for slot in range(1, table.state[USED] + 1):
        if table.kind[slot] != b.FREE and table.dead[slot] == b.NEVER:
            _enter(table, slot)


@njit(nogil=True, cache=True)
def geometry_size(table: SubscriptionTable, slot: Integer) -> Integer:
    """How many numbers the geometry of a slot has."""
    kind = table.kind[slot]
    if kind == b.WITHIN:
        shape = table.shape[slot]
        if shape == BOX:
            return 4
        if shape == EVERYWHERE:
            return 0
        return np.int64(table.geometry[np.int64(table.geometry_start[slot])])
    return 3 if kind == b.NEAREST else 4


@njit(nogil=True, cache=True)
def term_size(table: SubscriptionTable, slot: Integer) -> Integer:
    """How many numbers the terms of a slot have."""
    start = np.int64(table.term_start[slot])
    kind = table.kind[slot]
    if kind == b.BEST or kind == b.NEAREST:
        return 1 + 2 * np.int64(table.term[start])
    place = start
    while True:
        header = np.int64(table.term[place])
        place += 1 + (header & 0xFFFF) + ((header >> b.EXCLUDED_SHIFT) & 0x7FFF)
        if header & b.MORE_CLAUSES == 0:
            return place - start


@njit(nogil=True, cache=True)
def take_slot(table: SubscriptionTable) -> Integer:
    """A free slot; the arrays have room for it."""
    slot = table.state[FREE_SLOT]
    if slot != 0:
        table.state[FREE_SLOT] = table.born[slot]
    else:
        table.state[USED] += 1
        slot = table.state[USED]
    table.state[COUNT] += 1
    return slot


@njit(nogil=True, cache=True)
def put(
    table: SubscriptionTable,
    slot: Integer,
    position: Integer,
    columns: SubscriptionColumns,
    row: int,
    word_id: npt.NDArray[np.uint32],
    references: npt.NDArray[np.int64],
) -> None:
    """Write a subscription of a block into a slot and enter its id."""
    kind = columns.kind[row]
    table.kind[slot] = kind
    table.state[OF_KIND + kind] += 1
    table.shape[slot] = columns.shape[row]
    table.born[slot] = position
    table.dead[slot] = b.NEVER

    first, last = columns.geometry_start[row], columns.geometry_start[row + 1]
    start = pool_take(table.geometry_head, table.geometry, last - first)
    table.geometry_start[slot] = start
    table.geometry[start : start + last - first] = columns.geometry[first:last]

    first, last = columns.term_start[row], columns.term_start[row + 1]
    start = pool_take(table.term_head, table.term, last - first)
    table.term_start[slot] = start
    if kind == b.BEST or kind == b.NEAREST:
        table.term[start] = columns.term[first]
        for i in range(first + 1, last, 2):
            word = word_id[columns.term[i]]
            references[word] += 1
            table.term[start + i - first] = word
            table.term[start + i - first + 1] = columns.term[i + 1]
    else:
        i = first
        while i < last:
            header = np.int64(columns.term[i])
            table.term[start + i - first] = header
            i += 1
            for _ in range((header & 0xFFFF) + ((header >> b.EXCLUDED_SHIFT) & 0x7FFF)):
                word = word_id[columns.term[i]]
                references[word] += 1
                table.term[start + i - first] = word
                i += 1

    first, last = columns.id.offset[row], columns.id.offset[row + 1]
    if last - first < 16:
        table.id_record[slot, 0] = last - first
        table.id_record[slot, 1 : 1 + last - first] = columns.id.data[first:last]
    else:
        start = pool_take(table.id_head, table.id_data, (last - first + 3) >> 2)
        numbers = table.id_record.reshape(table.id_record.size).view(np.uint32)
        table.id_record[slot, 0] = LONG_ID
        numbers[4 * slot + 1], numbers[4 * slot + 2] = last - first, start
        table.id_data.view(np.uint8)[4 * start : 4 * start + last - first] = columns.id.data[first:last]
    _enter(table, slot)


@njit(nogil=True, cache=True)
def free_slot(table: SubscriptionTable, slot: Integer) -> None:
    """Give back a slot whose version is dead and read no more; its id has left the index already."""
    pool_give(table.geometry_head, table.geometry, np.int64(table.geometry_start[slot]), geometry_size(table, slot))
    pool_give(table.term_head, table.term, np.int64(table.term_start[slot]), term_size(table, slot))
    if table.id_record[slot, 0] == LONG_ID:
        _, first, last = _id_span(table, slot)
        pool_give(table.id_head, table.id_data, first >> 2, (last - first + 3) >> 2)
    table.state[OF_KIND + table.kind[slot]] -= 1
    table.kind[slot] = b.FREE
    table.born[slot] = table.state[FREE_SLOT]
    table.state[FREE_SLOT] = slot
    table.state[COUNT] -= 1


@njit(nogil=True, cache=True)
def _id_offsets(
    id_record: npt.NDArray[np.uint8], slots: npt.NDArray[np.signedinteger[Any]], offset: npt.NDArray[np.int64]
) -> None:
    record = id_record.reshape(id_record.size)
    numbers = record.view(np.uint32)
    end = np.int64(0)
    offset[0] = 0
    for i in range(len(slots)):
        if i + AHEAD < len(slots):
            prefetch(record, 16 * np.int64(slots[i + AHEAD]))
        slot = np.int64(slots[i])
        length = np.int64(record[16 * slot])
        end += np.int64(numbers[4 * slot + 1]) if length == LONG_ID else length
        offset[i + 1] = end


@njit(nogil=True, cache=True)
def copy_ids(
    id_record: npt.NDArray[np.uint8],
    id_data: npt.NDArray[np.uint32],
    slots: npt.NDArray[np.signedinteger[Any]],
    offset: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
) -> None:
    """Write the ids of slots where `offset` says; `data` has SLACK bytes more than they need."""
    # One view of the records for all slots: a view made for each costs ten times the copying.
    record = id_record.reshape(id_record.size).view(np.uint64)
    long_ids = id_data.view(np.uint8)
    for i in range(len(slots)):
        if i + AHEAD < len(slots):
            prefetch(record, 2 * np.int64(slots[i + AHEAD]))
        low, high = record[2 * np.int64(slots[i])], record[2 * np.int64(slots[i]) + 1]
        if np.int64(low & np.uint64(255)) == LONG_ID:
            start = 4 * np.int64(high & np.uint64(0xFFFFFFFF)) - offset[i]
            for j in range(offset[i], offset[i + 1]):
                data[j] = long_ids[start + j]
        else:
            put_eight(data, offset[i], low >> np.uint64(8) | high << np.uint64(56))
            put_eight(data, offset[i] + 8, high >> np.uint64(8))


def ids_of(table: SubscriptionTable, slots: npt.NDArray[np.signedinteger[Any]]) -> Arena:
    """The ids of slots, one after the other."""
    offset = np.empty(len(slots) + 1, np.int64)
    _id_offsets(table.id_record, slots, offset)
    data = np.empty(offset[-1] + SLACK, np.uint8)
    copy_ids(table.id_record, table.id_data, slots, offset, data)
    return Arena(offset, data[: offset[-1]])


@njit(nogil=True, cache=True)
def _pieces_of_long_ids(offset: npt.NDArray[np.int64]) -> Integer:
    """The elements of `id_data` that ids of these lengths can take."""
    total = 0
    for i in range(len(offset) - 1):
        if offset[i + 1] - offset[i] > 15:
            total += rounded((offset[i + 1] - offset[i] + 3) >> 2)
    return total


def with_room(table: SubscriptionTable, columns: SubscriptionColumns) -> SubscriptionTable:
    """The table with room for the subscriptions of a block."""
    n = len(columns.kind)
    used = max(int(table.state[USED]), int(table.state[COUNT]) + n) + 1
    table = table._replace(
        **{name: grown(getattr(table, name), used) for name in _BY_SLOT},
        geometry=room_for(table.geometry_head, table.geometry, rounded_total(columns.geometry_start, 1)),
        term=room_for(table.term_head, table.term, rounded_total(columns.term_start, 1)),
        id_data=room_for(table.id_head, table.id_data, int(_pieces_of_long_ids(columns.id.offset))),
    )
    needed = int(table.state[COUNT]) + n
    if needed * 5 > len(table.slot_of) * 3:
        table = table._replace(slot_of=np.zeros(power_of_two(needed * 5 // 3 + 1), np.int32))
        _reindex(table)
    return table
