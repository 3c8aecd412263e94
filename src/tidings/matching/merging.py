"""From what the matchers found to deltas: one order, ids in place of slots.

The order of the answer is position, subscription id, `-` before `+`, message id. Matchers answer in order of event, so
only the rows of one event have to be sorted, by the bytes of their ids (which is the code-point order of the strings).
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas
from tidings.columns.messages import MessageTable
from tidings.columns.standing import Changes
from tidings.columns.subscriptions import SubscriptionTable, ids_of
from tidings.dtypes import Integer
from tidings.matching.base import Found
from tidings.words.arenas import Arena

_MEASURES: Final = np.array([NO_VALUE, NO_VALUE, NO_VALUE, SCORE, DISTANCE], np.uint8)
"""By kind: what the value of a delta is."""


class Rows(NamedTuple):
    """What all matchers found, in order of event."""

    event: npt.NDArray[np.int64]
    subscription: npt.NDArray[np.int64]
    message: npt.NDArray[np.int64]
    """The slot in the message table, or -1 - row in the block for a message found as such."""
    sign: npt.NDArray[np.int8]
    value: npt.NDArray[np.float64]


@njit(nogil=True, cache=True)
def _compared(
    a: npt.NDArray[np.uint8],
    first_a: Integer,
    end_a: Integer,
    b_: npt.NDArray[np.uint8],
    first_b: Integer,
    end_b: Integer,
) -> Integer:
    """Negative, 0 or positive as the first bytes stand before, with or behind the second."""
    for i in range(min(end_a - first_a, end_b - first_b)):
        difference = np.int64(a[first_a + i]) - np.int64(b_[first_b + i])
        if difference != 0:
            return difference
    return (end_a - first_a) - (end_b - first_b)


@njit(nogil=True, cache=True)
def _stands_before(ids: Arena, names: Arena, sign: npt.NDArray[np.int8], i: Integer, j: Integer) -> bool:
    order = _compared(ids.data, ids.offset[i], ids.offset[i + 1], ids.data, ids.offset[j], ids.offset[j + 1])
    if order == 0:
        order = np.int64(sign[i]) - np.int64(sign[j])
    if order == 0:
        order = _compared(
            names.data, names.offset[i], names.offset[i + 1], names.data, names.offset[j], names.offset[j + 1]
        )
    before: bool = order < 0
    return before


@njit(nogil=True, cache=True)
def _sort_events(
    event: npt.NDArray[np.int64], ids: Arena, names: Arena, sign: npt.NDArray[np.int8]
) -> npt.NDArray[np.int64]:
    """The order of rows that are in order of event; within an event by a merge sort from the bottom up."""
    n = len(event)
    order, other = np.arange(n), np.empty(n, np.int64)
    first = 0
    while first < n:
        end = first + 1
        while end < n and event[end] == event[first]:
            end += 1
        width = 1
        while width < end - first:
            for low in range(first, end, 2 * width):
                middle, high = min(low + width, end), min(low + 2 * width, end)
                i, j = low, middle
                for k in range(low, high):
                    if i < middle and (j >= high or not _stands_before(ids, names, sign, order[j], order[i])):
                        other[k] = order[i]
                        i += 1
                    else:
                        other[k] = order[j]
                        j += 1
            order[first:end] = other[first:end]
            width *= 2
        first = end
    return order


@njit(nogil=True, cache=True)
def _message_lengths(
    message: npt.NDArray[np.int64], window: MessageTable, rows: Arena, offset: npt.NDArray[np.int64]
) -> None:
    for i in range(len(message)):
        slot = message[i]
        length = rows.offset[-slot] - rows.offset[-1 - slot] if slot < 0 else np.int64(window.id_length[slot])
        offset[i + 1] = offset[i] + length


@njit(nogil=True, cache=True)
def _copy_message_ids(
    message: npt.NDArray[np.int64],
    window: MessageTable,
    rows: Arena,
    offset: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
) -> None:
    mine = window.id_data.view(np.uint8)
    for i in range(len(message)):
        slot = message[i]
        if slot < 0:
            start = rows.offset[-1 - slot]
            for j in range(offset[i + 1] - offset[i]):
                data[offset[i] + j] = rows.data[start + j]
        else:
            start = 8 * window.id_start[slot]
            for j in range(offset[i + 1] - offset[i]):
                data[offset[i] + j] = mine[start + j]


def _message_ids(message: npt.NDArray[np.int64], window: MessageTable, block: Block) -> Arena:
    offset = np.zeros(len(message) + 1, np.int64)
    _message_lengths(message, window, block.messages.id, offset)
    data = np.empty(offset[-1], np.uint8)
    _copy_message_ids(message, window, block.messages.id, offset, data)
    return Arena(offset, data)


@njit(nogil=True, cache=True)
def _gather(
    arena: Arena, order: npt.NDArray[np.int64], offset: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]
) -> None:
    for i in range(len(order)):
        start = arena.offset[order[i]]
        for j in range(offset[i + 1] - offset[i]):
            data[offset[i] + j] = arena.data[start + j]


def _reordered(arena: Arena, order: npt.NDArray[np.int64]) -> Arena:
    offset = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.diff(arena.offset)[order], out=offset[1:])
    data = np.empty(offset[-1], np.uint8)
    _gather(arena, order, offset, data)
    return Arena(offset, data)


def gathered(found: list[Found]) -> Rows:
    """The rows of all matchers in order of event."""
    event = np.concatenate([part.event for part in found]).astype(np.int64)
    order = np.argsort(event, kind="stable")
    return Rows(
        event[order],
        np.concatenate([part.subscription for part in found]).astype(np.int64)[order],
        np.concatenate([part.message for part in found]).astype(np.int64)[order],
        np.concatenate([part.sign for part in found])[order],
        np.concatenate([part.value for part in found])[order],
    )


def without_exchanges(rows: Rows, block: Block, changes: Changes, table: SubscriptionTable) -> Rows:
    """Drop what a `replace` across kinds takes away by one matcher and gives back by another."""
    crossing = (block.op == b.REPLACE) & (table.kind[changes.began] != table.kind[changes.ended])
    at = np.flatnonzero(crossing[rows.event])
    if not len(at):
        return rows
    pair = np.stack([rows.event[at], rows.message[at]])
    _, which, count = np.unique(pair, axis=1, return_inverse=True, return_counts=True)
    keep = np.ones(len(rows.event), bool)
    keep[at[count[which.reshape(-1)] == 2]] = False
    return Rows._make(column[keep] for column in rows)


def deltas_of(rows: Rows, block: Block, table: SubscriptionTable, window: MessageTable) -> Deltas:
    """The rows as deltas, in the order of the answer."""
    ids, names = ids_of(table, rows.subscription), _message_ids(rows.message, window, block)
    order = _sort_events(rows.event, ids, names, rows.sign)
    message = rows.message[order]
    position = block.position[rows.event[order]]
    return Deltas(
        position=position,
        subscription=_reordered(ids, order),
        message=_reordered(names, order),
        sign=rows.sign[order],
        measure=_MEASURES[table.kind[rows.subscription[order]]],
        value=rows.value[order],
        message_position=np.where(message < 0, position, window.position[np.maximum(message, 0)]),
    )
