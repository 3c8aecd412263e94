"""Blocks of one kind of event from columns, and rows taken out of columns, without a Python object per event."""

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns import rows as rows_of
from tidings.columns.block import Block, MessageColumns, SubscriptionColumns, sealed
from tidings.columns.encode import weight_columns
from tidings.columns.rows import NO_MESSAGES, NO_NAMES, NO_SUBSCRIPTIONS, names_at
from tidings.words.arenas import Arena

Int64s = npt.NDArray[np.int64]


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


def subscriptions_at(columns: SubscriptionColumns, rows: Int64s) -> SubscriptionColumns:
    """These subscriptions, sealed, with the words that they use and no others."""
    return sealed(rows_of.subscriptions_at(columns, rows))


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
