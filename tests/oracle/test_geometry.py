"""The oracle's geometry against figures that were worked out by hand."""

import math

import pytest

from tests.oracle.geometry import around, distance, meets

PLANE = (0.0, 0.0, 16.0, 16.0)
DEGREE = 6371008.8 * math.pi / 180
SQUARE = [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], [[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]]]


@pytest.mark.parametrize(
    ("point", "place", "degrees"),
    [
        ((0, 0), (90, 0), 90),
        ((0, 0), (0, 45), 45),
        ((179, 0), (-179, 0), 2),
        ((0, 89), (180, 89), 2),
        ((0, 0), (10, -5, 20, 5), 10),  # the foot lies on the equator
        ((0, 45), (60, 0, 70, 80), math.degrees(math.asin(math.cos(math.radians(45)) * math.sin(math.radians(60))))),
        ((0, 60), (90, 0, 100, 80), math.degrees(math.acos(math.sin(math.radians(60)) * math.sin(math.radians(80))))),
        ((15, 0), (10, 7, 20, 9), 7),
        ((-178, 0), (170, -1, -179, 1), 1),
        ((180, 0), (-180, 3, -170, 5), 3),
        ((0, 90), (50, 60, 60, 80), 10),
        ((12, 90), (50, 60, 60, 90), 0),
        ((-180, 2), (170, 1, 180, 3), 0),
        ((-180, 2), (180, 2), 0),
        ((7, -90), (99, -90), 0),
        ((0, 50), (-180, 60, 180, 70), 10),
    ],
)
def test_distance_on_the_globe(point, place, degrees):
    assert distance(None, point, place) == pytest.approx(degrees * DEGREE, rel=1e-12, abs=1e-6)


def test_a_point_is_a_box_without_size():
    for point in ((-180, 2), (180, 2), (7, 90), (0, -90), (3, 4)):
        for place in ((180, 2), (-180, 2.5), (99, 90), (1, -90), (3, 4.25)):
            assert distance(None, point, place) == distance(None, point, place * 2)
    # One place under two names: the bare formula is off by rounding.
    assert 0.0 < distance(None, (180, 5), (-180, 5)) < 1e-8
    assert 0.0 < distance(None, (1, 90), (2, 90)) < 1e-8


def test_distance_in_a_plane():
    assert distance(PLANE, (0, 0), (3, 4)) == 5.0
    assert distance(PLANE, (0, 0), (3, 4, 9, 9)) == 5.0
    assert distance(PLANE, (5, 0), (3, 4, 9, 9)) == 4.0
    assert distance(PLANE, (5, 5), (3, 4, 9, 9)) == 0.0


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((0.5, 0.5), True), ((2, 2), False), ((1, 1), True), ((1, 2), True), ((4, 4), True), ((4, 5), False),
        ((1.5, 1.5, 2.5, 2.5), False), ((1.5, 1.5, 3, 2.5), True), ((-1, -1, 5, 5), True),
        ((0.25, 0.25, 0.5, 0.5), True),
        ((2, -1, 2, 9), True), ((5, 0, 6, 4), False), ((4, 4, 6, 6), True), ((-1, 2, 9, 2), True),
    ],
)  # fmt: skip
def test_a_square_with_a_hole(place, expected):
    for rings in (SQUARE, [ring[::-1] for ring in SQUARE]):
        assert meets((-9.0, -9.0, 9.0, 9.0), {"type": "Polygon", "coordinates": rings}, place) is expected
        assert meets(None, {"type": "MultiPolygon", "coordinates": [rings]}, place) is expected


def test_predicates_are_exact():
    # The float64 0.3 is less than three times the float64 0.1, the next one is more: below and above the line y = 3x.
    wedge = {"type": "Polygon", "coordinates": [[[0, 0], [1, 3], [1, 0], [0, 0]]]}
    assert meets(PLANE, wedge, (0.1, 0.3))
    assert not meets(PLANE, wedge, (0.1, 0.30000000000000004))
    assert meets(PLANE, wedge, (0.25, 0.75))


def test_polygons_and_the_antimeridian():
    triangle = {"type": "Polygon", "coordinates": [[[170, 0], [180, 0], [180, 10], [170, 0]]]}
    assert meets(None, triangle, (-180, 5))
    assert not meets(None, triangle, (-179, 5))
    assert meets(None, triangle, (-180, 9, -170, 12))
    assert meets(None, triangle, (179, 1, -179, 2))
    assert not meets((-180.0, -90.0, 180.0, 90.0), triangle, (-180, 5))


def test_boxes_on_the_globe():
    assert meets(None, {"box": [170, 0, -170, 5]}, (-175, 1))
    assert not meets(None, {"box": [170, 0, -170, 5]}, (0, 1))
    assert meets(None, {"box": [170, 0, -170, 5]}, (-172, 5, 10, 9))
    assert meets(None, {"box": [-180, 0, 180, 5]}, (77, 0))
    assert meets(None, {"box": [180, 0, -180, 5]}, (-180, 0))
    assert not meets(None, {"box": [180, 0, -180, 5]}, (0, 0))
    assert meets(None, {"box": [0, -90, 1, -80]}, (90, -90, 91, -89))
    assert not meets(None, {"box": [0, -90, 1, -80]}, (90, 89, 91, 90))


def test_regions_of_regions():
    region = {"any": [{"circle": [0, 0, 5]}, {"any": [{"box": [9, 9, 10, 10]}]}]}
    assert [meets(PLANE, region, place) for place in ((3, 4), (9, 10), (5, 5))] == [True, True, False]
    assert meets(None, {"circle": [0, 0, 10.01 * DEGREE]}, (10, -5, 20, 5))
    assert not meets(None, {"circle": [0, 0, 9.99 * DEGREE]}, (10, -5, 20, 5))


def test_where_an_around_stands():
    assert around(None, (175, 85), {"width": 20, "height": 20}) == {"box": [165, 75, -175, 90]}
    assert around(None, (-175, -85), {"width": 20, "height": 20}) == {"box": [175, -90, -165, -75]}
    assert around(None, (50, 0), {"width": 360, "height": 2}) == {"box": [-180, -1, 180, 1]}
    assert around(PLANE, (0, 0), {"width": 2, "height": 4}) == {"box": [-1, -2, 1, 2]}
