"""The cut corners of a polygon: no point of it lies beyond them, by rational arithmetic, and what does is outside."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.space.references import has_point, star

from tidings.model.regions import Polygon
from tidings.space.geometry import encode_region
from tidings.space.polygons import cut_corners, polygon_has_point
from tidings.space.shapes import POLYGON_RINGS

EXTENT = (-180.0, -90.0, 180.0, 90.0)
DIAMOND = ((4.0, 0.0), (8.0, 4.0), (4.0, 8.0), (0.0, 4.0), (4.0, 0.0))


def numbers_of(rings):
    _, stream = encode_region(Polygon(tuple(rings)), False, EXTENT)
    return stream[3:].copy()


def is_cut(numbers, x, y):
    """Whether the cut corners alone tell that a point is outside, as the kernel reads them."""
    least_up, least_down, most_up, most_down = numbers[8:12].tolist()
    return not (least_up <= x + y <= most_up and least_down <= x - y <= most_down)


def points_near(rng, ring):
    """Vertices, points of the edges as floating point has them, and neighbours of both."""
    for _ in range(12):
        i = rng.randrange(len(ring) - 1)
        (ax, ay), (bx, by) = ring[i], ring[i + 1]
        t = rng.choice([0.0, 0.5, rng.random()])
        x, y = ax + t * (bx - ax), ay + t * (by - ay)
        yield x, y
        yield math.nextafter(x, rng.choice([-math.inf, math.inf])), y
        yield x, math.nextafter(y, rng.choice([-math.inf, math.inf]))


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6, 1e15])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e-3, 10.0, 1e6])
def test_no_point_of_a_polygon_is_cut(seed, offset, size):
    """With an offset, small sizes leave rings of a few roundings, often of no area: even-odd still says what is in."""
    rng = random.Random(seed)
    inside = 0
    for _ in range(8):
        x, y = rng.choice([-1, 1]) * offset, rng.choice([-1, 1, 0.01]) * offset
        rings = [star(rng, x, y, size, rng.randint(3, 20))]
        numbers = numbers_of(rings)
        random_ones = [(x + size * rng.uniform(-1, 1), y + size * rng.uniform(-1, 1)) for _ in range(12)]
        for point in [*points_near(rng, rings[0]), *random_ones]:
            expected = has_point(rings, *point)
            inside += expected
            assert not (expected and is_cut(numbers, *point)), (rings, point)
            assert polygon_has_point(numbers, 0, len(numbers), *point) == expected, (rings, point)
    assert inside > 50


@pytest.mark.parametrize("offset", [0.0, 0.1, 1e6 + 0.1, -(2.0**53) + 3.0])
def test_edges_along_a_diagonal_are_not_cut(seed, offset):
    """All of such an edge is at the extreme, where one rounding would cut it; its points are rational multiples."""
    rng = random.Random(seed)
    ring = tuple((x + offset, y - offset / 3) for x, y in DIAMOND)
    numbers = numbers_of([ring])
    on_edge = 0
    for _ in range(300):
        (ax, ay), (bx, by) = rng.choice([(ring[i], ring[i + 1]) for i in range(4)])
        t = Fraction(rng.randrange(2**20 + 1), 2**20)
        x, y = (float(Fraction(a) + t * (Fraction(b) - Fraction(a))) for a, b in ((ax, bx), (ay, by)))
        expected = has_point([ring], x, y)
        on_edge += expected
        assert not (expected and is_cut(numbers, x, y)), (ring, x, y)
        assert polygon_has_point(numbers, 0, len(numbers), x, y) == expected
    assert on_edge > 50


def test_far_corners_are_cut():
    """The answer is that of the corners, not of the edges: it comes with rings that would say the opposite."""
    numbers = numbers_of([DIAMOND])
    assert numbers[8:12].tolist() == [4.0, -4.0, 12.0, 4.0]
    square = ((0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (0.0, 8.0), (0.0, 0.0))
    told_by_edges = np.concatenate((numbers_of([square])[:8], numbers[8:12], numbers_of([square])[POLYGON_RINGS:]))
    for x, y in [(1.0, 1.0), (7.0, 1.0), (1.0, 7.0), (7.0, 7.0)]:
        assert not polygon_has_point(numbers, 0, len(numbers), x, y)
        assert not polygon_has_point(told_by_edges, 0, len(told_by_edges), x, y)
    assert polygon_has_point(told_by_edges, 0, len(told_by_edges), 4.0, 4.0)


def test_many_at_once_are_as_one_by_one(seed):
    x, y = np.random.default_rng(seed).normal(size=(2, 5, 9))
    assert cut_corners(x, y).tolist() == [cut_corners(x[i], y[i]).tolist() for i in range(5)]


def test_sums_beyond_floating_point_cut_nothing_of_the_polygon():
    ring = tuple((x * 2e307, y * 2e307) for x, y in DIAMOND)
    ring = tuple((x, y + 1e307) for x, y in ring)
    far = tuple((x * 1.1e307 + 8e307, y * 1.1e307 + 8e307) for x, y in DIAMOND)
    for rings in ([ring], [far]):
        numbers = numbers_of(rings)
        assert all(polygon_has_point(numbers, 0, len(numbers), *point) for point in rings[0])
    assert numbers_of([far])[10] == math.inf
