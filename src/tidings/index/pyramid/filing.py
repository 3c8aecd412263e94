"""Filing in the pyramid: where an entry goes, how a node's list grows and splits, how an entry leaves.

An entry goes down as long as the node has children, the box is at most half of the cell's side, and it touches
at most two of the children: so a box is filed 1.3 times on average and a search looks into one cell a level. A
list splits when it is full, has at least `SPLIT_FROM` entries and at least half of them would go down. Both look only
at the moment when a list is full, so that the cost is O(1) amortised whatever the boxes are.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.block import EXCLUDED_SHIFT, MORE_CLAUSES
from tidings.columns.pool import pool_give, pool_take
from tidings.columns.subscriptions import COUNT, SubscriptionTable
from tidings.dtypes import Integer
from tidings.index.pyramid.arrays import (
    ANY_WORD,
    CAPACITY,
    CHILDREN,
    ENTRIES,
    LANE,
    LENGTH,
    MAX_LEVEL,
    NODE_SIZE,
    REPEATED,
    SLOT_MASK,
    START,
    VERIFY_REGION,
    VERIFY_WORDS,
    PyramidArrays,
    fixed,
    local,
    packed,
)
from tidings.space.geometry import index_boxes
from tidings.space.shapes import BOX, EVERYWHERE

SPLIT_FROM: Final = 64
"""Measured at 100,000 and 1,000,000 subscriptions: 64 takes a fifth less time than 16 and no more than 128."""
GOES_DOWN: Final = 16384
"""Half of a cell's side in 15-bit coordinates."""
PRIOR_MESSAGES: Final = 1000.0
"""So many messages' worth of belief that messages use words as often as subscriptions do."""


@njit(nogil=True, cache=True)
def new_node(arrays: PyramidArrays) -> Integer:
    """A node without entries."""
    node = pool_take(arrays.node_head, arrays.node, NODE_SIZE)
    arrays.node[node : node + NODE_SIZE] = 0
    return node


@njit(nogil=True, cache=True)
def has_node_room(arrays: PyramidArrays) -> bool:
    """Whether a node and four children of another can be taken."""
    has: bool = arrays.node_head[-1] + 5 * NODE_SIZE <= len(arrays.node)
    return has


@njit(nogil=True, cache=True)
def _has_room(arrays: PyramidArrays, entries: Integer) -> bool:
    """Whether a node's children and lists of so many entries in all can be taken, however they come to be."""
    # Growing one by one to m entries takes pieces of less than 7 m entries altogether, of two words each.
    return arrays.entry_head[-1] + 14 * entries <= len(arrays.entry) and has_node_room(arrays)


@njit(nogil=True, cache=True)
def _next_capacity(capacity: Integer) -> Integer:
    if capacity < 4:
        return capacity + 1
    if capacity < 8:
        return capacity + 2
    if capacity < 32:
        return capacity + 4
    return 2 * capacity


@njit(nogil=True, cache=True)
def append(arrays: PyramidArrays, node: Integer, box: np.uint64, what: np.uint64) -> None:
    """Put an entry at the end of a node's list."""
    length, capacity = np.int64(arrays.node[node + LENGTH]), np.int64(arrays.node[node + CAPACITY])
    start = np.int64(arrays.node[node + START])
    if length == capacity:
        larger = _next_capacity(capacity)
        place = pool_take(arrays.entry_head, arrays.entry, 2 * larger)
        arrays.entry[place : place + 2 * length] = arrays.entry[start : start + 2 * length]
        pool_give(arrays.entry_head, arrays.entry, start, 2 * capacity)
        start = place
        arrays.node[node + START] = start
        arrays.node[node + CAPACITY] = larger
    arrays.entry[start + 2 * length] = box
    arrays.entry[start + 2 * length + 1] = what
    arrays.node[node + LENGTH] = length + 1
    arrays.counter[ENTRIES] += 1


@njit(nogil=True, cache=True)
def remove_at(arrays: PyramidArrays, node: Integer, i: Integer) -> None:
    """Take entry i out of a node's list; the last one takes its place."""
    start, last = np.int64(arrays.node[node + START]), np.int64(arrays.node[node + LENGTH]) - 1
    arrays.entry[start + 2 * i] = arrays.entry[start + 2 * last]
    arrays.entry[start + 2 * i + 1] = arrays.entry[start + 2 * last + 1]
    arrays.node[node + LENGTH] = last
    arrays.counter[ENTRIES] -= 1
    if last == 0:
        pool_give(arrays.entry_head, arrays.entry, start, 2 * np.int64(arrays.node[node + CAPACITY]))
        arrays.node[node + CAPACITY] = 0


@njit(nogil=True, cache=True)
def goes_down(x0: Integer, y0: Integer, x1: Integer, y1: Integer) -> bool:
    """Whether a box in a cell's own coordinates is filed below the cell, when it has children."""
    if x1 - x0 > GOES_DOWN or y1 - y0 > GOES_DOWN:
        return False
    narrow: bool = (x0 ^ x1) >> 14 == 0 or (y0 ^ y1) >> 14 == 0
    return narrow


@njit(nogil=True, cache=True)
def _split(
    arrays: PyramidArrays, table: SubscriptionTable, node: Integer, level: Integer, origin_x: Integer, origin_y: Integer
) -> None:
    """Give a node children and send down what goes down, unless that is less than half of it."""
    start, length = np.int64(arrays.node[node + START]), np.int64(arrays.node[node + LENGTH])
    going = 0
    for i in range(length):
        x0, y0, x1, y1 = _unpacked(arrays.entry[start + 2 * i])
        going += goes_down(x0, y0, x1, y1)
    if 2 * going < length:
        return
    quad = pool_take(arrays.node_head, arrays.node, 4 * NODE_SIZE)
    arrays.node[quad : quad + 4 * NODE_SIZE] = 0
    arrays.node[node + CHILDREN] = quad
    half = np.int64(1) << (31 - level)
    i = 0
    while i < np.int64(arrays.node[node + LENGTH]):
        box, what = arrays.entry[start + 2 * i], arrays.entry[start + 2 * i + 1]
        x0, y0, x1, y1 = _unpacked(box)
        if not goes_down(x0, y0, x1, y1):
            i += 1
            continue
        remove_at(arrays, node, i)
        for cy in range(y0 >> 14, (y1 >> 14) + 1):
            for cx in range(x0 >> 14, (x1 >> 14) + 1):
                child = quad + NODE_SIZE * (2 * cy + cx)
                if what & np.uint64(VERIFY_REGION):
                    # The parent's coordinates, one bit coarser than they could be: these regions are verified anyway.
                    a, b = 2 * x0 - (cx << 15), 2 * y0 - (cy << 15)
                    c, d = 2 * x1 + 1 - (cx << 15), 2 * y1 + 1 - (cy << 15)
                    a, b, c, d = max(a, 0), max(b, 0), min(c, LANE), min(d, LANE)
                else:
                    bx0, by0, bx1, by1 = _fixed_box(arrays, table, np.int64(what & np.uint64(SLOT_MASK)))
                    a = local(bx0, origin_x + cx * half, level + 1)
                    b = local(by0, origin_y + cy * half, level + 1)
                    c = local(bx1, origin_x + cx * half, level + 1)
                    d = local(by1, origin_y + cy * half, level + 1)
                append(arrays, child, packed(a, b, LANE - c, LANE - d), what)


@njit(nogil=True, cache=True)
def _unpacked(box: np.uint64) -> tuple[Integer, Integer, Integer, Integer]:
    x0, y0 = np.int64(box & np.uint64(LANE)), np.int64(box >> np.uint64(16) & np.uint64(LANE))
    x1, y1 = np.int64(box >> np.uint64(32) & np.uint64(LANE)), np.int64(box >> np.uint64(48) & np.uint64(LANE))
    return x0, y0, LANE - x1, LANE - y1


@njit(nogil=True, cache=True)
def _fixed_box(
    arrays: PyramidArrays, table: SubscriptionTable, slot: Integer
) -> tuple[np.int64, np.int64, np.int64, np.int64]:
    start = np.int64(table.geometry_start[slot])
    frame = arrays.frame
    return (
        fixed(table.geometry[start], frame[0], frame[2]),
        fixed(table.geometry[start + 1], frame[1], frame[3]),
        fixed(table.geometry[start + 2], frame[0], frame[2]),
        fixed(table.geometry[start + 3], frame[1], frame[3]),
    )


@njit(nogil=True, cache=True)
def _file(
    arrays: PyramidArrays,
    table: SubscriptionTable,
    stack: npt.NDArray[np.int64],
    word: Integer,
    bx0: Integer,
    by0: Integer,
    bx1: Integer,
    by1: Integer,
    what: np.uint64,
) -> bool:
    """File one box of a subscription under a word. False, with some of it done, when the arrays lack room."""
    if not _has_room(arrays, 1):
        return False
    root = np.int64(arrays.root[word])
    if root == 0:
        root = new_node(arrays)
        arrays.root[word] = root
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = root, 0, 0, 0
    depth = 1
    while depth:
        depth -= 1
        node, level, origin_x, origin_y = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        while True:
            x0, y0 = local(bx0, origin_x, level), local(by0, origin_y, level)
            x1, y1 = local(bx1, origin_x, level), local(by1, origin_y, level)
            down = goes_down(x0, y0, x1, y1)
            if (
                down
                and arrays.node[node + CHILDREN] == 0
                and arrays.node[node + LENGTH] == arrays.node[node + CAPACITY]
                and arrays.node[node + LENGTH] >= SPLIT_FROM
                and level < MAX_LEVEL
            ):
                if not _has_room(arrays, 2 * np.int64(arrays.node[node + LENGTH])):
                    return False
                _split(arrays, table, node, level, origin_x, origin_y)
            if not down or arrays.node[node + CHILDREN] == 0:
                if not _has_room(arrays, np.int64(arrays.node[node + LENGTH]) + 1):
                    return False
                append(arrays, node, packed(x0, y0, LANE - x1, LANE - y1), what)
                break
            quad = np.int64(arrays.node[node + CHILDREN])
            half = np.int64(1) << (31 - level)
            cx, cy, dx, dy = x0 >> 14, y0 >> 14, x1 >> 14, y1 >> 14
            level += 1
            if cx != dx or cy != dy:
                stack[depth, 0], stack[depth, 1] = quad + NODE_SIZE * (2 * dy + dx), level
                stack[depth, 2], stack[depth, 3] = origin_x + dx * half, origin_y + dy * half
                depth += 1
            node = quad + NODE_SIZE * (2 * cy + cx)
            origin_x += cx * half
            origin_y += cy * half
    return True


@njit(nogil=True, cache=True)
def _unfile(
    arrays: PyramidArrays,
    stack: npt.NDArray[np.int64],
    word: Integer,
    bx0: Integer,
    by0: Integer,
    bx1: Integer,
    by1: Integer,
    slot: Integer,
) -> None:
    """Take every entry of a slot out of the nodes of a word that a box touches, and prune what gets empty."""
    root = np.int64(arrays.root[word])
    if root == 0:
        return
    # Parents stand before their children on the list of visited nodes, so pruning from its end goes upwards.
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = root, 0, 0, 0
    visited, at = 1, 0
    while at < visited:
        node, level, origin_x, origin_y = stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3]
        at += 1
        i = 0
        while i < np.int64(arrays.node[node + LENGTH]):
            place = np.int64(arrays.node[node + START]) + 2 * i + 1
            if np.int64(arrays.entry[place] & np.uint64(SLOT_MASK)) == slot:
                remove_at(arrays, node, i)
            else:
                i += 1
        quad = np.int64(arrays.node[node + CHILDREN])
        if quad == 0:
            continue
        x0, y0 = local(bx0, origin_x, level), local(by0, origin_y, level)
        x1, y1 = local(bx1, origin_x, level), local(by1, origin_y, level)
        if not goes_down(x0, y0, x1, y1):
            continue
        half = np.int64(1) << (31 - level)
        for cy in range(y0 >> 14, (y1 >> 14) + 1):
            for cx in range(x0 >> 14, (x1 >> 14) + 1):
                stack[visited, 0], stack[visited, 1] = quad + NODE_SIZE * (2 * cy + cx), level + 1
                stack[visited, 2], stack[visited, 3] = origin_x + cx * half, origin_y + cy * half
                visited += 1
    for at in range(visited - 1, -1, -1):
        _prune(arrays, stack[at, 0])
    if arrays.node[root + LENGTH] == 0 and arrays.node[root + CHILDREN] == 0:
        pool_give(arrays.node_head, arrays.node, root, NODE_SIZE)
        arrays.root[word] = 0


@njit(nogil=True, cache=True)
def _prune(arrays: PyramidArrays, node: Integer) -> None:
    quad = np.int64(arrays.node[node + CHILDREN])
    if quad == 0:
        return
    for child in range(quad, quad + 4 * NODE_SIZE, NODE_SIZE):
        if arrays.node[child + LENGTH] != 0 or arrays.node[child + CHILDREN] != 0:
            return
    pool_give(arrays.node_head, arrays.node, quad, 4 * NODE_SIZE)
    arrays.node[node + CHILDREN] = 0


@njit(nogil=True, cache=True)
def rarest(
    term: npt.NDArray[np.uint32],
    hits: npt.NDArray[np.uint32],
    references: npt.NDArray[np.int64],
    per_reference: float,
    clause: Integer,
) -> tuple[Integer, float, float]:
    """Where the rarest positive word of a clause stands in the terms, and its rarity and that of the first one.

    How often a message is expected to have a word is how often one had it, with a prior from the subscriptions.
    """
    best = clause + 1
    first = lowest = np.float64(hits[term[best]]) + per_reference * np.float64(references[term[best]])
    for i in range(clause + 2, clause + 1 + (np.int64(term[clause]) & 0xFFFF)):
        rarity = np.float64(hits[term[i]]) + per_reference * np.float64(references[term[i]])
        if rarity < lowest:
            best, lowest = i, rarity
    return best, lowest, first


@njit(nogil=True, cache=True)
def prior(table: SubscriptionTable) -> float:
    """How many messages with a word one subscription with it stands for."""
    return PRIOR_MESSAGES / max(np.float64(table.state[COUNT]), 1.0)


@njit(nogil=True, cache=True)
def unfile_slot(
    arrays: PyramidArrays,
    table: SubscriptionTable,
    boxes: npt.NDArray[np.float64],
    stack: npt.NDArray[np.int64],
    slot: Integer,
) -> None:
    """Take all entries of a subscription out."""
    start = np.int64(table.geometry_start[slot])
    n_boxes = index_boxes(arrays.frame[4] != 0.0, table.shape[slot], table.geometry, start, boxes)
    frame = arrays.frame
    clause = np.int64(table.term_start[slot])
    while True:
        header = np.int64(table.term[clause])
        word = np.int64(table.term[clause + 1]) if header & 0xFFFF else np.int64(ANY_WORD)
        for i in range(n_boxes):
            _unfile(
                arrays,
                stack,
                word,
                fixed(boxes[i, 0], frame[0], frame[2]),
                fixed(boxes[i, 1], frame[1], frame[3]),
                fixed(boxes[i, 2], frame[0], frame[2]),
                fixed(boxes[i, 3], frame[1], frame[3]),
                slot,
            )
        if header & MORE_CLAUSES == 0:
            return
        clause += 1 + (header & 0xFFFF) + ((header >> EXCLUDED_SHIFT) & 0x7FFF)


@njit(nogil=True, cache=True)
def file_slot(
    arrays: PyramidArrays,
    table: SubscriptionTable,
    references: npt.NDArray[np.int64],
    boxes: npt.NDArray[np.float64],
    stack: npt.NDArray[np.int64],
    slot: Integer,
) -> bool:
    """File a subscription under the rarest word of each clause, which becomes the clause's first word.

    False when the arrays lack room: then nothing of it is filed, and it can be tried again with larger ones.
    """
    start = np.int64(table.geometry_start[slot])
    n_boxes = index_boxes(arrays.frame[4] != 0.0, table.shape[slot], table.geometry, start, boxes)
    clause = np.int64(table.term_start[slot])
    flags = np.uint64(0)
    # What lies everywhere fills its cell, so it never goes down, where the box of an entry is read from the table.
    if not (table.shape[slot] == EVERYWHERE or (table.shape[slot] == BOX and n_boxes == 1)):
        flags |= np.uint64(VERIFY_REGION)
    if n_boxes > 1 or table.term[clause] & np.uint32(MORE_CLAUSES):
        flags |= np.uint64(REPEATED)
    frame = arrays.frame
    per_reference = prior(table)
    while True:
        header = np.int64(table.term[clause])
        positive, excluded = header & 0xFFFF, (header >> EXCLUDED_SHIFT) & 0x7FFF
        word, tags, verify = np.int64(ANY_WORD), np.uint64(0), positive > 3 or excluded > 0
        if positive:
            best, _, _ = rarest(table.term, arrays.hits, references, per_reference, clause)
            table.term[clause + 1], table.term[best] = table.term[best], table.term[clause + 1]
            word = np.int64(table.term[clause + 1])
            for i in range(1, positive if positive < 3 else 3):
                other = np.int64(table.term[clause + 1 + i])
                tags |= np.uint64(other & 0xFFFF) << np.uint64(16 + 16 * i)
                verify |= other > 0xFFFF
        what = tags | np.uint64(slot) | flags | (np.uint64(VERIFY_WORDS) if verify else np.uint64(0))
        for i in range(n_boxes):
            if not _file(
                arrays,
                table,
                stack,
                word,
                fixed(boxes[i, 0], frame[0], frame[2]),
                fixed(boxes[i, 1], frame[1], frame[3]),
                fixed(boxes[i, 2], frame[0], frame[2]),
                fixed(boxes[i, 3], frame[1], frame[3]),
                what,
            ):
                unfile_slot(arrays, table, boxes, stack, slot)
                return False
        if header & MORE_CLAUSES == 0:
            return True
        clause += 1 + positive + excluded
