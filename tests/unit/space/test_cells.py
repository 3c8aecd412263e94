"""Cells: monotone, one to one, and curves that stay together."""

import math
import random

import numpy as np
import pytest

from tidings.space import cells as kernels
from tidings.space.cells import fixed, hilbert, morton

TOP = 2**32 - 1


@pytest.mark.parametrize(("low", "high"), [(-180.0, 180.0), (-90.0, 90.0), (0.0, 1.0), (1e-300, 3e-300), (-7.0, 1e12)])
def test_coordinates_keep_their_order(seed, low, high):
    rng = random.Random(seed)
    values = [low + (high - low) * rng.random() for _ in range(2000)]
    values += [math.nextafter(v, math.inf) for v in values] + [low, high]
    values.sort()
    cells = [int(fixed(v, low, high)) for v in values]
    assert cells == sorted(cells)
    assert cells[0] == 0
    assert cells[-1] == TOP
    assert len(set(cells)) > 1900
    assert fixed(math.nextafter(high, low), low, high) >= TOP - 1
    for value, cell in zip(values, cells, strict=True):
        assert abs(cell - (value - low) / (high - low) * 2.0**32) <= 1.0


def test_outside_is_clamped():
    assert fixed(-200.0, -180.0, 180.0) == fixed(-math.inf, -180.0, 180.0) == 0
    assert fixed(200.0, -180.0, 180.0) == fixed(math.inf, -180.0, 180.0) == TOP
    assert fixed(0.0, -180.0, 180.0) == 2**31
    assert fixed(5.0, 5.0, 5.0) == 0


def morton_cell(index):
    return kernels.morton_cell(np.uint64(index))


def hilbert_cell(index):
    return kernels.hilbert_cell(np.uint64(index))


def literal_morton(x, y):
    return sum(((x >> i & 1) << 2 * i) | ((y >> i & 1) << 2 * i + 1) for i in range(32))


def cells(rng, n):
    edges = [0, 1, 2**16, 2**31 - 1, 2**31, TOP - 1, TOP]
    return [(x, y) for x in edges for y in edges] + [(rng.randrange(2**32), rng.randrange(2**32)) for _ in range(n)]


def test_morton_interleaves(seed):
    for x, y in cells(random.Random(seed), 2000):
        index = morton(x, y)
        assert int(index) == literal_morton(x, y)
        assert morton_cell(index) == (x, y)


def test_hilbert_is_one_to_one(seed):
    rng = random.Random(seed)
    for x, y in cells(rng, 2000):
        assert hilbert_cell(hilbert(x, y)) == (x, y)
    for _ in range(2000):
        index = rng.randrange(2**64)
        assert int(hilbert(*hilbert_cell(index))) == index


def test_neighbours_on_the_hilbert_curve_are_neighbours(seed):
    rng = random.Random(seed)
    starts = [0, 2**62 - 1, 2**63 - 1, 2**64 - 2] + [rng.randrange(2**64 - 1) for _ in range(3000)]
    for index in starts:
        (ax, ay), (bx, by) = hilbert_cell(index), hilbert_cell(index + 1)
        assert abs(int(ax) - int(bx)) + abs(int(ay) - int(by)) == 1


@pytest.mark.parametrize("curve", [morton, hilbert])
def test_a_quadrant_of_any_level_is_one_run(seed, curve):
    rng = random.Random(seed)
    for _ in range(500):
        level = rng.randrange(33)
        x, y = rng.randrange(2**32) >> level << level, rng.randrange(2**32) >> level << level
        runs = {int(curve(x + rng.randrange(2**level), y + rng.randrange(2**level))) >> 2 * level for _ in range(5)}
        assert len(runs) == 1
