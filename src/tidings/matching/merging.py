"""From what the matchers found to deltas: one order, ids in place of slots.

The order of the answer is position, subscription id, `-` before `+`, message id. Matchers answer in order of event, so
only the rows of one event have to be sorted, by the bytes of their ids (which is the code-point order of the strings).
Nearly always the first eight bytes of two subscription ids already differ, so they are compared as one number; what
is equal in them is compared in full.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas
from tidings.columns.messages import MessageTable
from tidings.columns.prefetching import prefetch
from tidings.columns.standing import Changes
from tidings.columns.subscriptions import AHEAD, LONG_ID, SubscriptionTable, copy_ids
from tidings.columns.unaligned import SLACK, eight_at, put_eight
from tidings.dtypes import Integer
from tidings.matching.base import Found
from tidings.words.arenas import Arena

_MEASURES: Final = np.array([NO_VALUE, NO_VALUE, NO_VALUE, SCORE, DISTANCE], np.uint8)
"""By kind: what the value of a delta is."""

_BYTES: Final = np.uint64(0x00FF00FF00FF00FF)
_PAIRS: Final = np.uint64(0x0000FFFF0000FFFF)
_TOP: Final = np.uint64(1 << 63)

_FEW: Final = 40
"""So many rows of an event are sorted by counting, for each, how many stand before it: without a branch."""


@njit(nogil=True, cache=True)
def _keys(
    id_record: npt.NDArray[np.uint8],
    long_ids: npt.NDArray[np.uint32],
    subscription: npt.NDArray[np.int32],
    key: npt.NDArray[np.int64],
) -> None:
    """The first eight bytes of each id, as a number that is in the same order; zeros stand for what is not there."""
    record = id_record.reshape(id_record.size).view(np.uint64)
    for i in range(len(subscription)):
        if i + AHEAD < len(subscription):
            prefetch(record, 2 * np.int64(subscription[i + AHEAD]))
        slot = np.int64(subscription[i])
        low, high = record[2 * slot], record[2 * slot + 1]
        length = low & np.uint64(255)
        if length == np.uint64(LONG_ID):
            start = np.int64(high & np.uint64(0xFFFFFFFF))
            piece = np.uint64(long_ids[start]) | np.uint64(long_ids[start + 1]) << np.uint64(32)
        else:
            piece = low >> np.uint64(8) | high << np.uint64(56)
            if length < np.uint64(8):
                piece &= (np.uint64(1) << np.uint64(8) * length) - np.uint64(1)
        # The first byte becomes the highest; then the top bit is turned, since comparing signed numbers is faster.
        piece = (piece & _BYTES) << np.uint64(8) | piece >> np.uint64(8) & _BYTES
        piece = (piece & _PAIRS) << np.uint64(16) | piece >> np.uint64(16) & _PAIRS
        key[i] = np.int64((piece << np.uint64(32) | piece >> np.uint64(32)) ^ _TOP)


@njit(nogil=True, cache=True)
def _subscriptions_compared(
    id_record: npt.NDArray[np.uint8], id_data: npt.NDArray[np.uint32], i: Integer, j: Integer
) -> Integer:
    """Negative, 0 or positive as the id of one slot stands before, with or behind that of another."""
    record = id_record.reshape(id_record.size)
    numbers, long_ids = record.view(np.uint32), id_data.view(np.uint8)
    is_long, other_is_long = record[16 * i] == LONG_ID, record[16 * j] == LONG_ID
    mine, others = long_ids if is_long else record, long_ids if other_is_long else record
    first = 4 * np.int64(numbers[4 * i + 2]) if is_long else 16 * i + 1
    length = np.int64(numbers[4 * i + 1]) if is_long else np.int64(record[16 * i])
    other_first = 4 * np.int64(numbers[4 * j + 2]) if other_is_long else 16 * j + 1
    other_length = np.int64(numbers[4 * j + 1]) if other_is_long else np.int64(record[16 * j])
    for k in range(min(length, other_length)):
        if mine[first + k] != others[other_first + k]:
            return np.int64(mine[first + k]) - np.int64(others[other_first + k])
    return length - other_length


@njit(nogil=True, cache=True)
def _messages_compared(
    id_start: npt.NDArray[np.int64],
    id_length: npt.NDArray[np.uint16],
    id_data: npt.NDArray[np.uint64],
    rows: Arena,
    i: Integer,
    j: Integer,
) -> Integer:
    """The same of two messages, each a slot or -1 - row."""
    mine, offset, data = id_data.view(np.uint8), rows.offset, rows.data
    first = offset[-1 - i] if i < 0 else 8 * id_start[i]
    length = offset[-i] - first if i < 0 else np.int64(id_length[i])
    other_first = offset[-1 - j] if j < 0 else 8 * id_start[j]
    other_length = offset[-j] - other_first if j < 0 else np.int64(id_length[j])
    for k in range(min(length, other_length)):
        one = data[first + k] if i < 0 else mine[first + k]
        other = data[other_first + k] if j < 0 else mine[other_first + k]
        if one != other:
            return np.int64(one) - np.int64(other)
    return length - other_length


@njit(nogil=True, cache=True)
def _stands_before(
    found: Found, table: SubscriptionTable, window: MessageTable, rows: Arena, i: Integer, j: Integer
) -> bool:
    """Whether a row stands before another one of the same event, where their keys do not say so."""
    slot, other = np.int64(found.subscription[i]), np.int64(found.subscription[j])
    order = np.int64(0)
    if slot != other:
        order = _subscriptions_compared(table.id_record, table.id_data, slot, other)
    if order == 0:
        order = np.int64(found.sign[i]) - np.int64(found.sign[j])
    if order == 0:
        message, another = np.int64(found.message[i]), np.int64(found.message[j])
        order = _messages_compared(window.id_start, window.id_length, window.id_data, rows, message, another)
    return bool(order < 0)


@njit(nogil=True, cache=True)
def _sort_events(
    found: Found,
    key: npt.NDArray[np.int64],
    table: SubscriptionTable,
    window: MessageTable,
    rows: Arena,
    order: npt.NDArray[np.int32],
) -> None:
    """The order of rows that are in order of event."""
    event = found.event
    n = len(event)
    other = np.empty(_FEW, np.int32)
    first = 0
    while first < n:
        end = first + 1
        while end < n and event[end] == event[first]:
            end += 1
        few = end - first
        if few <= _FEW:
            # A part of its own, whose indexes are known not to be negative, so that the inner loop is vectorised.
            part, behind = key[first:end], np.int64(0)
            for i in range(few):
                mine, before = part[i], np.int64(0)
                for j in range(few):
                    before += np.int64(part[j] < mine)
                order[first + before] = first + i
                behind += before
            if 2 * behind == few * (few - 1):
                # Of every two rows one stands before the other: no two keys are equal.
                first = end
                continue
        for i in range(first, end):
            order[i] = i
        if few > len(other):
            other = np.empty(2 * few, np.int32)
        width = 1
        while width < few:
            for low in range(first, end, 2 * width):
                middle, high = min(low + width, end), min(low + 2 * width, end)
                i, j = low, middle
                for k in range(low, high):
                    takes = i < middle
                    if takes and j < high:
                        mine, its = key[order[i]], key[order[j]]
                        takes = mine < its or (
                            mine == its and not _stands_before(found, table, window, rows, order[j], order[i])
                        )
                    if takes:
                        other[k - first] = order[i]
                        i += 1
                    else:
                        other[k - first] = order[j]
                        j += 1
            order[first:end] = other[:few]
            width *= 2
        first = end


@njit(nogil=True, cache=True)
def _rearrange(
    found: Found,
    order: npt.NDArray[np.int32],
    block_position: npt.NDArray[np.int64],
    kind: npt.NDArray[np.uint8],
    id_record: npt.NDArray[np.uint8],
    window_position: npt.NDArray[np.int64],
    id_length: npt.NDArray[np.uint16],
    rows_offset: npt.NDArray[np.int64],
    slot: npt.NDArray[np.int32],
    message: npt.NDArray[np.int32],
    deltas: Deltas,
) -> None:
    """All columns of the answer but the bytes of the ids, for which the offsets say how many they are."""
    event, subscription, found_message = found.event, found.subscription, found.message
    found_sign, found_value = found.sign, found.value
    position, sign, measure = deltas.position, deltas.sign, deltas.measure
    value, message_position = deltas.value, deltas.message_position
    subscription_offset, message_offset = deltas.subscription.offset, deltas.message.offset
    record = id_record.reshape(id_record.size)
    numbers = record.view(np.uint32)
    subscription_end = message_end = np.int64(0)
    subscription_offset[0] = message_offset[0] = 0
    for i in range(len(order)):
        if i + AHEAD < len(order):
            ahead = np.int64(subscription[np.int64(order[i + AHEAD])])
            prefetch(record, 16 * ahead)
            prefetch(kind, ahead)
        row = np.int64(order[i])
        at, mine, its = block_position[event[row]], np.int64(subscription[row]), np.int64(found_message[row])
        slot[i], message[i] = mine, its
        position[i], sign[i], value[i], measure[i] = at, found_sign[row], found_value[row], _MEASURES[kind[mine]]
        length = np.int64(record[16 * mine])
        subscription_end += np.int64(numbers[4 * mine + 1]) if length == LONG_ID else length
        subscription_offset[i + 1] = subscription_end
        if its < 0:
            message_position[i] = at
            message_end += rows_offset[-its] - rows_offset[-1 - its]
        else:
            message_position[i] = window_position[its]
            message_end += np.int64(id_length[its])
        message_offset[i + 1] = message_end


@njit(nogil=True, cache=True)
def _copy_message_ids(
    message: npt.NDArray[np.int32],
    id_start: npt.NDArray[np.int64],
    id_data: npt.NDArray[np.uint64],
    rows_offset: npt.NDArray[np.int64],
    rows_data: npt.NDArray[np.uint8],
    offset: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
) -> None:
    """Write the ids where `offset` says; `data` has SLACK bytes more than they need."""
    last, low, high = np.int64(0), np.uint64(0), np.uint64(0)
    for i in range(len(message)):
        its, start, end = np.int64(message[i]), offset[i], offset[i + 1]
        if its > 0:
            first = id_start[its]
            for j in range((end - start + 7) >> 3):
                put_eight(data, start + 8 * j, id_data[first + j])
            continue
        first = rows_offset[-1 - its]
        if end - start > 16 or first + 16 > len(rows_data):
            for j in range(end - start):
                data[start + j] = rows_data[first + j]
            continue
        if its != last:
            # The matches of a message stand one after the other.
            last, low, high = its, eight_at(rows_data, first), eight_at(rows_data, first + 8)
        put_eight(data, start, low)
        put_eight(data, start + 8, high)


def gathered(found: list[Found]) -> Found:
    """The rows of all matchers in order of event."""
    some = [part for part in found if len(part.event)] or found[:1]
    if len(some) == 1:
        return some[0]
    order = np.argsort(np.concatenate([part.event for part in some]), kind="stable")
    return Found._make(np.concatenate(columns)[order] for columns in zip(*some, strict=True))


def without_exchanges(found: Found, block: Block, changes: Changes, table: SubscriptionTable) -> Found:
    """Drop what a `replace` across kinds takes away by one matcher and gives back by another."""
    replaced = block.op == b.REPLACE
    if not replaced.any():
        return found
    crossing = replaced & (table.kind[changes.began] != table.kind[changes.ended])
    at = np.flatnonzero(crossing[found.event])
    if not len(at):
        return found
    pair = np.stack([found.event[at], found.message[at]])
    _, which, count = np.unique(pair, axis=1, return_inverse=True, return_counts=True)
    keep = np.ones(len(found.event), bool)
    keep[at[count[which.reshape(-1)] == 2]] = False
    return Found._make(column[keep] for column in found)


def deltas_of(found: Found, block: Block, table: SubscriptionTable, window: MessageTable) -> Deltas:
    """The rows as deltas, in the order of the answer."""
    n, rows = len(found.event), block.messages.id
    if not n:
        return _no_deltas()
    key = np.empty(n, np.int64)
    _keys(table.id_record, table.id_data, found.subscription, key)
    order = np.empty(n, np.int32)
    _sort_events(found, key, table, window, rows, order)
    slot, message, nothing = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(0, np.uint8)
    deltas = Deltas(
        position=np.empty(n, np.int64),
        subscription=Arena(np.empty(n + 1, np.int64), nothing),
        message=Arena(np.empty(n + 1, np.int64), nothing),
        sign=np.empty(n, np.int8),
        measure=np.empty(n, np.uint8),
        value=np.empty(n, np.float64),
        message_position=np.empty(n, np.int64),
    )
    _rearrange(
        found, order, block.position, table.kind, table.id_record, window.position, window.id_length, rows.offset,
        slot, message, deltas,
    )  # fmt: skip
    offset = deltas.subscription.offset
    subscription_data = np.empty(offset[-1] + SLACK, np.uint8)
    copy_ids(table.id_record, table.id_data, slot, offset, subscription_data)
    message_offset = deltas.message.offset
    message_data = np.empty(message_offset[-1] + SLACK, np.uint8)
    _copy_message_ids(message, window.id_start, window.id_data, rows.offset, rows.data, message_offset, message_data)
    return deltas._replace(
        subscription=Arena(offset, subscription_data[: offset[-1]]),
        message=Arena(message_offset, message_data[: message_offset[-1]]),
    )


def _no_deltas() -> Deltas:
    offset, data = np.zeros(1, np.int64), np.empty(0, np.uint8)
    numbers, bytes_ = np.empty(0, np.int64), np.empty(0, np.uint8)
    return Deltas(numbers, Arena(offset, data), Arena(offset, data), np.empty(0, np.int8), bytes_, np.empty(0), numbers)
