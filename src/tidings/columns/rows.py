"""Rows taken out of columns, and the events of a block brought into order, without a Python object per row."""

from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns.block import Block, MessageColumns, SubscriptionColumns, WeightColumns, sealed
from tidings.words.arenas import Arena

Int64s = npt.NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)

NO_NAMES: Final = Arena(np.zeros(1, np.int64), np.empty(0, np.uint8))
NO_MESSAGES: Final = MessageColumns(
    id=NO_NAMES,
    place=np.empty((0, 4), np.float64),
    expires=np.empty(0, np.int64),
    word_start=np.zeros(1, np.int64),
    word_hash=np.empty(0, np.uint64),
    word_count=np.empty(0, np.uint32),
)
NO_SUBSCRIPTIONS: Final = SubscriptionColumns(
    id=NO_NAMES,
    kind=np.empty(0, np.uint8),
    shape=np.empty(0, np.uint8),
    geometry_start=np.zeros(1, np.int64),
    geometry=np.empty(0, np.float64),
    term_start=np.zeros(1, np.int64),
    term=np.empty(0, np.uint32),
    word_hash=np.empty(0, np.uint64),
    word=NO_NAMES,
)
NO_EVENTS: Final = sealed(
    Block(
        position=np.empty(0, np.int64),
        op=np.empty(0, np.uint8),
        time=np.empty(0, np.int64),
        row=np.empty(0, np.int64),
        messages=NO_MESSAGES,
        subscriptions=NO_SUBSCRIPTIONS,
        names=NO_NAMES,
        moved_to=np.empty((0, 2), np.float64),
        weights=WeightColumns(
            np.zeros(1, np.int64), np.empty(0, np.uint64), np.empty(0, np.float64), np.empty(0, np.float64)
        ),
    )
)

SUBSCRIBING: Final = (b.REGISTER, b.REPLACE)
"""The operations whose row is one of the block's subscriptions."""
NAMING: Final = (b.RETRACT, b.MOVE, b.REMOVE)
"""The operations whose row is one of the block's names."""


def items_of(start: Int64s, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Of lists that lie back to back: new offsets for these rows, and which items they consist of."""
    length = start[rows + 1] - start[rows]
    offset = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(length, out=offset[1:])
    return offset, np.arange(offset[-1]) + np.repeat(start[rows] - offset[:-1], length)


def names_at(names: Arena, rows: Int64s) -> Arena:
    """These names."""
    offset, items = items_of(names.offset, rows)
    return Arena(offset, names.data[items])


def messages_at(columns: MessageColumns, rows: Int64s) -> MessageColumns:
    """These messages."""
    word_start, words = items_of(columns.word_start, rows)
    return MessageColumns(
        id=names_at(columns.id, rows),
        place=columns.place[rows],
        expires=columns.expires[rows],
        word_start=word_start,
        word_hash=columns.word_hash[words],
        word_count=columns.word_count[words],
    )


def subscriptions_at(columns: SubscriptionColumns, rows: Int64s) -> SubscriptionColumns:
    """These subscriptions, with the words that they use and no others, in the order of their first use."""
    geometry_start, geometry = items_of(columns.geometry_start, rows)
    term_start, items = items_of(columns.term_start, rows)
    kind, term = columns.kind[rows], columns.term[items]
    is_word = words_among(kind, term_start, term)
    used, number = in_order_of_use(term[is_word].astype(np.int64))
    term[is_word] = number
    return SubscriptionColumns(
        id=names_at(columns.id, rows),
        kind=kind,
        shape=columns.shape[rows],
        geometry_start=geometry_start,
        geometry=columns.geometry[geometry],
        term_start=term_start,
        term=term,
        word_hash=columns.word_hash[used],
        word=names_at(columns.word, used),
    )


def words_among(kind: npt.NDArray[np.uint8], term_start: Int64s, term: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which terms are words; the others are headers of clauses and counts. `term_start` begins at 0."""
    is_word = np.ones(len(term), bool)
    place = term_start[:-1]
    counted = (kind == b.BEST) | (kind == b.NEAREST)
    if counted.any():
        # The number of pairs, then word and count by turns.
        offset = np.arange(len(term)) - np.repeat(place, np.diff(term_start))
        is_word[np.repeat(counted, np.diff(term_start)) & (offset % 2 == 0)] = False
        place = place[~counted]
    while len(place):
        header = term[place].astype(np.int64)
        is_word[place] = False
        place = (place + 1 + (header & 0xFFFF) + ((header >> b.EXCLUDED_SHIFT) & 0x7FFF))[header & b.MORE_CLAUSES != 0]
    return is_word


def in_order_of_use(values: npt.NDArray[Scalar]) -> tuple[npt.NDArray[Scalar], Int64s]:
    """The distinct values in the order of their first use, and the number of each value among them."""
    distinct, first, number = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[number]


def by_position(block: Block) -> Block:
    """The block with its events, and its messages with them, in order of position. The other rows are in order."""
    order = np.argsort(block.position, kind="stable")
    op, row, messages = block.op[order], block.row[order], block.messages
    published = op == b.PUBLISH
    rows = row[published]
    if len(rows) and np.any(np.diff(rows) < 0):
        messages = messages_at(messages, rows)
        row[published] = np.arange(len(rows))
    return sealed(
        block._replace(position=block.position[order], op=op, time=block.time[order], row=row, messages=messages)
    )
