"""Deltas that stand in several pieces, put together in the order of the answer."""

from collections.abc import Sequence

import numpy as np

from tidings.columns.deltas import Deltas
from tidings.columns.segment_kernels import merged
from tidings.words.arenas import Arena


def merged_pieces(pieces: Sequence[Deltas]) -> Deltas | None:
    """Deltas of several shards as one; None of none."""
    if len(pieces) <= 1:
        return pieces[0] if pieces else None
    bounds = np.cumsum([0, *(len(piece.position) for piece in pieces)])
    joined = Deltas(
        position=np.concatenate([piece.position for piece in pieces]),
        subscription=_joined([piece.subscription for piece in pieces]),
        message=_joined([piece.message for piece in pieces]),
        sign=np.concatenate([piece.sign for piece in pieces]),
        measure=np.concatenate([piece.measure for piece in pieces]),
        value=np.concatenate([piece.value for piece in pieces]),
        message_position=np.concatenate([piece.message_position for piece in pieces]),
    )
    return merged(joined, bounds)


def _joined(arenas: Sequence[Arena]) -> Arena:
    starts = np.cumsum([0, *(len(arena.data) for arena in arenas)]).tolist()
    offsets = [arena.offset[:-1] + start for arena, start in zip(arenas, starts, strict=False)]
    last = np.array([starts[-2] + int(arenas[-1].offset[-1])])
    return Arena(np.concatenate([*offsets, last]), np.concatenate([arena.data for arena in arenas]))
