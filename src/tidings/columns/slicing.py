"""Cutting a block: a piece of its events with the rows that they bring. Wherever one cuts, the answer is the same."""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidings.columns import block as b
from tidings.columns.block import Block, MessageColumns, sealed
from tidings.words.arenas import Arena


def pieces_from(block: Block, cuts: Sequence[int] | npt.NDArray[np.int64]) -> list[Block]:
    """The block cut before these events; whole when there is no cut inside it."""
    edges = sorted({0, len(block.op), *(int(cut) for cut in cuts if 0 < cut < len(block.op))})
    if len(edges) <= 2:
        return [block]
    return [_piece(block, first, last) for first, last in itertools.pairwise(edges)]


def _piece(block: Block, first: int, last: int) -> Block:
    """Events first..last. Messages are cut with them; the other rows are few, and only their owners are looked at."""
    op, row = block.op[first:last], block.row[first:last].copy()
    published = row[op == b.PUBLISH]
    messages = _rows(block.messages, *((published[0], published[-1] + 1) if len(published) else (0, 0)))
    row[op == b.PUBLISH] -= published[0] if len(published) else 0
    registers = (op == b.REGISTER) | (op == b.REPLACE)
    registered = row[registers]
    subscriptions = block.subscriptions
    low, high = (registered[0], registered[-1] + 1) if len(registered) else (0, 0)
    row[registers] -= low
    return sealed(
        block._replace(
            position=block.position[first:last],
            op=op,
            time=block.time[first:last],
            row=row,
            messages=messages,
            subscriptions=subscriptions._replace(
                id=Arena(subscriptions.id.offset[low : high + 1], subscriptions.id.data),
                kind=subscriptions.kind[low:high],
                shape=subscriptions.shape[low:high],
                geometry_start=subscriptions.geometry_start[low : high + 1],
                term_start=subscriptions.term_start[low : high + 1],
            ),
        )
    )


def _rows(messages: MessageColumns, first: int, last: int) -> MessageColumns:
    start = messages.word_start[first : last + 1]
    return MessageColumns(
        id=Arena(messages.id.offset[first : last + 1], messages.id.data),
        place=messages.place[first:last],
        expires=messages.expires[first:last],
        word_start=start - start[0],
        word_hash=messages.word_hash[start[0] : start[-1]],
        word_count=messages.word_count[start[0] : start[-1]],
    )
