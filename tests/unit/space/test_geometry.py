"""Regions as numbers: what meets what, and that no index loses a meeting."""

import math
import random

import numpy as np
import pytest
from tests.unit.space.references import meets_flat_box, place, star

from tidings.model.regions import AnyOf, Box, Circle, Everywhere, Polygon
from tidings.space.around import around_boxes, around_meets, rectangle_bounds
from tidings.space.boxes import boxes_meet, flat_boxes_meet
from tidings.space.geometry import INDEX_BOXES, PLACE_BOXES, encode_region, index_boxes, place_boxes, region_meets
from tidings.space.metrics import EARTH_RADIUS_M, HALF_CIRCUMFERENCE_M, box_distance
from tidings.space.shapes import BOX, COMPOUND, EVERYWHERE

EXTENT = (-180.0, -90.0, 180.0, 90.0)
PLANE = (-180.0, -90.0, 180.0, 90.0)
SPECIAL_LONS = [-180.0, math.nextafter(-180.0, 0.0), -179.5, -90.0, 0.0, 90.0, 179.5, math.nextafter(180.0, 0.0), 180.0]
SPECIAL_LATS = [-90.0, math.nextafter(-90.0, 0.0), -89.5, 0.0, 89.5, math.nextafter(90.0, 0.0), 90.0]


def somewhere(rng):
    lon = rng.choice(SPECIAL_LONS) if rng.random() < 0.4 else rng.uniform(-180.0, 180.0)
    lat = rng.choice(SPECIAL_LATS) if rng.random() < 0.4 else rng.uniform(-90.0, 90.0)
    return lon, lat


def box_at(rng, globe):
    (x0, y0), (x1, y1) = somewhere(rng), somewhere(rng)
    if rng.random() < 0.5:
        x1, y1 = min(180.0, x0 + rng.choice([0.0, 1.0, 20.0])), min(90.0, y0 + rng.choice([0.0, 1.0, 20.0]))
    if not globe and x0 > x1:
        x0, x1 = x1, x0
    return x0, min(y0, y1), x1, max(y0, y1)


def ring_at(rng):
    """A triangle or a star, often with a vertex on the antimeridian or a pole."""
    if rng.random() < 0.5:
        x, y = somewhere(rng)
        return star(rng, max(-150.0, min(150.0, x)), max(-60.0, min(60.0, y)), 29.0, rng.randint(3, 12))
    points = [somewhere(rng) for _ in range(3)]
    return (*points, points[0])


def simple_region(rng, globe):
    kind = rng.randrange(3)
    if kind == 0:
        return Box(box_at(rng, globe))
    if kind == 1:
        radius = rng.choice([0.0, 1e-9, 0.5, rng.uniform(0.0, 30.0), rng.uniform(0.0, 190.0), 90.0, 179.999999])
        return Circle(somewhere(rng), math.radians(radius) * EARTH_RADIUS_M if globe else radius)
    return Polygon((ring_at(rng),))


def some_region(rng, globe):
    if rng.random() < 0.7:
        return simple_region(rng, globe)
    return AnyOf(tuple(simple_region(rng, globe) for _ in range(rng.choice([1, 2, 3, 12]))))


def literally_meets(region, globe, box):
    """From the definitions, with the slow polygons."""
    if isinstance(region, Everywhere):
        return True
    if isinstance(region, AnyOf):
        return any(literally_meets(inner, globe, box) for inner in region.regions)
    if isinstance(region, Box):
        return boxes_meet(globe, *region.bounds, *box)
    if isinstance(region, Circle):
        return box_distance(globe, *region.centre, *box) <= region.radius
    x0, y0, x1, y1 = box
    flat = [box] if x0 <= x1 else [(x0, y0, 180.0, y1), (-180.0, y0, x1, y1)]
    if globe:
        flat += [(-180.0, y0, -180.0, y1)] * (x1 == 180.0) + [(180.0, y0, 180.0, y1)] * (x0 == -180.0)
        flat += [(-180.0, pole, 180.0, pole) for pole in (-90.0, 90.0) if pole in (y0, y1)]
    return any(meets_flat_box(region.rings, *one) for one in flat)


def message_near(rng, globe, region):
    """A message anywhere, or just at the rim of the region."""
    x, y = somewhere(rng)
    part = rng.choice(region.regions) if isinstance(region, AnyOf) else region
    if rng.random() < 0.6:
        if isinstance(part, Box):
            x, y = rng.choice(part.bounds[0::2]), rng.choice(part.bounds[1::2])
        elif isinstance(part, Polygon):
            x, y = rng.choice(part.rings[0])
        else:
            x, y = on_rim(rng, globe, part)
        if rng.random() < 0.3:
            x, y = math.nextafter(x, rng.choice([-500.0, 500.0])), math.nextafter(y, rng.choice([-500.0, 500.0]))
        if globe and abs(x) == 180.0 and rng.random() < 0.5:
            x = -x
        x, y = max(-180.0, min(180.0, x)), max(-90.0, min(90.0, y))
    if rng.random() < 0.5:
        return x, y, x, y
    other = box_at(rng, globe)
    box = rng.choice([(x, y, other[2], max(y, other[3])), (other[0], min(y, other[1]), x, y)])
    return box if globe or box[0] <= box[2] else (box[2], box[1], box[0], box[3])


def on_rim(rng, globe, circle):
    """The point at the circle's radius in some direction; straight north, south, east and west more often."""
    (x, y), turn = circle.centre, rng.choice([0.0, 0.5, 1.0, 1.5, rng.uniform(0.0, 2.0)]) * math.pi
    if not globe:
        return x + circle.radius * math.cos(turn), y + circle.radius * math.sin(turn)
    angle, lat = circle.radius / EARTH_RADIUS_M, math.radians(y)
    sine = math.sin(lat) * math.cos(angle) + math.cos(lat) * math.sin(angle) * math.cos(turn)
    north = math.asin(max(-1.0, min(1.0, sine)))
    east = math.atan2(
        math.sin(turn) * math.sin(angle) * math.cos(lat), math.cos(angle) - math.sin(lat) * math.sin(north)
    )
    return (x + math.degrees(east) + 540.0) % 360.0 - 180.0, math.degrees(north)


def rows(out, n):
    return [tuple(float(v) for v in row) for row in out[:n]]


def assert_found(boxes, places, context):
    assert all(x0 <= x1 and y0 <= y1 for x0, y0, x1, y1 in boxes + places), context
    assert any(flat_boxes_meet(*a, *b) for a in boxes for b in places), (context, boxes, places)


@pytest.mark.parametrize("globe", [True, False])
def test_meetings_are_exact_and_no_index_loses_one(seed, globe):
    rng = random.Random(seed)
    out, places = np.empty((INDEX_BOXES, 4)), np.empty((PLACE_BOXES, 4))
    seen = {True: 0, False: 0}
    for _ in range(12_000):
        region = some_region(rng, globe)
        box = message_near(rng, globe, region)
        shape, stream = encode_region(region, globe, EXTENT if globe else PLANE)
        shifted = np.concatenate((np.full(3, np.nan), stream, np.full(2, np.nan)))
        expected = literally_meets(region, globe, box)
        assert region_meets(globe, shape, shifted, 3, *box) == expected, (region, box)
        seen[expected] += 1
        if expected:
            found = out[: rng.choice([1, 2, INDEX_BOXES])]
            boxes = rows(found, index_boxes(globe, shape, shifted, 3, found))
            assert_found(boxes, rows(places, place_boxes(globe, *box, places)), (region, box))
    assert min(seen.values()) > 2000


@pytest.mark.parametrize("globe", [True, False])
def test_what_moves_is_found_too(seed, globe):
    rng = random.Random(seed)
    out, places = np.empty((2, 4)), np.empty((PLACE_BOXES, 4))
    seen = {(kind, answer): 0 for kind in (True, False) for answer in (True, False)}
    for _ in range(12_000):
        lon, lat = somewhere(rng)
        is_disc = rng.random() < 0.5
        if is_disc:
            degrees = rng.choice([0.0, 0.5, rng.uniform(0.0, 30.0), rng.uniform(0.0, 190.0)])
            a, b = math.radians(degrees) * EARTH_RADIUS_M if globe else degrees, 0.0
            region = Circle((lon, lat), a)
        else:
            a, b = rng.choice([0.0, 1.0, 10.0, 180.0, 359.0, 360.0, 400.0]), rng.choice([0.0, 1.0, 10.0, 180.0, 200.0])
            region = Box(rectangle_bounds(globe, lon, lat, a, b))
        box = message_near(rng, globe, region)
        expected = literally_meets(region, globe, box)
        assert around_meets(globe, is_disc, lon, lat, a, b, *box) == expected
        seen[is_disc, expected] += 1
        if expected:
            boxes = rows(out, around_boxes(globe, is_disc, lon, lat, a, b, out))
            found = rows(places, place_boxes(globe, *box, places))
            assert_found(boxes, found, (is_disc, lon, lat, a, b, box))
    assert min(seen.values()) > 700


def test_circles_that_leave_out_next_to_nothing(seed):
    """Near the antipode the haversine is off by up to 1e-8 radians, more than circles are widened."""
    rng = random.Random(seed)
    out, places = np.empty((2, 4)), np.empty((PLACE_BOXES, 4))
    for _ in range(5000):
        lat = -90.0 + 10.0 ** rng.uniform(-9.0, -3.0)
        box = (lon := rng.uniform(-179.0, 179.0), lat, lon, lat)
        centre = rng.uniform(-180.0, 180.0), rng.choice([90.0, 90.0 - 10.0 ** rng.uniform(-9.0, -3.0)])
        radius = box_distance(True, *centre, *box)
        assert around_meets(True, True, *centre, radius, 0.0, *box)
        boxes = rows(out, around_boxes(True, True, *centre, radius, 0.0, out))
        assert_found(boxes, rows(places, place_boxes(True, *box, places)), (centre, radius, box))


def test_every_name_of_a_place_is_looked_up(seed):
    rng = random.Random(seed)
    a, b = np.empty((PLACE_BOXES, 4)), np.empty((PLACE_BOXES, 4))
    n_same = 0
    for _ in range(5000):
        one, other = ((rng.choice(SPECIAL_LONS), rng.choice(SPECIAL_LATS)) for _ in range(2))
        if place(*one) == place(*other):
            n_same += 1
            boxes = rows(a, place_boxes(True, *one, *one, a))
            assert any(flat_boxes_meet(*row, *other, *other) for row in boxes)
            assert_found(boxes, rows(b, place_boxes(True, *other, *other, b)), (one, other))
    assert n_same > 100


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((10.0, 20.0, 10.0, 20.0), [(10.0, 20.0, 10.0, 20.0)]),
        ((180.0, 1.0, 180.0, 1.0), [(180.0, 1.0, 180.0, 1.0), (-180.0, 1.0, -180.0, 1.0)]),
        ((-180.0, 1.0, -180.0, 1.0), [(-180.0, 1.0, -180.0, 1.0), (180.0, 1.0, 180.0, 1.0)]),
        ((33.0, 90.0, 33.0, 90.0), [(-180.0, 90.0, 180.0, 90.0)]),
        ((170.0, 1.0, -170.0, 2.0), [(170.0, 1.0, 180.0, 2.0), (-180.0, 1.0, -170.0, 2.0)]),
        ((-180.0, -90.0, 180.0, 90.0), [(-180.0, -90.0, 180.0, 90.0)]),
        ((1.0, -90.0, 2.0, -80.0), [(1.0, -90.0, 2.0, -80.0), (-180.0, -90.0, 180.0, -90.0)]),
    ],
)
def test_where_a_message_is_looked_up(box, expected):
    out = np.empty((PLACE_BOXES, 4))
    assert rows(out, place_boxes(True, *box, out)) == expected
    assert rows(out, place_boxes(False, *box, out)) == [box]


def test_shapes():
    shape, stream = encode_region(Everywhere(), True, EXTENT)
    assert (shape, len(stream)) == (EVERYWHERE, 0)
    shape, stream = encode_region(AnyOf((Box((170.0, 0.0, -170.0, 1.0)),)), True, EXTENT)
    assert (shape, stream.tolist()) == (BOX, [170.0, 0.0, -170.0, 1.0])
    shape, stream = encode_region(AnyOf((Circle((1.0, 2.0), 3.0), Box((0.0, 0.0, 1.0, 1.0)))), True, EXTENT)
    assert (shape, stream[0], len(stream)) == (COMPOUND, 12.0, 12)
    for whole in (
        Box(EXTENT),
        Circle((1.0, 2.0), HALF_CIRCUMFERENCE_M),
        AnyOf((Circle((1.0, 2.0), 3.0), Everywhere())),
    ):
        assert encode_region(whole, True, EXTENT)[0] == EVERYWHERE
    assert encode_region(Circle((1.0, 2.0), HALF_CIRCUMFERENCE_M), False, (0.0, 0.0, 1e9, 1e9))[0] == COMPOUND
    assert encode_region(Box((0.0, 0.0, 8.0, 8.0)), False, (0.0, 0.0, 8.0, 8.0))[0] == EVERYWHERE


def test_index_boxes_are_tight():
    out = np.empty((INDEX_BOXES, 4))
    circle = encode_region(Circle((0.0, 60.0), math.radians(1.0) * EARTH_RADIUS_M), True, EXTENT)
    assert index_boxes(True, *circle, 0, out) == 1
    assert out[0, 2] == pytest.approx(math.degrees(math.asin(math.sin(math.radians(1.0)) / 0.5)), abs=1e-7)
    assert out[0, 3] == pytest.approx(61.0, abs=1e-7)
    apart = AnyOf(tuple(Box((i * 10.0, 0.0, i * 10.0 + 1.0, 1.0)) for i in range(INDEX_BOXES)))
    assert index_boxes(True, *encode_region(apart, True, EXTENT), 0, out) == INDEX_BOXES
    assert out[:, 2].tolist() == [i * 10.0 + 1.0 for i in range(INDEX_BOXES)]


def test_a_rectangle_wraps_and_is_cut():
    assert rectangle_bounds(True, 179.0, 89.0, 4.0, 4.0) == (177.0, 87.0, -179.0, 90.0)
    assert rectangle_bounds(True, -179.0, -89.0, 4.0, 4.0) == (179.0, -90.0, -177.0, -87.0)
    assert rectangle_bounds(True, 50.0, 0.0, 360.0, 4.0) == (-180.0, -2.0, 180.0, 2.0)
    assert rectangle_bounds(False, 179.0, 89.0, 4.0, 4.0) == (177.0, 87.0, 181.0, 91.0)
    assert around_meets(True, False, 10.0, 89.0, 2.0, 2.0, 99.0, 90.0, 99.0, 90.0)


def test_a_rectangle_of_nearly_a_full_turn_keeps_its_gap(seed):
    rng = random.Random(seed)
    n_wrapping = 0
    for _ in range(5000):
        lon = rng.choice([rng.uniform(-180.0, 180.0), rng.uniform(-1e-3, 1e-3), rng.choice(SPECIAL_LONS)])
        x0, _, x1, _ = rectangle_bounds(True, lon, 0.0, math.nextafter(360.0, 0.0), 4.0)
        assert (x0, x1) == (-180.0, 180.0) or x0 > x1 or x1 - x0 > 359.9
        n_wrapping += x0 > x1
    assert n_wrapping > 1000
