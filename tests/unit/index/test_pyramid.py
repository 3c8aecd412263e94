"""The parts of the pyramid: fixed-point boxes, and the shape that its trees keep whatever is filed and unfiled."""

import math
from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.contract.worlds import GROUNDS, Churn, Scene, World

from tidings.columns.block import EXCLUDED_SHIFT, MORE_CLAUSES, NEVER, WITHIN
from tidings.index.pyramid import arrays as a
from tidings.index.pyramid.arrays import CAPACITY, CHILDREN, LENGTH, NODE_SIZE, START, fixed, local, packed
from tidings.index.pyramid.filing import goes_down
from tidings.index.pyramid.tuning import HALF_LIFE, fade
from tidings.model.events import Register, Remove
from tidings.model.subscriptions import Within
from tidings.space.geometry import INDEX_BOXES, index_boxes

LANES = st.integers(0, a.LANE)
FULL = 2**32 - 1


@given(st.floats(-180, 180), st.floats(-180, 180))
def test_fixed_is_monotone_and_fills_its_range(x, y):
    scale = 2.0**32 / 360.0
    one, other = fixed(x, -180.0, scale), fixed(y, -180.0, scale)
    assert 0 <= one <= FULL
    assert (one <= other) if x <= y else (one >= other)
    assert fixed(-180.0, -180.0, scale) == 0
    assert fixed(180.0, -180.0, scale) == FULL
    assert fixed(0.0, -180.0, scale) == 1 << 31
    assert fixed(-math.inf, -180.0, scale) == 0
    assert fixed(math.inf, -180.0, scale) == FULL


@given(st.integers(0, FULL), st.integers(0, FULL), st.integers(0, 17))
def test_local_is_monotone_and_clamps_to_the_cell(value, other, level):
    side = 1 << (32 - level)
    origin = other // side * side
    here = local(value, origin, level)
    if value < origin:
        assert here == 0
    elif value >= origin + side:
        assert here == a.LANE
    else:
        assert here == (value - origin) * 32768 // side
    assert local(min(value + 1, FULL), origin, level) >= here


@given(st.tuples(LANES, LANES, LANES, LANES), st.tuples(LANES, LANES, LANES, LANES))
def test_one_subtraction_compares_four_sides(one, other):
    x0, x1 = sorted(one[:2])
    y0, y1 = sorted(one[2:])
    p0, p1 = sorted(other[:2])
    q0, q1 = sorted(other[2:])
    entry = int(packed(x0, y0, a.LANE - x1, a.LANE - y1))
    mine = int(packed(p1, q1, a.LANE - p0, a.LANE - q0)) | int(a.TOPS)
    difference = (mine - entry) % 2**64
    meets = x0 <= p1 and p0 <= x1 and y0 <= q1 and q0 <= y1
    assert (difference & int(a.TOPS) == int(a.TOPS)) == meets
    if meets:
        lanes = [(difference >> shift & 0x7FFF) for shift in (0, 16, 32, 48)]
        assert lanes == [p1 - x0, q1 - y0, x1 - p0, y1 - q0]
        inside = (((difference & int(a.LOWS)) + int(a.LOWS)) & int(a.TOPS)) == int(a.TOPS)
        assert inside == all(lanes)


@given(LANES, LANES, LANES, LANES)
def test_what_goes_down_is_small_and_touches_at_most_two_children(x0, y0, x1, y1):
    x0, x1 = sorted((x0, x1))
    y0, y1 = sorted((y0, y1))
    children = {(x >> 14, y >> 14) for x in (x0, x1) for y in (y0, y1)}
    small = x1 - x0 <= 16384 and y1 - y0 <= 16384
    assert goes_down(x0, y0, x1, y1) == (small and len(children) <= 2)


def entries_of(world):
    """Every entry of the pyramid as (word, slot, level), after a look at everything that must hold of its trees."""
    arrays, table = world.index._arrays, world.subscriptions.table
    found, taken, node_taken = Counter(), [], []
    n = 0
    for word in np.flatnonzero(arrays.root).tolist():
        stack = [(int(arrays.root[word]), 0, 0, 0)]
        node_taken.append((stack[0][0], NODE_SIZE))
        while stack:
            node, level, x, y = stack.pop()
            start, length, capacity, quad = (int(arrays.node[node + i]) for i in (START, LENGTH, CAPACITY, CHILDREN))
            assert length <= capacity
            assert level <= a.MAX_LEVEL
            assert (capacity == 0) == (length == 0), "an empty list holds no room"
            assert level > 0 or length or quad, "a tree without entries is gone"
            if capacity:
                taken.append((start, 2 * capacity))
            n += length
            for at in range(start, start + 2 * length, 2):
                slot = int(arrays.entry[at + 1]) & a.SLOT_MASK
                assert table.kind[slot] == WITHIN
                assert table.dead[slot] == NEVER
                assert meets_cell(world, slot, level, x, y)
                found[word, slot, level] += 1
            if quad:
                node_taken.append((quad, 4 * NODE_SIZE))
                side = 1 << (32 - level - 1)
                children = [
                    (quad + NODE_SIZE * (2 * cy + cx), level + 1, x + cx * side, y + cy * side)
                    for cy in (0, 1)
                    for cx in (0, 1)
                ]
                assert any(arrays.node[child[0] + LENGTH] or arrays.node[child[0] + CHILDREN] for child in children)
                stack += children
    for pieces, end in ((taken, int(arrays.entry_head[-1])), (node_taken, int(arrays.node_head[-1]))):
        pieces.sort()
        assert all(s + size <= t for (s, size), (t, _) in pairwise(pieces)), "no piece is shared"
        assert not pieces or pieces[-1][0] + pieces[-1][1] <= end
    assert n == world.index.stats()["entries"] == int(arrays.counter[a.ENTRIES])
    return found


def boxes_of(world, slot):
    """The fixed-point boxes that a slot is filed by."""
    arrays, table = world.index._arrays, world.subscriptions.table
    boxes, frame = np.empty((INDEX_BOXES, 4)), arrays.frame
    start = int(table.geometry_start[slot])
    n = index_boxes(bool(frame[4]), int(table.shape[slot]), table.geometry, start, boxes)
    return [tuple(int(fixed(box[i], frame[i % 2], frame[2 + i % 2])) for i in range(4)) for box in boxes[:n].tolist()]


def meets_cell(world, slot, level, x, y):
    side = 1 << (32 - level)
    return any(x0 < x + side and x <= x1 and y0 < y + side and y <= y1 for x0, y0, x1, y1 in boxes_of(world, slot))


def filed_under(world, slot):
    """The first word of each clause."""
    table, words = world.subscriptions.table, []
    place = int(table.term_start[slot])
    while True:
        header = int(table.term[place])
        words.append(int(table.term[place + 1]) if header & 0xFFFF else a.ANY_WORD)
        if not header & MORE_CLAUSES:
            return words
        place += 1 + (header & 0xFFFF) + ((header >> EXCLUDED_SHIFT) & 0x7FFF)


def assert_in_shape(world):
    found = entries_of(world)
    filed = {(word, slot) for word, slot, _ in found}
    slots = world.subscriptions.of_kind(WITHIN).tolist()
    assert filed == {(word, slot) for slot in slots for word in filed_under(world, slot)}
    return found


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("n_words", [1, 6, 60])
def test_the_trees_keep_their_shape(ground, n_words, seed):
    scene = Scene(Random(f"{seed} {ground} {n_words}"), GROUNDS[ground], n_words)
    world, churn = World("pyramid", scene.space), Churn(scene, 600)
    levels = 0
    for growth in (1.0, 1.0, 0.5, 0.2, 0.9):
        world.run(churn.events(150, growth))
        levels = max(levels, *(level for _, _, level in assert_in_shape(world)))
        world.run(scene.messages(30))
        assert_in_shape(world)
    assert levels >= (2 if n_words == 1 else 0)
    world.run(churn.removals())
    assert not entries_of(world)
    assert not world.index._arrays.root.any()


def test_common_words_are_refiled_and_nothing_is_lost(seed):
    """The patrol moves what is filed under a word that has become common."""
    random = Random(seed)
    scene = Scene(random, GROUNDS["plane"], 8)
    world, reference = World("pyramid", scene.space), World("brute", scene.space)
    names, words = [f"s{i}" for i in range(400)], [f"w{i}" for i in range(8)]
    events = [Register(Within(name, scene.region(), " AND ".join(random.sample(words, 2)))) for name in names]
    world.run(events)
    reference.run(events)
    for frequent in ("w7", "w6", "w5", "w4"):
        for _ in range(6):
            messages = [replace(message, words=(frequent, "w0")) for message in scene.messages(100)]
            assert world.run(messages) == reference.run(messages)
        assert_in_shape(world)
    assert world.index.stats()["refiled"] >= 10
    world.run([Remove(name) for name in names])
    world.assert_empty()


def test_habits_fade():
    arrays = a.empty_pyramid((0.0, 0.0, 1.0, 1.0), False)
    arrays.hits[5] = 100
    arrays.counter[a.MESSAGES] = HALF_LIFE - 1
    fade(arrays)
    assert arrays.hits[5] == 100
    arrays.counter[a.MESSAGES] = HALF_LIFE
    fade(arrays)
    assert arrays.hits[5] == 50
    assert arrays.counter[a.MESSAGES] == HALF_LIFE // 2
