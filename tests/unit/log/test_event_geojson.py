"""What a map shows of events, and what other programs' maps become."""

import json

import pytest
from hypothesis import given
from msgspec import Raw
from tests.unit.log.events_at_random import events

from tidings.log.event_fields import event_from_fields
from tidings.log.geojson import feature_of, read_geojson
from tidings.model.errors import FileError, InputError
from tidings.model.events import Globe, Move, Publish, Register, Tick
from tidings.model.regions import AnyOf, Circle, Polygon
from tidings.model.subscriptions import Within

GLOBE = Globe()
TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0))


def read(*features):
    """The event of each feature, or its problems."""
    data = json.dumps({"type": "FeatureCollection", "name": "x", "features": features}).encode()
    found = []
    for row, _ in read_geojson(data, "map"):
        try:
            if row.problems:
                raise InputError(row.problems)
            found.append(event_from_fields(row.fields, GLOBE))
        except InputError as error:
            found.append([(problem.code, problem.place) for problem in error.problems])
    return found


def feature(geometry, **properties):
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def point(*coordinates):
    return {"type": "Point", "coordinates": coordinates}


@given(event=events(GLOBE))
def test_places_are_geometries(event):
    shown = feature_of(event)
    geometry = shown["geometry"]
    if isinstance(event, Publish | Move):
        assert geometry["type"] == ("Polygon" if isinstance(event, Publish) and event.box else "Point")
    elif isinstance(event, Tick):
        assert geometry is None
    assert ("at" in shown["properties"]) is False
    assert shown["type"] == "Feature"


def test_regions_are_geometries_where_geojson_has_them():
    polygon = Polygon((TRIANGLE,))
    types = [
        (feature_of(Register(Within("a", region)))["geometry"] or {}).get("type")
        for region in (polygon, AnyOf((polygon, polygon)), Circle((0.0, 0.0), 1.0))
    ]
    assert types == ["Polygon", "MultiPolygon", None]


def test_somebody_elses_points_become_messages():
    assert read(
        feature(point(1, 2), id="a", text="hello", ts=5, colour="red", size=2.50),
        feature(point(1, 2, 300)),
        {"type": "Feature", "id": 7, "geometry": point(3, 4), "properties": None},
        feature(point(1, 2), id=8, words=["x"], expires=9),
    ) == [
        Publish("a", (1.0, 2.0), text="hello", ts=5, attributes=Raw(b'{"colour":"red","size":2.5}')),
        Publish("feature-1", (1.0, 2.0), words=()),
        Publish("7", (3.0, 4.0), words=()),
        Publish("8", (1.0, 2.0), words=("x",), expires=9),
    ]


def test_somebody_elses_other_things_are_asked_about():
    polygon = {"type": "Polygon", "coordinates": [TRIANGLE]}
    assert read(
        feature(polygon), feature(None), feature(point(1, 2), note="x" * 5000), feature(point(1), ts="now")
    ) == [
        [("field-missing", "$.properties.op")],
        [("field-missing", "$.properties.op")],
        [("field-value", "$.attributes")],
        [("field-type", "$.at"), ("field-type", "$.ts")],
    ]


def test_problems_of_features():
    box = {"type": "Polygon", "coordinates": [[(0, 0), (2, 0), (2, 1), (0, 1), (0, 0)]]}
    good = feature(box, op="publish", id="a", box=True, text="x")
    skewed = {"type": "Polygon", "coordinates": [[(0, 0), (2, 1), (2, 1), (0, 1), (0, 0)]]}
    assert read(
        good,
        good | {"geometry": skewed},
        feature(point(1, 2), op="publish", id="a", text="x", at=[3, 4]),
        feature("here", op="tick", ts=1),
        feature(box, op="publish", id="a", text="x"),
        {"type": "Point", "coordinates": [1, 2]},
        {"type": "Feature", "properties": 5},
        7,
    ) == [
        Publish("a", box=(0.0, 0.0, 2.0, 1.0), text="x"),
        [("region-invalid", "$.geometry.coordinates")],
        [("field-conflict", "$.properties.at")],
        [("field-type", "$.geometry")],
        [("field-unknown", "$.where"), ("field-missing", "$.at")],
        [("file-format", "$.type")],
        [("field-type", "$.properties")],
        [("file-format", "$.type")],
    ]


def test_a_broken_feature_is_a_problem_of_its_own():
    features = b"""{"type": "Feature", "type": "Feature"}, {"type": "Feature", "properties": {"op": "tick", "ts": 1}}"""
    rows = [row for row, _ in read_geojson(b'{"type": "FeatureCollection", "features": [' + features + b"]}", "map")]
    assert [problem.code for problem in rows[0].problems] == ["json-duplicate-key"]
    assert rows[1].fields == {"op": "tick", "ts": 1}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"type": "FeatureCollection", "features": [', "json-invalid"),
        (b'{"type": "FeatureCollection", "features": [{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}]}", "json-invalid"),
        (b'{"type": "FeatureCollection", "features": [1], "features": []}', "json-duplicate-key"),
        (b"\xff", "json-encoding"),
    ],
)
def test_a_file_that_is_no_json(data, code):
    with pytest.raises(FileError) as caught:
        list(read_geojson(data, "map"))
    assert caught.value.code == code


@pytest.mark.parametrize("data", [b"[]", b'{"type": "Feature", "features": []}', b'{"type": "FeatureCollection"}'])
def test_other_json_is_no_collection(data):
    with pytest.raises(FileError, match="file-format"):
        list(read_geojson(data, "map"))
