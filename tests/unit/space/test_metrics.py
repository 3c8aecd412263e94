"""Distances: the written formula bit by bit, and what it means against vectors and sampling."""

import math
import random

import pytest
from tests.unit.space.references import angle_distance

from tidings.space.metrics import (
    EARTH_RADIUS_M,
    HALF_CIRCUMFERENCE_M,
    box_distance,
    distance,
    euclid,
    haversine,
)


def literal_haversine(lon1, lat1, lon2, lat2):
    p1, p2 = lat1 * (math.pi / 180), lat2 * (math.pi / 180)
    s1, s2 = math.sin((p2 - p1) / 2), math.sin(((lon2 - lon1) * (math.pi / 180)) / 2)
    a = s1 * s1 + (math.cos(p1) * math.cos(p2)) * (s2 * s2)
    return (2.0 * EARTH_RADIUS_M) * math.asin(math.sqrt(min(1, a)))


def somewhere(rng):
    if rng.random() < 0.2:
        return rng.choice([-180.0, -90.0, 0.0, 90.0, 180.0]), rng.choice([-90.0, 0.0, 90.0])
    return rng.uniform(-180.0, 180.0), rng.uniform(-90.0, 90.0)


def test_the_haversine_is_the_written_one_bit_by_bit(seed):
    rng = random.Random(seed)
    for _ in range(20_000):
        a, b = somewhere(rng), somewhere(rng)
        assert haversine(*a, *b) == literal_haversine(*a, *b) == distance(True, *a, *b), (a, b)
        assert haversine(*b, *a) == haversine(*a, *b)


def test_the_haversine_measures_the_globe(seed):
    rng = random.Random(seed)
    for _ in range(2000):
        a, b = somewhere(rng), somewhere(rng)
        assert haversine(*a, *b) == pytest.approx(angle_distance(*a, *b), rel=1e-9, abs=1.0)
    assert haversine(0.0, 0.0, 180.0, 0.0) == HALF_CIRCUMFERENCE_M
    assert haversine(10.0, 20.0, 10.0, 20.0) == 0.0


def test_euclid():
    assert euclid(1.0, 2.0, 4.0, 6.0) == 5.0 == distance(False, 4.0, 6.0, 1.0, 2.0)
    assert box_distance(False, 0.0, 0.0, 3.0, 4.0, 9.0, 9.0) == 5.0
    assert box_distance(False, 5.0, 5.0, 3.0, 4.0, 9.0, 9.0) == 0.0
    assert box_distance(False, 5.0, 1.0, 3.0, 4.0, 9.0, 9.0) == 3.0


def random_box(rng):
    (x0, y0), (x1, y1) = somewhere(rng), somewhere(rng)
    return x0, min(y0, y1), x1, max(y0, y1)


def test_no_point_of_a_box_is_nearer_and_one_is_as_near(seed):
    rng = random.Random(seed)
    n_outside = 0
    for _ in range(150):
        box, (lon, lat) = random_box(rng), somewhere(rng)
        x0, y0, x1, y1 = box
        width = x1 - x0 if x0 <= x1 else x1 + 360.0 - x0
        measured = box_distance(True, lon, lat, *box)
        nearest = min(
            angle_distance(lon, lat, x0 + width * i / 40, y0 + (y1 - y0) * j / 40) for i in range(41) for j in range(41)
        )
        step = math.radians(max(width, y1 - y0) / 40) * EARTH_RADIUS_M
        assert measured - 1.0 <= nearest <= measured + step + 1.0, (lon, lat, box)
        n_outside += measured > 0.0
    assert n_outside > 50


def test_a_point_as_a_box_is_as_far_as_the_point(seed):
    rng = random.Random(seed)
    for _ in range(5000):
        (lon, lat), (x, y) = somewhere(rng), somewhere(rng)
        assert box_distance(True, lon, lat, x, y, x, y) == haversine(lon, lat, x, y)
        assert box_distance(False, lon, lat, x, y, x, y) == euclid(lon, lat, x, y)


def test_two_names_of_one_place_are_next_to_no_distance_apart():
    assert 0.0 < box_distance(True, 180.0, 10.0, -180.0, 10.0, -180.0, 10.0) < 1e-8
    assert 0.0 < box_distance(True, 20.0, 90.0, 70.0, 90.0, 70.0, 90.0) < 1e-8
    assert box_distance(True, 180.0, 10.0, -180.0, 10.0, -175.0, 10.0) == 0.0
    assert box_distance(True, 20.0, -90.0, 70.0, -90.0, 75.0, -80.0) == 0.0
    assert box_distance(True, 180.0, 10.0, -180.0, 20.0, -175.0, 30.0) == haversine(180.0, 10.0, 180.0, 20.0)


def test_the_foot_on_a_meridian_is_nearer_than_the_corners():
    measured = box_distance(True, 0.0, 50.0, 60.0, 0.0, 70.0, 89.0)
    assert measured < 0.97 * min(haversine(0.0, 50.0, 60.0, lat) for lat in (0.0, 50.0, 89.0))


def test_mirrors_change_nothing_and_turns_nearly_nothing(seed):
    rng = random.Random(seed)
    for _ in range(3000):
        (lon, lat), (x0, y0, x1, y1) = somewhere(rng), random_box(rng)
        measured = box_distance(True, lon, lat, x0, y0, x1, y1)
        assert box_distance(True, lon, -lat, x0, -y1, x1, -y0) == measured
        assert box_distance(True, -lon, lat, -x1, y0, -x0, y1) == measured
        by = rng.randrange(-720, 720) / 4
        a, b, c = ((v + by + 180.0) % 360.0 - 180.0 for v in (lon, x0, x1))
        if abs(x0) != 180.0 and abs(x1) != 180.0:
            assert box_distance(True, a, lat, b, y0, c, y1) == pytest.approx(measured, abs=0.5)
