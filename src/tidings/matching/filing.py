"""Where the index keeps a subscription: in which cells of which word's quadtree."""

from typing import Final

import numpy as np
from msgspec import Struct

from tidings.index.pyramid import arrays as a
from tidings.index.pyramid.index import Pyramid
from tidings.matching.shard import Shard
from tidings.space.geometry import INDEX_BOXES, index_boxes

_WHOLE: Final = 1 << 32
"""The side of the space in fixed-point coordinates."""


class Cell(Struct, frozen=True):
    """One cell of a quadtree that has an entry of a subscription."""

    level: int
    """0 is the whole space; every level halves both sides."""
    bounds: tuple[float, float, float, float]
    entries: int
    """All entries of the cell, which a message that comes here is compared with."""


def cells_of(shard: Shard, slot: int, word: int) -> tuple[Cell, ...]:
    """The cells where a `within` is filed under a word; empty when the index has no cells."""
    if not isinstance(shard.index, Pyramid):
        return ()
    arrays, table = a.PyramidArrays(**shard.index.arrays()), shard.subscriptions.table
    if word >= len(arrays.root) or not arrays.root[word]:
        return ()
    boxes = np.empty((INDEX_BOXES, 4), np.float64)
    start = np.int64(table.geometry_start[slot])
    n_boxes = index_boxes(bool(arrays.frame[4]), table.shape[slot], table.geometry, start, boxes)
    low, scale = arrays.frame[[0, 1, 0, 1]], arrays.frame[[2, 3, 2, 3]]
    areas = np.clip((boxes[:n_boxes] - low) * scale, 0.0, _WHOLE - 1.0).astype(np.int64).tolist()
    found: list[Cell] = []
    nodes = [(int(arrays.root[word]), 0, 0, 0)]
    while nodes:
        node, level, x, y = nodes.pop()
        first, length, _, children = (int(number) for number in arrays.node[node : node + a.NODE_SIZE])
        side = _WHOLE >> level
        entries = arrays.entry[first + 1 : first + 2 * length : 2]
        if bool(((entries & np.uint64(a.SLOT_MASK)) == np.uint64(slot)).any()):
            corners = np.array([x, y, x + side, y + side]) / scale + low
            found.append(Cell(level, tuple(corners.tolist()), length))
        if children:
            half = side >> 1
            for child in range(4):
                cx, cy = x + half * (child & 1), y + half * (child >> 1)
                if any(x0 < cx + half and cx <= x1 and y0 < cy + half and cy <= y1 for x0, y0, x1, y1 in areas):
                    nodes.append((children + a.NODE_SIZE * child, level + 1, cx, cy))
    return tuple(sorted(found, key=lambda cell: (cell.level, cell.bounds)))
