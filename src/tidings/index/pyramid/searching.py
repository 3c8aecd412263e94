"""Searching the pyramid: for every message of a batch, the subscriptions it matches, in CSR form.

For each of its words (and for "any word") a message walks down that word's quadtree through the cells that it
touches. An entry costs one subtraction and a mask; one that meets the message's box is checked by its tags against
the set of the message's words, and only one that says so is verified against the table. A subscription found more
than once (several clauses, several boxes, a message over several cells) is reported once.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.prefetching import prefetch
from tidings.columns.subscriptions import SubscriptionTable
from tidings.dtypes import Integer
from tidings.index.base import Messages
from tidings.index.clauses import add_word, has_word, satisfies
from tidings.index.pyramid.arrays import (
    ANY_WORD,
    CHILDREN,
    LANE,
    LENGTH,
    LOWS,
    MATCHED,
    MESSAGES,
    NODE_SIZE,
    PROBED,
    REPEATED,
    SCANNED,
    SLOT_MASK,
    START,
    TOPS,
    VERIFIED,
    VERIFY_REGION,
    VERIFY_WORDS,
    PyramidArrays,
    fixed,
    local,
    packed,
)
from tidings.space.cells import morton
from tidings.space.geometry import PLACE_BOXES, place_boxes, region_meets


@njit(nogil=True, cache=True)
def _unique(slots: npt.NDArray[np.int32], first: Integer, last: Integer) -> Integer:
    """Sort the slots of one message and drop what stands there twice; the new end."""
    part = np.sort(slots[first:last])
    n = first
    for i in range(len(part)):
        if i == 0 or part[i] != part[i - 1]:
            slots[n] = part[i]
            n += 1
    return n


@njit(nogil=True, cache=True)
def visiting_order(place: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The messages of a batch along a space-filling curve, so that one finds in the cache what the last one read.

    At a million subscriptions this saves a sixth of the time; the curve is laid over the batch's own extent.
    """
    n = len(place)
    order = np.arange(n)
    if n < 64:
        return order
    low_x, low_y = place[:, 0].min(), place[:, 1].min()
    scale_x = 255.0 / max(place[:, 0].max() - low_x, 1e-300)
    scale_y = 255.0 / max(place[:, 1].max() - low_y, 1e-300)
    key = np.empty(n, np.int64)
    for i in range(n):
        x, y = np.int64((place[i, 0] - low_x) * scale_x), np.int64((place[i, 1] - low_y) * scale_y)
        key[i] = np.int64(morton(x, y))
    other = np.empty(n, np.int64)
    for shift in (0, 8):
        place_of = np.zeros(257, np.int64)
        for i in range(n):
            place_of[(key[i] >> shift & 255) + 1] += 1
        place_of = np.cumsum(place_of)
        for k in range(n):
            digit = key[order[k]] >> shift & 255
            other[place_of[digit]] = order[k]
            place_of[digit] += 1
        order, other = other, order
    return order


@njit(nogil=True, cache=True)
def search(
    arrays: PyramidArrays,
    table: SubscriptionTable,
    messages: Messages,
    versions: bool,
    low_set: npt.NDArray[np.uint64],
    words: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The matches of each message: offsets and slots.

    `versions` says whether the table holds subscriptions that are not in force at all of these positions. The two bit
    sets are scratch: by the low sixteen bits of an id, and by the id; where all ids have sixteen bits, the second
    serves as both. The walk is written out here: as functions of its own its parts cost three times as much, since
    every call counts the references of all arrays that it is given.
    """
    globe, frame = arrays.frame[4] != 0.0, arrays.frame
    node, entry, root_of, hits = arrays.node, arrays.entry, arrays.root, arrays.hits
    places, word_start, word_id, position = messages.place, messages.word_start, messages.word, messages.position
    term, term_start, born, dead = table.term, table.term_start, table.born, table.dead
    shape, geometry, geometry_start = table.shape, table.geometry, table.geometry_start
    narrow = len(words) <= len(low_set)
    low_set = words if narrow else low_set
    n = len(position)
    slots = np.empty(max(8 * n, 64), np.int32)
    boxes, stack = np.empty((PLACE_BOXES, 4), np.float64), np.empty((1024, 4), np.int64)
    order = visiting_order(places)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    found = probed = scanned = verified = np.int64(0)
    add_word(low_set, ANY_WORD)
    add_word(words, ANY_WORD)
    for k in range(n):
        message = order[k]
        # The roots of the next but one, and the first entries of the next: together a fifteenth of the time.
        if k + 2 < n:
            for i in range(word_start[order[k + 2]], word_start[order[k + 2] + 1]):
                prefetch(node, np.int64(root_of[word_id[i]]))
        if k + 1 < n:
            for i in range(word_start[order[k + 1]], word_start[order[k + 1] + 1]):
                root = np.int64(root_of[word_id[i]])
                prefetch(entry, np.int64(node[root + START]))
                prefetch(entry, np.int64(node[root + START]) + 8)
                prefetch(node, np.int64(node[root + CHILDREN]))
        first_word, last_word = word_start[message], word_start[message + 1]
        for i in range(first_word, last_word):
            word = np.int64(word_id[i])
            add_word(low_set, word & 0xFFFF)
            add_word(words, word)
            hits[word] += np.uint32(1)
        mx0, my0, mx1, my1 = places[message, 0], places[message, 1], places[message, 2], places[message, 3]
        n_boxes = place_boxes(globe, mx0, my0, mx1, my1, boxes)
        repeated, unsure = n_boxes > 1, np.int64(0)
        first[message] = found
        for which in range(n_boxes):
            x0, y0 = fixed(boxes[which, 0], frame[0], frame[2]), fixed(boxes[which, 1], frame[1], frame[3])
            x1, y1 = fixed(boxes[which, 2], frame[0], frame[2]), fixed(boxes[which, 3], frame[1], frame[3])
            is_point = x0 == x1 and y0 == y1
            repeated |= not is_point
            for i in range(first_word - 1, last_word):
                word = np.int64(word_id[i]) if i >= first_word else np.int64(ANY_WORD)
                at_node = np.int64(root_of[word])
                if at_node == 0 or (word == ANY_WORD and i >= first_word):
                    continue
                level = origin_x = origin_y = depth = np.int64(0)
                while True:
                    if is_point:
                        # The point lies in the cell, so its coordinates there are bits of its fixed-point ones.
                        a, b = x0 >> (17 - level) & LANE, y0 >> (17 - level) & LANE
                        c, d = a, b
                    else:
                        a, c = local(x0, origin_x, level), local(x1, origin_x, level)
                        b, d = local(y0, origin_y, level), local(y1, origin_y, level)
                    mine = packed(c, d, LANE - a, LANE - b) | TOPS
                    start, length = np.int64(node[at_node + START]), np.int64(node[at_node + LENGTH])
                    probed += 1
                    scanned += length
                    for at in range(start, start + 2 * length, 2):
                        difference = mine - entry[at]
                        if difference & TOPS != TOPS:
                            continue
                        what = entry[at + 1]
                        tag, other = (
                            np.int64(what >> np.uint64(32) & np.uint64(0xFFFF)),
                            np.int64(what >> np.uint64(48)),
                        )
                        if not (has_word(low_set, tag) and has_word(low_set, other)):
                            continue
                        slot = np.int64(what & np.uint64(SLOT_MASK))
                        repeated |= what & np.uint64(REPEATED) != 0
                        if what & np.uint64(VERIFY_WORDS):
                            verified += 1
                            if not satisfies(term, np.int64(term_start[slot]), words):
                                continue
                        elif not (narrow or (has_word(words, tag) and has_word(words, other))):
                            # The tags are whole ids; those of the message in the set they were found in may not be.
                            continue
                        if versions and not born[slot] < position[message] < dead[slot]:
                            continue
                        # A box that is met in the interior of coarser coordinates is met.
                        if what & np.uint64(VERIFY_REGION) or (difference & LOWS) + LOWS & TOPS != TOPS:
                            at_geometry = np.int64(geometry_start[slot])
                            prefetch(geometry, at_geometry)
                            prefetch(geometry, at_geometry + 8)
                            unsure += 1
                            slot = -slot
                        if found == len(slots):
                            longer = np.empty(2 * found, np.int32)
                            longer[:found] = slots
                            slots = longer
                        slots[found] = slot
                        found += 1
                    quad = np.int64(node[at_node + CHILDREN])
                    if quad and is_point:
                        at_node = quad + NODE_SIZE * (2 * (b >> 14) + (a >> 14))
                        level += 1
                        continue
                    if quad:
                        half = np.int64(1) << (31 - level)
                        for cy in range(b >> 14, (d >> 14) + 1):
                            for cx in range(a >> 14, (c >> 14) + 1):
                                stack[depth, 0], stack[depth, 1] = quad + NODE_SIZE * (2 * cy + cx), level + 1
                                stack[depth, 2], stack[depth, 3] = origin_x + cx * half, origin_y + cy * half
                                depth += 1
                    if depth == 0:
                        break
                    depth -= 1
                    at_node, level = stack[depth, 0], stack[depth, 1]
                    origin_x, origin_y = stack[depth, 2], stack[depth, 3]
        verified += unsure
        if unsure:
            certain = first[message]
            for i in range(first[message], found):
                slot = np.int64(slots[i])
                if slot < 0:
                    slot = -slot
                    if not region_meets(
                        globe, shape[slot], geometry, np.int64(geometry_start[slot]), mx0, my0, mx1, my1
                    ):
                        continue
                slots[certain] = slot
                certain += 1
            found = certain
        if repeated and found > first[message] + 1:
            found = _unique(slots, first[message], found)
        last[message] = found
        for i in range(first_word, last_word):
            word = np.int64(word_id[i])
            low_set[(word & 0xFFFF) >> 6] = np.uint64(0)
            words[word >> 6] = np.uint64(0)
        add_word(low_set, ANY_WORD)
        add_word(words, ANY_WORD)
    counter = arrays.counter
    counter[MESSAGES] += n
    counter[PROBED] += probed
    counter[SCANNED] += scanned
    counter[VERIFIED] += verified
    counter[MATCHED] += found
    return _in_order(slots, first, last)


@njit(nogil=True, cache=True)
def _in_order(
    slots: npt.NDArray[np.int32], first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The slots of each message in CSR form, in the order of the messages instead of that of the visits."""
    n = len(first)
    offset = np.zeros(n + 1, np.int64)
    for message in range(n):
        offset[message + 1] = offset[message] + last[message] - first[message]
    ordered = np.empty(offset[n], np.int32)
    for message in range(n):
        ordered[offset[message] : offset[message + 1]] = slots[first[message] : last[message]]
    return offset, ordered
