"""Which events of a block cannot be: their id is taken or unknown, or what they are about cannot move.

A log that admits events one by one has asked already. Events that come from elsewhere are judged here, a block at a
time and before anything of it is applied: every event is asked as if those before it that cannot be were not there.
What was in force or live before the block is read from the tables; the block's own events are followed in a small
index of the ids that they name, so that nothing has to be undone.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.growing import power_of_two
from tidings.columns.messages import AGE, LIMIT, NOW, PUBLISHED, MessageTable, find_live
from tidings.columns.subscriptions import SubscriptionTable, find_slot
from tidings.dtypes import Integer
from tidings.words.arenas import Arena, read_only
from tidings.words.hash_kernels import hash_bytes

TAKEN: Final = 1
"""A `register` of an id in force."""
UNKNOWN: Final = 2
"""A `replace`, `move` or `remove` of an id that is not in force."""
LIVE: Final = 3
"""A `publish` of an id that a live message has."""
CANNOT_MOVE: Final = 8
"""A `move` of something that is not `around`; plus the kind that it is."""

_NOT_LIVE: Final = -1


@njit(nogil=True, cache=True)
def _place(
    first_with: npt.NDArray[np.int64],
    span: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    hash_: np.uint64,
    start: Integer,
    stop: Integer,
) -> np.int64:
    """Where in an open-addressing index of ids this one stands, or the empty place where it would. A place holds one
    more than the number of an id, and `span` where each begins and ends.
    """
    mask = len(first_with) - 1
    place = np.int64(hash_ & np.uint64(mask))
    while first_with[place] != 0:
        known = first_with[place] - 1
        begin = span[2 * known]
        if span[2 * known + 1] - begin == stop - start:
            same = True
            for i in range(stop - start):
                if data[begin + i] != data[start + i]:
                    same = False
                    break
            if same:
                return place
        place = (place + 1) & mask
    return place


@njit(nogil=True, cache=True)
def _judge_messages(
    window: MessageTable,
    op: npt.NDArray[np.uint8],
    times: npt.NDArray[np.int64],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    expires: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    n_places: Integer,
    reasons: npt.NDArray[np.uint8],
) -> None:
    """Follow time, the number of messages and the lives of the ids that publishes and retractions name."""
    now, published = window.state[NOW], window.state[PUBLISHED]
    limit, age = window.state[LIMIT], window.state[AGE]
    slot_of, id_start, id_length = window.slot_of, window.id_start, window.id_length
    id_bytes, numbers, deaths = window.id_data.view(np.uint8), window.number, window.death
    first_with = np.zeros(n_places, np.int64)
    span = np.empty(n_places, np.int64)
    number = np.empty(n_places >> 1, np.int64)
    death = np.empty(n_places >> 1, np.int64)
    n_known = 0
    for event in range(len(op)):
        time = max(now, times[event])
        if op[event] == b.TICK:
            now = time
            continue
        start, stop = begin[event], end[event]
        hash_ = hash_bytes(data, start, stop)
        place = _place(first_with, span, data, hash_, start, stop)
        known = first_with[place] - 1
        if known < 0:
            known = n_known
            n_known += 1
            first_with[place] = n_known
            span[2 * known], span[2 * known + 1] = start, stop
            slot = find_live(slot_of, id_start, id_length, id_bytes, data, hash_, start, stop)
            number[known] = numbers[slot] if slot != 0 else _NOT_LIVE
            death[known] = deaths[slot]
        if op[event] == b.RETRACT:
            number[known] = _NOT_LIVE
            continue
        within = number[known] != _NOT_LIVE and (limit == b.NEVER or published - number[known] <= limit)
        if within and time < death[known]:
            reasons[event] = LIVE
            continue
        now = np.int64(0) if time == b.NO_TIME else time
        ends = expires[event]
        if age != b.NEVER:
            ends = min(ends, (now if times[event] == b.NO_TIME else times[event]) + age)
        number[known] = published if now < ends else _NOT_LIVE
        death[known] = ends
        published += 1


@njit(nogil=True, cache=True)
def _judge_subscriptions(
    table: SubscriptionTable,
    op: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    brings: npt.NDArray[np.uint8],
    data: npt.NDArray[np.uint8],
    n_places: Integer,
    reasons: npt.NDArray[np.uint8],
) -> None:
    """Follow the kind in force under each id that the events name; `brings` is the kind of what they register."""
    first_with = np.zeros(n_places, np.int64)
    span = np.empty(n_places, np.int64)
    kind = np.empty(n_places >> 1, np.uint8)
    n_known = 0
    for event in range(len(op)):
        start, stop = begin[event], end[event]
        place = _place(first_with, span, data, hash_bytes(data, start, stop), start, stop)
        known = first_with[place] - 1
        if known < 0:
            known = n_known
            n_known += 1
            first_with[place] = n_known
            span[2 * known], span[2 * known + 1] = start, stop
            slot = find_slot(table, data, start, stop)
            kind[known] = table.kind[slot] if slot != 0 else b.FREE
        if op[event] == b.REGISTER and kind[known] != b.FREE:
            reasons[event] = TAKEN
        elif op[event] != b.REGISTER and kind[known] == b.FREE:
            reasons[event] = UNKNOWN
        elif op[event] == b.MOVE and kind[known] != b.AROUND:
            reasons[event] = CANNOT_MOVE + kind[known]
        elif op[event] != b.MOVE:
            kind[known] = brings[event]


def judged(block: Block, table: SubscriptionTable, window: MessageTable) -> npt.NDArray[np.uint8]:
    """By event of a sealed block: 0, or why it cannot be after what the tables hold and those before it that can."""
    reasons = np.zeros(len(block.op), np.uint8)
    about = np.flatnonzero((block.op >= b.REGISTER) & (block.op <= b.REMOVE))
    if len(about):
        op, row = block.op[about], block.row[about]
        registers = op <= b.REPLACE
        brings = np.full(len(about), b.FREE, np.uint8)
        brings[registers] = block.subscriptions.kind[row[registers]]
        begin, end, data = _spans(registers, row, block.subscriptions.id, block.names)
        _judge_subscriptions(table, op, begin, end, brings, data, _places(about), found := _none(about))
        reasons[about] = found
    about = np.flatnonzero((block.op == b.PUBLISH) | (block.op == b.RETRACT) | (block.op == b.TICK))
    if len(block.messages.expires):
        op = block.op[about]
        row = np.where(op == b.TICK, -1, block.row[about])
        publishes = op == b.PUBLISH
        expires = np.full(len(about), b.NEVER, np.int64)
        expires[publishes] = block.messages.expires[row[publishes]]
        begin, end, data = _spans(publishes, row, block.messages.id, block.names)
        _judge_messages(window, op, block.time[about], begin, end, expires, data, _places(about), found := _none(about))
        reasons[about] = found
    return reasons


def _places(about: npt.NDArray[np.int64]) -> int:
    """An index of the ids of so many events is at most half full."""
    return power_of_two(2 * len(about))


def _none(about: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    return np.zeros(len(about), np.uint8)


def _spans(
    first: npt.NDArray[np.bool_], row: npt.NDArray[np.int64], one: Arena, other: Arena
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Where in one array of bytes the id of each event stands: in one arena where `first` says so, else in the other.
    A row below 0 has none.
    """
    begin, end = np.zeros(len(row), np.int64), np.zeros(len(row), np.int64)
    begin[first], end[first] = one.offset[row[first]], one.offset[row[first] + 1]
    rest = ~first & (row >= 0)
    if not rest.any():
        return begin, end, read_only(one.data)
    begin[rest], end[rest] = other.offset[row[rest]] + len(one.data), other.offset[row[rest] + 1] + len(one.data)
    return begin, end, read_only(np.concatenate([one.data, other.data]))
