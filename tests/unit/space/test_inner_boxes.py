"""The box inside a polygon: all of it is in the polygon by rational arithmetic, and it is found where there is room."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from tests.unit.space.references import edges, exact, grid_ring, has_point, segment_enters, star

from tidings.model.regions import Polygon
from tidings.space.geometry import encode_region, index_boxes
from tidings.space.polygons import NO_BOX, polygon_meets
from tidings.space.validity import polygon_problem

EXTENT = (-180.0, -90.0, 180.0, 90.0)
INNER = slice(7, 11)
U = ((0.0, 0.0), (0.0, 6.0), (1.0, 6.0), (1.0, 1.0), (5.0, 1.0), (5.0, 6.0), (6.0, 6.0), (6.0, 0.0), (0.0, 0.0))
SQUARE = ((0.0, 0.0), (8.0, 0.0), (8.0, 8.0), (0.0, 8.0), (0.0, 0.0))
MIDDLE = ((3.0, 3.0), (5.0, 3.0), (5.0, 5.0), (3.0, 5.0), (3.0, 3.0))


def turned(ring, angle, x, y):
    c, s = math.cos(angle), math.sin(angle)
    return tuple((x + c * px - s * py, y + s * px + c * py) for px, py in ring)


def a_star(rng):
    return [star(rng, rng.uniform(-20, 20), rng.uniform(-20, 20), 10.0, rng.randint(3, 60))]


def a_concave_one(rng):
    return [turned(U, rng.choice([0.0, math.pi / 2, rng.uniform(0, 7)]), rng.uniform(-20, 20), rng.uniform(-20, 20))]


def one_with_holes(rng):
    if rng.random() < 0.3:
        return [SQUARE, MIDDLE, ((1.0, 1.0), (3.0, 3.0), (1.0, 2.0), (1.0, 1.0))]
    x, y = rng.uniform(-20, 20), rng.uniform(-20, 20)
    return [star(rng, x, y, 10.0, 30), star(rng, x, y, 2.9, rng.randint(3, 12))]


def a_sliver(rng):
    """A thin triangle, down to one that is a few roundings thick."""
    x, y, thick = rng.uniform(-20, 20), rng.uniform(-20, 20), 10.0 ** rng.randint(-15, -1)
    ax, ay = x + rng.uniform(-9, 9), y + rng.uniform(-9, 9)
    return [((x, y), (ax, ay), ((x + ax) / 2 + thick, (y + ay) / 2), (x, y))]


def coincidences(rng):
    """Not always valid; even-odd still says what is inside."""
    return [grid_ring(rng, rng.randint(3, 9), 6), grid_ring(rng, 4, 6)]


def inner_box(rings):
    _, stream = encode_region(Polygon(tuple(rings)), True, EXTENT)
    return tuple(stream[INNER].tolist())


@pytest.mark.parametrize(
    ("kind", "least"),
    [(a_star, 0.8), (a_concave_one, 0.95), (one_with_holes, 0.8), (a_sliver, 0.3), (coincidences, 0.3)],
)
def test_every_point_of_it_is_inside(seed, kind, least):
    rng = random.Random(seed)
    found = 0
    for _ in range(150):
        rings = kind(rng)
        x0, y0, x1, y1 = box = inner_box(rings)
        if box == NO_BOX:
            continue
        found += 1
        assert x0 <= x1
        assert y0 <= y1
        assert not any(segment_enters(a, b, exact((x0, y0)), exact((x1, y1))) for a, b in edges(rings)), (rings, box)
        points = [(x0, y0), (x0, y1), (x1, y0), (x1, y1)]
        points += [(rng.uniform(x0, x1), rng.uniform(y0, y1)) for _ in range(4)]
        assert all(has_point(rings, x, y) for x, y in points), (rings, box)
    assert found > 150 * least


def test_who_reads_it(seed):
    """What meets the inner box meets the polygon; without one the edges decide; and an index sees only the bounds."""
    rng = random.Random(seed)
    out = np.empty((2, 4))
    seen = {True: 0, False: 0}
    for _ in range(200):
        rings = rng.choice([a_star, a_sliver])(rng)
        shape, stream = encode_region(Polygon(tuple(rings)), False, EXTENT)
        assert index_boxes(False, shape, stream, 0, out) == 1
        assert np.isfinite(out[0]).all()
        assert tuple(out[0]) == tuple(stream[3:7])
        x0, y0, x1, y1 = stream[INNER].tolist()
        seen[x0 <= x1] += 1
        if x0 <= x1:
            x, y = rng.uniform(x0, x1), rng.uniform(y0, y1)
            wide, high = rng.choice([0.0, 1e-9, 9.0]), rng.choice([0.0, 1e-9, 9.0])
            assert polygon_meets(False, stream, 3, len(stream), x - wide, y, x, y + high)
            assert polygon_meets(False, stream, 3, len(stream), x, y - high, x + wide, y)
        else:
            assert not polygon_meets(False, stream, 3, len(stream), 50.0, 50.0, 60.0, 60.0)
            assert polygon_meets(False, stream, 3, len(stream), *rings[0][0], *rings[0][0])
    assert min(seen.values()) > 10


def test_it_is_large_where_there_is_room(seed):
    rng = random.Random(seed)
    shares = []
    for _ in range(50):
        angles = [(i + rng.uniform(0.1, 0.9)) * math.tau / 50 for i in range(50)]
        ring = [(r * math.cos(a), r * math.sin(a)) for a in angles for r in [rng.uniform(0.7, 1.0)]]
        ring.append(ring[0])
        x0, y0, x1, y1 = inner_box([tuple(ring)])
        shares.append((x1 - x0) * (y1 - y0) / (sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring)) / 2))
    assert sum(shares) / len(shares) > 0.5
    x0, y0, x1, y1 = inner_box([SQUARE])
    assert (x1 - x0) * (y1 - y0) > 0.999 * 64.0


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-160, 1e-9, 1.0, 1e150, 1e300, 2e307])
def test_any_finite_coordinates_will_do(scale):
    for rings in ([U], [SQUARE, MIDDLE]):
        scaled = [tuple((x * scale, y * scale) for x, y in ring) for ring in rings]
        assert polygon_problem(scaled) is None
        box = inner_box(scaled)
        if box != NO_BOX:
            corners = exact(box[:2]), exact(box[2:])
            assert box[0] <= box[2]
            assert box[1] <= box[3]
            assert has_point(scaled, *box[:2])
            assert not any(segment_enters(a, b, *corners) for a, b in edges(scaled))
        elif 1e-100 < scale < 1e100:
            pytest.fail("there is room")
