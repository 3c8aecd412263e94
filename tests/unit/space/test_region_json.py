"""Regions as JSON: there and back, and everything that is wrong at once, with its path."""

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.model.errors import CODES
from tidings.model.events import Globe, Plane
from tidings.model.regions import AnyOf, Box, Circle, Everywhere, Polygon
from tidings.space.positions import read_bounds, read_point
from tidings.space.region_json import read_region, write_region

PLANE = Plane((0.0, 0.0, 100.0, 50.0))
lons, lats = st.floats(-180.0, 180.0), st.floats(-90.0, 90.0)


@st.composite
def boxes(draw):
    south, north = sorted((draw(lats), draw(lats)))
    return Box((draw(lons), south, draw(lons), north))


@st.composite
def polygons(draw):
    x, y = draw(st.integers(-170, 170)), draw(st.integers(-80, 80))
    outer = ((x - 8.0, y - 8.0), (x + 8.0, y - 8.0), (x + 8.0, y + 8.0), (x - 8.0, y - 8.0))
    hole = ((x + 4.0, y - 5.0), (x + 5.0, y - 5.0), (x + 5.0, y - 4.0), (x + 4.0, y - 5.0))
    return Polygon((outer, hole) if draw(st.booleans()) else (outer,))


circles = st.builds(Circle, st.tuples(lons, lats), st.floats(0.0, 1e308))
regions = st.recursive(
    st.one_of(st.just(Everywhere()), boxes(), circles, polygons()),
    lambda inner: st.builds(AnyOf, st.lists(inner, min_size=1, max_size=4).map(tuple)),
    max_leaves=8,
)


@given(regions)
def test_what_is_written_is_read_as_the_same(region):
    value = json.loads(json.dumps(write_region(region)))
    assert read_region(value, "$.where", Globe()) == (region, [])


def problems_of(value, space=None):
    region, problems = read_region(value, "$.where", space or Globe())
    assert (region is None) == bool(problems)
    assert all(problem.code in CODES and problem.expected for problem in problems)
    return [(problem.code, problem.place) for problem in problems]


TRIANGLE = [[0, 0], [4, 0], [4, 4], [0, 0]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("everywher", [("region-invalid", "$.where")]),
        (None, [("region-invalid", "$.where")]),
        (7, [("region-invalid", "$.where")]),
        ([0, 0, 1, 1], [("region-invalid", "$.where")]),
        ({}, [("region-invalid", "$.where")]),
        ({"box": [0, 0, 1, 1], "circle": [0, 0, 1]}, [("region-invalid", "$.where")]),
        ({"box": [0, 0, 1, 1], "colour": 1}, [("field-unknown", "$.where.colour")]),
        ({"box": "all"}, [("field-type", "$.where.box")]),
        ({"box": [0, 0, 1]}, [("field-type", "$.where.box")]),
        ({"box": [0, True, 1, "1"]}, [("field-type", "$.where.box[1]"), ("field-type", "$.where.box[3]")]),
        ({"box": [0, 5, 1, 1]}, [("region-invalid", "$.where.box")]),
        ({"box": [-181, 0, 1, 91]}, [("place-outside", "$.where.box[0]"), ("place-outside", "$.where.box[3]")]),
        ({"box": [0, 0, math.nan, math.inf]}, [("field-type", "$.where.box[2]"), ("field-type", "$.where.box[3]")]),
        ({"box": [0, 0, 10**400, 1]}, [("field-type", "$.where.box[2]")]),
        ({"circle": [0, 0]}, [("field-type", "$.where.circle")]),
        ({"circle": [0, 95, -1]}, [("place-outside", "$.where.circle[1]"), ("region-invalid", "$.where.circle[2]")]),
        ({"circle": [0, 0, math.inf]}, [("field-type", "$.where.circle[2]")]),
        ({"circle": [0, 0, False]}, [("field-type", "$.where.circle[2]")]),
        ({"any": []}, [("region-invalid", "$.where.any")]),
        ({"any": {"box": [0, 0, 1, 1]}}, [("field-type", "$.where.any")]),
        (
            {"any": ["nowhere", {"any": [{"circle": [0, 0, -1]}]}], "x": 1},
            [
                ("field-unknown", "$.where.x"),
                ("region-invalid", "$.where.any[0]"),
                ("region-invalid", "$.where.any[1].any[0].circle[2]"),
            ],
        ),
        ({"type": "Point", "coordinates": [0, 0]}, [("region-invalid", "$.where.type")]),
        ({"type": ["Polygon"]}, [("region-invalid", "$.where.type")]),
        ({"type": "Polygon"}, [("region-invalid", "$.where")]),
        ({"type": "Polygon", "coordinates": []}, [("polygon-invalid", "$.where.coordinates")]),
        ({"type": "Polygon", "coordinates": 3}, [("field-type", "$.where.coordinates")]),
        ({"type": "Polygon", "coordinates": [3]}, [("field-type", "$.where.coordinates[0]")]),
        ({"type": "Polygon", "coordinates": [TRIANGLE[:3]]}, [("polygon-invalid", "$.where.coordinates")]),
        (
            {"type": "Polygon", "coordinates": [[[0, 0], [4, 99], [4, None], [0, 0, 0]]], "crs": 1},
            [
                ("field-unknown", "$.where.crs"),
                ("place-outside", "$.where.coordinates[0][1][1]"),
                ("field-type", "$.where.coordinates[0][2][1]"),
                ("field-type", "$.where.coordinates[0][3]"),
            ],
        ),
        ({"type": "MultiPolygon", "coordinates": []}, [("region-invalid", "$.where.coordinates")]),
        (
            {"type": "MultiPolygon", "coordinates": [[TRIANGLE], [[[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]]]},
            [("polygon-invalid", "$.where.coordinates[1]")],
        ),
    ],
)
def test_what_is_wrong(value, expected):
    assert problems_of(value) == expected


def test_hints():
    def hint(value):
        return read_region(value, "$", Globe())[1][0].hint

    assert "altitude" in hint({"type": "Polygon", "coordinates": [[[0, 0, 5]]]})
    assert "geometry" in hint({"type": "Feature", "geometry": {}})
    assert "lon, lat" in hint({"box": [0, 120, 1, 1]})
    assert "any" in hint({"box": [0, 0, 1, 1], "circle": [0, 0, 1]})


def test_good_forms():
    assert read_region({"box": [170, -1, -170, 1]}, "$", Globe()) == (Box((170.0, -1.0, -170.0, 1.0)), [])
    value = {"type": "Polygon", "coordinates": [TRIANGLE], "bbox": [0, 0, 4, 4]}
    assert read_region(value, "$", Globe())[0] == Polygon((((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 0.0)),))
    region, _ = read_region({"type": "MultiPolygon", "coordinates": [[TRIANGLE], [TRIANGLE]]}, "$", Globe())
    assert isinstance(region, AnyOf)
    assert len(region.regions) == 2


def test_a_plane_has_its_own_bounds():
    assert read_region({"box": [0, 0, 100, 50]}, "$", PLANE) == (Box((0.0, 0.0, 100.0, 50.0)), [])
    assert problems_of({"box": [9, 0, 1, 50]}, PLANE) == [("region-invalid", "$.where.box")]
    assert problems_of({"circle": [-1, 51, 3]}, PLANE) == [
        ("place-outside", "$.where.circle[0]"),
        ("place-outside", "$.where.circle[1]"),
    ]
    assert read_point([100, 50], "$.at", PLANE) == ((100.0, 50.0), [])
    assert read_bounds([1, 2, 3, 4], "$.box", PLANE) == ((1.0, 2.0, 3.0, 4.0), [])


def test_bounds_on_depth_and_parts():
    def nested(depth):
        return "everywhere" if depth == 0 else {"any": [nested(depth - 1)]}

    assert problems_of(nested(16)) == []
    assert problems_of(nested(17)) == [("region-invalid", "$.where" + ".any[0]" * 16 + ".any")]
    assert problems_of(nested(100))
    assert problems_of({"any": [{"circle": [0, 0, 1]}] * 1000}) == []
    assert problems_of({"any": [{"circle": [0, 0, 1]}] * 1001}) == [("region-invalid", "$.where")]


def test_reading_without_polygons_loads_no_numba():
    code = (
        "import sys; from tidings.space.region_json import read_region; from tidings.model.events import Globe;"
        "read_region({'box': [0, 0, 1, 1]}, '$', Globe()); print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "False"
