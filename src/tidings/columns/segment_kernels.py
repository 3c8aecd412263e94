"""The loops over segments: finding runs, marking the filter, writing rows out again, and merging shards.

Ids are read and written eight bytes at a time: most are that short, and byte by byte they take most of the time.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from tidings.columns.deltas import Deltas
from tidings.dtypes import Integer
from tidings.words import hashing
from tidings.words.arenas import Arena, read_only
from tidings.words.hash_kernels import hash_bytes

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_item_pointer: Any = cgutils.get_item_pointer
_raw_memcpy: Any = cgutils.raw_memcpy
_WORD: Final = ir.IntType(64)

_MULTIPLIER = np.uint64(hashing.MULTIPLIER)
_FOLD = np.uint64(hashing.FOLD)
_FINISH = np.uint64(hashing.FINISH)
_INSTEAD_OF_ZERO = np.uint64(hashing.INSTEAD_OF_ZERO)
_ZERO, _ALL = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
_14, _27, _29, _30, _31, _32 = (np.uint64(n) for n in (14, 27, 29, 30, 31, 32))
_3, _7, _8 = np.uint64(3), np.uint64(7), np.uint64(8)


def _is_bytes(array: Any, index: Any) -> bool:
    return isinstance(array, types.Array) and array.dtype == types.uint8 and isinstance(index, types.Integer)


def _word_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = signature.args[0]
    struct = context.make_array(array)(context, builder, arguments[0])
    place = _item_pointer(context, builder, array, struct, [arguments[1]], wraparound=False)
    return builder.bitcast(place, _WORD.as_pointer())


def _load8(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight bytes from an index on, wherever that is, as a number whose lowest byte is the first."""
    if not _is_bytes(array, index):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_word_at(context, builder, signature, arguments), align=1)

    return types.uint64(array, index), generate


def _store8(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """The reverse: all eight bytes are written."""
    if not (_is_bytes(array, index) and word == types.uint64):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _word_at(context, builder, signature, arguments), align=1)
        return context.get_dummy_value()

    return types.void(array, index, word), generate


def _swapped(typing_context: Any, word: Any) -> Any:
    """The number whose highest byte was the lowest, so that numbers compare as the bytes do."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(word), generate


def _copy_bytes(typing_context: Any, out: Any, to: Any, data: Any, start: Any, length: Any) -> Any:
    """Copy bytes from one array to another."""
    if not (_is_bytes(out, to) and _is_bytes(data, start) and isinstance(length, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = []
        for array, pair in ((out, arguments[:2]), (data, arguments[2:4])):
            struct = context.make_array(array)(context, builder, pair[0])
            places.append(_item_pointer(context, builder, array, struct, [pair[1]], wraparound=False))
        _raw_memcpy(builder, *places, arguments[4], 1)
        return context.get_dummy_value()

    return types.void(out, to, data, start, length), generate


load8: Any = intrinsic(_load8)
store8: Any = intrinsic(_store8)
swapped: Any = intrinsic(_swapped)
copy_bytes: Any = intrinsic(_copy_bytes)


class Survey(NamedTuple):
    """What the writer of a segment has to know of some deltas, as `survey` answers it."""

    n_runs: int
    ascending: bool
    """Positions do not go back."""
    here: bool
    """Every message was published where its delta stands."""
    shortest: int
    """Of the subscriptions' ids, in bytes,"""
    longest: int
    shortest_message: int
    """and of the messages'."""
    longest_message: int
    message_bytes: int
    """Of all runs."""


@njit(nogil=True, cache=True, inline="always")
def _same_bytes(data: Bytes, i: Integer, j: Integer, length: Integer) -> bool:
    equal = True
    if 0 < length <= 8 and max(i, j) + 8 <= len(data):
        equal = (load8(data, i) ^ load8(data, j)) << (np.uint64(8 - length) << _3) == _ZERO
    else:
        for k in range(length):
            if data[i + k] != data[j + k]:
                equal = False
                break
    return equal


@njit(nogil=True, cache=True)
def survey(
    position: Int64s,
    subscription: Int64s,
    message: Int64s,
    message_data: Bytes,
    message_position: Int64s,
    begins: npt.NDArray[np.int32],
) -> tuple[Integer, bool, bool, Integer, Integer, Integer, Integer, Integer]:
    """Find the runs of rows with one position and one message; `begins` gets their first rows."""
    n_runs, message_bytes = 0, 0
    ascending, here = True, True
    shortest, longest = np.int64(1 << 40), np.int64(0)
    shortest_message, longest_message = np.int64(1 << 40), np.int64(0)
    for i in range(len(position)):
        length = subscription[i + 1] - subscription[i]
        shortest, longest = min(shortest, length), max(longest, length)
        size = message[i + 1] - message[i]
        if (
            i > 0
            and position[i] == position[i - 1]
            and message_position[i] == message_position[i - 1]
            and size == message[i] - message[i - 1]
            and _same_bytes(message_data, message[i - 1], message[i], size)
        ):
            continue
        ascending = ascending and (i == 0 or position[i] >= position[i - 1])
        here = here and position[i] == message_position[i]
        shortest_message, longest_message = min(shortest_message, size), max(longest_message, size)
        message_bytes += size
        begins[n_runs] = i
        n_runs += 1
    return n_runs, ascending, here, shortest, longest, shortest_message, longest_message, message_bytes


@njit(nogil=True, cache=True)
def copy_ids(offset: Int64s, data: Bytes, rows: npt.NDArray[np.signedinteger[Any]], ends: Int64s, out: Bytes) -> None:
    """The ids of rows, one behind the other; `ends` gets where each ends, `out` has eight bytes to spare."""
    to = 0
    for i in range(len(rows)):
        start, length = offset[rows[i]], offset[rows[i] + 1] - offset[rows[i]]
        if length <= 8 and start + 8 <= len(data):
            store8(out, to, load8(data, start))
        else:
            copy_bytes(out, to, data, start, length)
        to += length
        ends[i] = to


@njit(nogil=True, cache=True)
def _hash_word(word: np.uint64, length: Integer) -> np.uint64:
    """`hash_bytes` of 1 to 8 bytes."""
    state = np.uint64(length + 1) * _MULTIPLIER
    block = (word & (_ALL >> (np.uint64(8 - length) << _3))) * _FOLD
    state = (state ^ block ^ (block >> _32)) * _MULTIPLIER
    state ^= state >> _29
    state = (state ^ (state >> _30)) * _FOLD
    state = (state ^ (state >> _27)) * _FINISH
    state ^= state >> _31
    return state if state != _ZERO else _INSTEAD_OF_ZERO


@njit(nogil=True, cache=True)
def mark(offset: Int64s, data: Bytes, n_pages: Integer, page_bytes: Integer, pages: Bytes) -> None:
    """Set the two bits of every id in its page."""
    bits = np.uint64(8 * page_bytes - 1)
    for i in range(len(offset) - 1):
        start, length = offset[i], offset[i + 1] - offset[i]
        if 0 < length <= 8 and start + 8 <= len(data):
            hashed = _hash_word(load8(data, start), length)
        else:
            hashed = hash_bytes(data, start, start + length)
        page = np.int64(((hashed >> _32) * np.uint64(n_pages)) >> _32) * page_bytes
        for bit in (hashed & bits, (hashed >> _14) & bits):
            pages[page + np.int64(bit >> _3)] |= np.uint8(np.uint64(1) << (bit & _7))


@njit(nogil=True, cache=True)
def expand_runs(
    first: Integer,
    counts: npt.NDArray[np.uint32],
    positions: npt.NDArray[np.uint32],
    published: Int64s,
    lengths: npt.NDArray[np.uint16],
    ids: Bytes,
    row: Integer,
    at: Integer,
    position: Int64s,
    message_position: Int64s,
    offset: Int64s,
    data: Bytes,
) -> Integer:
    """Write runs out as rows from `row` and byte `at` on; the byte behind them. `published` may be empty."""
    start: Integer = 0
    i = row
    offset[row] = at
    for run in range(len(counts)):
        here = first + np.int64(positions[run])
        there = published[run] if len(published) else here
        end = start + np.int64(lengths[run])
        for _ in range(counts[run]):
            position[i] = here
            message_position[i] = there
            if end - start <= 8 and start + 8 <= len(ids):
                store8(data, at, load8(ids, start))
            else:
                copy_bytes(data, at, ids, start, end - start)
            at += end - start
            i += 1
            offset[i] = at
        start = end
    return at


@njit(nogil=True, cache=True)
def find_rows(lengths: npt.NDArray[np.uint16], width: Integer, n_rows: Integer, ids: Bytes, wanted: Bytes) -> Int64s:
    """The rows of one subscription. `lengths` of all ids, or of none when every id has `width` bytes."""
    found = np.empty(n_rows, np.int64)
    n_found, length = 0, len(wanted)
    start: Integer = 0
    short = 0 < length <= 8
    head, rest = _ZERO, np.uint64(max(8 - length, 0)) << _3
    if short:
        for k in range(length):
            head |= np.uint64(wanted[k]) << (_8 * np.uint64(k + 8 - length))
    for i in range(n_rows):
        size = np.int64(lengths[i]) if len(lengths) else width
        if size == length:
            same = True
            if short and start + 8 <= len(ids):
                same = load8(ids, start) << rest == head
            else:
                for k in range(length):
                    if ids[start + k] != wanted[k]:
                        same = False
                        break
            if same:
                found[n_found] = i
                n_found += 1
        start += size
    return found[:n_found].copy()


@njit(nogil=True, cache=True)
def _head(word: np.uint64, length: Integer) -> np.uint64:
    """The first bytes of an id as a number: numbers that differ compare as the ids do."""
    word = swapped(word)
    if length >= 8:
        return word
    return word & ~(_ALL >> (np.uint64(length) << _3))


@njit(nogil=True, cache=True)
def _last_head(data: Bytes, start: Integer, length: Integer) -> np.uint64:
    """The same where eight bytes cannot be read."""
    word = _ZERO
    for k in range(min(length, 8)):
        word |= np.uint64(data[start + k]) << (_8 * np.uint64(7 - k))
    return word


@njit(nogil=True, cache=True)
def _order(offset: Int64s, data: Bytes, i: Integer, j: Integer) -> Integer:
    n, m = offset[i + 1] - offset[i], offset[j + 1] - offset[j]
    for k in range(min(n, m)):
        difference = np.int64(data[offset[i] + k]) - np.int64(data[offset[j] + k])
        if difference != 0:
            return difference
    return n - m


@njit(nogil=True, cache=True)
def merged_order(
    bounds: Int64s,
    position: Int64s,
    subscription: Int64s,
    subscription_data: Bytes,
    message: Int64s,
    message_data: Bytes,
    sign: npt.NDArray[np.int8],
) -> Int64s:
    """The order of the answer of rows that stand in `len(bounds) - 1` pieces, each in this order."""
    n_pieces = len(bounds) - 1
    order = np.empty(bounds[-1], np.int64)
    at, heads, places = bounds[:-1].copy(), np.empty(n_pieces, np.uint64), np.empty(n_pieces, np.int64)
    never = np.iinfo(np.int64).max
    # Before the first row every piece is read once, later the one that gave the row.
    best, n_fresh = 0, n_pieces
    for row in range(len(order)):
        for fresh in range(n_fresh):
            piece = fresh if n_fresh > 1 else best
            i = at[piece]
            if i == bounds[piece + 1]:
                places[piece] = never
                continue
            places[piece] = position[i]
            start, length = subscription[i], subscription[i + 1] - subscription[i]
            if start + 8 <= len(subscription_data):
                heads[piece] = _head(load8(subscription_data, start), length)
            else:
                heads[piece] = _last_head(subscription_data, start, length)
        best, n_fresh = 0, 1
        for piece in range(1, n_pieces):
            if places[piece] != places[best]:
                if places[piece] < places[best]:
                    best = piece
            elif places[piece] != never and heads[piece] != heads[best]:
                if heads[piece] < heads[best]:
                    best = piece
            elif places[piece] != never:
                i, j = at[piece], at[best]
                difference = _order(subscription, subscription_data, i, j)
                if difference == 0:
                    difference = np.int64(sign[i]) - np.int64(sign[j])
                if difference == 0:
                    difference = _order(message, message_data, i, j)
                if difference < 0:
                    best = piece
        order[row] = at[best]
        at[best] += 1
    return order


def _reordered(arena: Arena, order: Int64s) -> Arena:
    n_bytes = int(arena.offset[-1] - arena.offset[0])
    offset, data = np.zeros(len(order) + 1, np.int64), np.empty(n_bytes + 8, np.uint8)
    copy_ids(read_only(arena.offset), read_only(arena.data), read_only(order), offset[1:], data)
    return Arena(offset, data[:n_bytes])


def merged(deltas: Deltas, bounds: Int64s) -> Deltas:
    """Rows that stand in pieces, each in the order of the answer, as one."""
    if np.count_nonzero(np.diff(bounds)) <= 1:
        return deltas
    subscription, message = deltas.subscription, deltas.message
    order = merged_order(
        bounds,
        read_only(deltas.position),
        read_only(subscription.offset),
        read_only(subscription.data),
        read_only(message.offset),
        read_only(message.data),
        read_only(deltas.sign),
    )
    return Deltas(
        position=deltas.position[order],
        subscription=_reordered(subscription, order),
        message=_reordered(message, order),
        sign=deltas.sign[order],
        measure=deltas.measure[order],
        value=deltas.value[order],
        message_position=deltas.message_position[order],
    )


@njit(nogil=True, cache=True)
def step_offsets(start: Integer, step: Integer, ends: Int64s) -> None:
    """Where ids of one length end."""
    for i in range(len(ends)):
        ends[i] = start + (i + 1) * step
