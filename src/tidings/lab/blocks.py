"""Blocks of one kind of event from columns, and rows taken out of columns, without a Python object per event."""

from typing import Final

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns.block import Block, MessageColumns, SubscriptionColumns, sealed
from tidings.columns.encode import weight_columns
from tidings.words.arenas import Arena

Int64s = npt.NDArray[np.int64]

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


def register_block(subscriptions: SubscriptionColumns, position: int) -> Block:
    """A block that registers these subscriptions from a position on."""
    return _block(b.REGISTER, len(subscriptions.kind), position, subscriptions=subscriptions)


def remove_block(names: Arena, position: int) -> Block:
    """A block that removes the subscriptions of these names."""
    return _block(b.REMOVE, len(names.offset) - 1, position, names=names)


def _block(
    op: int,
    n: int,
    position: int,
    subscriptions: SubscriptionColumns = NO_SUBSCRIPTIONS,
    names: Arena = NO_NAMES,
) -> Block:
    return sealed(
        Block(
            position=np.arange(position, position + n),
            op=np.full(n, op, np.uint8),
            time=np.full(n, b.NO_TIME),
            row=np.arange(n),
            messages=NO_MESSAGES,
            subscriptions=subscriptions,
            names=names,
            moved_to=np.full((len(names.offset) - 1, 2), np.nan),
            weights=weight_columns([]),
        )
    )


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


def subscriptions_at(columns: SubscriptionColumns, rows: Int64s) -> SubscriptionColumns:
    """These `within` subscriptions, with the words that they use and no others."""
    geometry_start, geometry = items_of(columns.geometry_start, rows)
    term_start, items = items_of(columns.term_start, rows)
    term = columns.term[items]
    is_word = np.ones(len(term), bool)
    place = term_start[:-1]
    while len(place):
        header = term[place].astype(np.int64)
        is_word[place] = False
        place = (place + 1 + (header & 0xFFFF) + ((header >> b.EXCLUDED_SHIFT) & 0x7FFF))[header & b.MORE_CLAUSES != 0]
    used, number = np.unique(term[is_word], return_inverse=True)
    term[is_word] = number
    return sealed(
        SubscriptionColumns(
            id=names_at(columns.id, rows),
            kind=columns.kind[rows],
            shape=columns.shape[rows],
            geometry_start=geometry_start,
            geometry=columns.geometry[geometry],
            term_start=term_start,
            term=term,
            word_hash=columns.word_hash[used],
            word=names_at(columns.word, used.astype(np.int64)),
        )
    )


def messages_between(columns: MessageColumns, first: int, end: int) -> MessageColumns:
    """Messages first..end."""
    start = columns.word_start[first : end + 1]
    return sealed(
        MessageColumns(
            id=names_at(columns.id, np.arange(first, end)),
            place=columns.place[first:end],
            expires=columns.expires[first:end],
            word_start=start - start[0],
            word_hash=columns.word_hash[start[0] : start[-1]],
            word_count=columns.word_count[start[0] : start[-1]],
        )
    )
