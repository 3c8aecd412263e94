"""Polygons: points and boxes against rational arithmetic, the rules of the globe, and which rings make a polygon."""

import math
import random

import numpy as np
import pytest
from tests.unit.space.references import grid_ring, has_point, is_valid, meets_flat_box, star

from tidings.model.regions import Polygon
from tidings.space.geometry import encode_region
from tidings.space.polygons import polygon_has_point, polygon_meets, polygon_meets_flat_box
from tidings.space.validity import polygon_problem

EXTENT = (-180.0, -90.0, 180.0, 90.0)
SQUARE = ((0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (0.0, 8.0), (0.0, 0.0))


def stream_of(rings):
    """The stream of a polygon with something before it, as it stands in a table."""
    _, stream = encode_region(Polygon(tuple(rings)), True, EXTENT)
    return np.concatenate(([7.0] * 5, stream)), 8, 5 + len(stream)


def some_polygon(rng):
    x, y = rng.uniform(-20, 20), rng.uniform(-20, 20)
    kind = rng.randrange(3)
    if kind == 0:
        return [grid_ring(rng, rng.randint(3, 9), 6), grid_ring(rng, 4, 6)]
    if kind == 1:
        return [star(rng, x, y, 10.0, rng.randint(3, 30)), star(rng, x, y, 2.9, rng.randint(3, 12))]
    return [star(rng, x, y, 10.0, rng.randint(3, 60))]


def a_point_near(rng, rings):
    """A vertex, a point on or within a rounding of an edge, or a corner made of the coordinates that occur."""
    ring = rng.choice(rings)
    i = rng.randrange(len(ring) - 1)
    (ax, ay), (bx, by) = ring[i], ring[i + 1]
    kind = rng.randrange(5)
    if kind == 0:
        return ax, ay
    if kind == 1:
        t = rng.choice([0.5, 0.25, rng.random()])
        return ax + t * (bx - ax), ay + t * (by - ay)
    if kind == 2:
        return math.nextafter((ax + bx) / 2, rng.choice([-1e9, 1e9])), (ay + by) / 2
    if kind == 3:
        return rng.choice(rng.choice(rings))[0], rng.choice(rng.choice(rings))[1]
    return rng.uniform(-30, 30), rng.uniform(-30, 30)


def test_points(seed):
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(400):
        rings = some_polygon(rng)
        stream, start, end = stream_of(rings)
        for _ in range(6):
            x, y = a_point_near(rng, rings)
            expected = has_point(rings, x, y)
            assert polygon_has_point(stream, start, end, x, y) == expected, (rings, x, y)
            assert polygon_meets_flat_box(stream, start, end, x, y, x, y) == expected, (rings, x, y)
            seen[expected] += 1
    assert min(seen.values()) > 200


def test_boxes_segments_and_points(seed):
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(400):
        rings = some_polygon(rng)
        stream, start, end = stream_of(rings)
        for _ in range(6):
            x0, y0 = a_point_near(rng, rings)
            if rng.random() < 0.5:
                x1, y1 = a_point_near(rng, rings)
            else:
                x1, y1 = x0 + rng.choice([0.0, 0.1, 1.0]), y0 + rng.choice([0.0, 0.1, 1.0])
            box = min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
            expected = meets_flat_box(rings, *box)
            assert polygon_meets_flat_box(stream, start, end, *box) == expected, (rings, box)
            assert polygon_meets(False, stream, start, end, *box) == expected, (rings, box)
            seen[expected] += 1
    assert min(seen.values()) > 200


def test_dyadic_shifts_and_mirrors_change_nothing(seed):
    rng = random.Random(seed)
    for _ in range(200):
        rings = [grid_ring(rng, 6, 6), grid_ring(rng, 4, 6)]
        x, y = rng.randint(0, 12) / 2, rng.randint(0, 12) / 2
        answer = polygon_has_point(*stream_of(rings), x, y)
        by = rng.randrange(-600, 600) / 4
        shifted = [tuple((px + by, py) for px, py in ring) for ring in rings]
        assert polygon_has_point(*stream_of(shifted), x + by, y) == answer
        mirrored = [tuple((px, -py) for px, py in ring) for ring in rings]
        assert polygon_has_point(*stream_of(mirrored), x, -y) == answer
        backwards = [ring[::-1] for ring in rings]
        assert polygon_has_point(*stream_of(backwards), x, y) == answer


def test_the_globe_joins_its_edges():
    east = stream_of([((170.0, 0.0), (180.0, 5.0), (170.0, 10.0), (170.0, 0.0))])
    assert polygon_meets(True, *east, -180.0, 5.0, -180.0, 5.0)
    assert not polygon_meets(True, *east, -180.0, 6.0, -180.0, 6.0)
    assert not polygon_meets(False, *east, -180.0, 5.0, -180.0, 5.0)
    assert polygon_meets(True, *east, -180.0, 5.0, -170.0, 9.0)
    assert polygon_meets(True, *east, 175.0, 5.0, -170.0, 9.0)
    assert polygon_meets(True, *east, 180.0, 5.0, -170.0, 9.0)
    assert not polygon_meets(True, *east, -179.0, 5.0, -170.0, 9.0)
    west = stream_of([((-170.0, 0.0), (-180.0, 5.0), (-170.0, 10.0), (-170.0, 0.0))])
    assert polygon_meets(True, *west, 180.0, 5.0, 180.0, 5.0)
    assert polygon_meets(True, *west, 175.0, 4.0, 180.0, 5.0)
    north = stream_of([((0.0, 80.0), (20.0, 80.0), (10.0, 90.0), (0.0, 80.0))])
    assert polygon_meets(True, *north, 100.0, 90.0, 100.0, 90.0)
    assert polygon_meets(True, *north, 100.0, 85.0, 110.0, 90.0)
    assert not polygon_meets(True, *north, 100.0, 85.0, 110.0, 89.0)
    assert not polygon_meets(False, *north, 100.0, 90.0, 100.0, 90.0)


def test_validity_of_rings_full_of_coincidences(seed):
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    for i in range(6000):
        rings = [grid_ring(rng, rng.randint(3, 5), 4)]
        expected = is_valid(rings)
        assert (polygon_problem(rings) is None) == expected, (i, rings, polygon_problem(rings))
        seen[expected] += 1
    assert min(seen.values()) > 300


OUTERS = [
    ((0.0, 0.0), (6.0, 0.0), (6.0, 6.0), (0.0, 6.0), (0.0, 0.0)),
    ((0.0, 0.0), (6.0, 0.0), (6.0, 6.0), (3.0, 3.0), (0.0, 6.0), (0.0, 0.0)),
    ((0.0, 0.0), (3.0, 2.0), (6.0, 0.0), (4.0, 3.0), (6.0, 6.0), (3.0, 4.0), (0.0, 6.0), (2.0, 3.0), (0.0, 0.0)),
    ((0.0, 0.0), (0.0, 6.0), (2.0, 6.0), (2.0, 2.0), (4.0, 2.0), (4.0, 6.0), (6.0, 6.0), (6.0, 0.0), (0.0, 0.0)),
]


def test_validity_of_holes_that_touch(seed):
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    while min(seen.values()) < 250:
        hole = grid_ring(rng, rng.randint(3, 4), 6)
        outer = rng.choice(OUTERS)
        rings = [rng.choice([outer, outer[::-1]]), hole]
        if polygon_problem([hole]) is not None or (seen[False] >= 500 and rng.random() < 0.5):
            continue
        expected = is_valid(rings)
        assert (polygon_problem(rings) is None) == expected, (rings, polygon_problem(rings))
        seen[expected] += 1


def test_validity_of_two_holes(seed):
    rng = random.Random(seed)
    around = ((-1.0, -1.0), (9.0, -1.0), (9.0, 9.0), (-1.0, 9.0), (-1.0, -1.0))
    seen = {True: 0, False: 0}
    for _ in range(600):
        rings = [around, grid_ring(rng, 3, 4), grid_ring(rng, 3, 4)]
        if polygon_problem(rings[1:2]) is None and polygon_problem(rings[2:]) is None:
            expected = is_valid(rings)
            assert (polygon_problem(rings) is None) == expected, (rings, polygon_problem(rings))
            seen[expected] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize(
    ("rings", "said"),
    [
        ([], "no rings"),
        ([()], "0 positions"),
        ([SQUARE[:3]], "3 positions"),
        ([SQUARE[:4]], "not closed"),
        ([(*SQUARE[:2], *SQUARE[1:])], "positions 1 and 2 are the same"),
        ([((0.0, 0.0), (4.0, 4.0), (2.0, 2.0), (0.0, 0.0))], "touches itself"),
        ([((0.0, 0.0), (4.0, 4.0), (4.0, 0.0), (0.0, 4.0), (0.0, 0.0))], "edge 0 meets edge 2"),
        ([SQUARE, ((9.0, 9.0), (10.0, 9.0), (10.0, 10.0), (9.0, 9.0))], "hole 1 lies outside"),
        ([SQUARE, ((4.0, 4.0), (10.0, 4.0), (4.0, 6.0), (4.0, 4.0))], "hole 1 crosses the outer ring"),
        ([SQUARE, SQUARE], "hole 1 runs along the outer ring"),
    ],
)
def test_what_is_wrong_is_said(rings, said):
    assert said in polygon_problem(rings)


def test_a_thousand_vertices_and_no_more(seed):
    rng = random.Random(seed)
    assert polygon_problem([star(rng, 0.0, 0.0, 50.0, 1000)]) is None
    assert "more than 1000" in polygon_problem([star(rng, 0.0, 0.0, 50.0, 1001)])
    assert "more than 1000" in polygon_problem([star(rng, 0.0, 0.0, 50.0, 990), star(rng, 0.0, 0.0, 1.0, 11)])


def test_tiny_polygons_far_from_the_origin(seed):
    rng = random.Random(seed)
    step = math.ulp(100.0)
    for _ in range(300):
        ring = tuple((100.0 + x * step, 50.0 + y * step) for x, y in grid_ring(rng, 3, 5))
        assert (polygon_problem([ring]) is None) == is_valid([ring])
