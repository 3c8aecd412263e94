"""Events as a GeoJSON FeatureCollection, to look at on a map and to take in what other programs wrote.

A feature's geometry stands for the field of its event that is a place: `at` is a Point, a region `where` that is a
Polygon or a MultiPolygon is itself, and a `box` is a Polygon with the property `"box": true`, whose first and third
corner are the box (a box across the antimeridian has its first corner east of the third). All other fields are
properties, among them a region of another form; then the geometry is null. Nothing is lost either way.

Features without the property `op` are somebody else's: Points become messages. Their properties `id` (or the
feature's own id), `text`, `words`, `ts` and `expires` are taken as the fields of these names; all others become the
attributes of the message.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Final

import msgspec
from msgspec import Raw, Struct

from tidings.log.event_fields import event_to_fields
from tidings.log.fields import described, finite
from tidings.log.strict_json import has_repeated_key, json_members, json_value
from tidings.log.tables import Row
from tidings.model.errors import FileError, InputError, Problem, shortened
from tidings.model.events import Event, Publish

_TAKEN: Final = ("id", "text", "words", "ts", "expires")
"""Properties of a foreign Point that are fields of a message."""
_PLACED: Final = {
    "publish": "at", "move": "at", "around": "at", "best": "at", "nearest": "at", "within": "where"
}  # fmt: skip
"""The field that the geometry of an operation or kind is."""
_REGIONS: Final = ("Polygon", "MultiPolygon")
_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


class _Collection(Struct):
    type: str
    features: list[Raw]


def read_geojson(data: bytes, name: str) -> Iterator[tuple[Row, bytes]]:
    """The fields of the event that each feature is, and the feature as it stood; `name` is for messages."""
    try:
        collection = msgspec.json.decode(data, type=_Collection)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(_not_a_collection(data, name, str(error))) from None
    if data.count(b'"features"') > 1 and has_repeated_key(data):
        raise FileError(_not_a_collection(data, name, "a key twice"))
    if collection.type != "FeatureCollection":
        raise FileError(Problem("file-format", name, shortened(collection.type), "a GeoJSON FeatureCollection"))
    for index, raw in enumerate(collection.features):
        yield _row_of(bytes(raw), index), bytes(raw)


def write_geojson(file: BinaryIO, events: Iterable[Event]) -> int:
    """Write a FeatureCollection, one feature a line; answers how many events."""
    count = 0
    file.write(b'{"type":"FeatureCollection","features":[')
    for event in events:
        file.write((b",\n" if count else b"\n") + msgspec.json.encode(feature_of(event)))
        count += 1
    file.write(b"\n]}\n")
    return count


def feature_of(event: Event) -> dict[str, object]:
    """The feature of an event."""
    properties = event_to_fields(event)
    geometry: object = None
    place = _PLACED.get(str(properties.get("kind", properties["op"])), "")
    where = properties.get("where")
    if isinstance(event, Publish) and event.box is not None:
        x1, y1, x2, y2 = event.box
        ring = ((x1, y1), (x2, y1), (x2, y2), (x1, y2), (x1, y1))
        geometry = {"type": "Polygon", "coordinates": (ring,)}
        properties["box"] = True
    elif place == "at":
        geometry = {"type": "Point", "coordinates": properties.pop("at")}
    elif isinstance(where, dict) and where.get("type") in _REGIONS:
        geometry = properties.pop("where")
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _row_of(raw: bytes, index: int) -> Row:
    problems: list[Problem] = []
    try:
        feature = json_value(raw)
    except InputError as error:
        return Row({}, error.problems)
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        return Row({}, (Problem("file-format", "$.type", described(feature), "a GeoJSON Feature"),))
    properties, geometry = feature.get("properties") or {}, feature.get("geometry")
    if not isinstance(properties, dict):
        return Row({}, (Problem("field-type", "$.properties", described(properties), "an object"),))
    if geometry is not None and not isinstance(geometry, dict):
        return Row({}, (Problem("field-type", "$.geometry", described(geometry), "a GeoJSON geometry"),))
    members = _decode_members(json_members(raw)["properties"]) if properties else {}
    if "op" not in properties:
        return _foreign(feature, properties, members, geometry, index)
    fields = dict(properties)
    if "attributes" in fields:
        fields["attributes"] = members["attributes"]
    if geometry is not None:
        field, value = _place_of(fields, geometry, problems)
        if field in properties and field != "box":
            expected = f"`{field}` as the geometry or as a property"
            problems.append(Problem("field-conflict", f"$.properties.{field}", "both", expected))
        fields[field] = value
    return Row(fields, tuple(problems))


def _not_a_collection(data: bytes, name: str, found: str) -> Sequence[Problem]:
    try:
        json_value(data, name)
    except InputError as error:
        return error.problems
    return (Problem("file-format", name, found, "a GeoJSON FeatureCollection"),)


def _place_of(fields: dict[str, object], geometry: dict[str, object], problems: list[Problem]) -> tuple[str, object]:
    """The field that a geometry is, and its value."""
    kind = geometry.get("type")
    if kind == "Point":
        return "at", geometry.get("coordinates")
    if fields.get("box") is True:
        return "box", _box_of(geometry, problems)
    return "where", geometry


def _box_of(geometry: dict[str, object], problems: list[Problem]) -> object:
    match geometry.get("coordinates"):
        case [[[x1, y1], [x2, y3], [x4, y2], [x5, y5], [x6, y6]]] if [x4, x5, x6] == [x2, x1, x1] and [y3, y5, y6] == [
            y1,
            y2,
            y1,
        ]:
            return [x1, y1, x2, y2]
    expected = "one ring of five positions, the corners of a box"
    hint = 'leave the property `"box"` out where the geometry is no box'
    problems.append(Problem("region-invalid", "$.geometry.coordinates", shortened(geometry), expected, hint))
    return None


def _foreign(
    feature: dict[str, object],
    properties: dict[str, object],
    members: dict[str, Raw],
    geometry: dict[str, object] | None,
    index: int,
) -> Row:
    kind = None if geometry is None else geometry.get("type")
    if geometry is None or kind != "Point":
        hint = 'say what it is: a subscription has the properties "op": "register", "id", "kind": "within"'
        return Row(
            {}, (Problem("field-missing", "$.properties.op", f"a feature of {kind}", "the property `op`", hint),)
        )
    fields: dict[str, object] = {"op": "publish", "id": f"feature-{index}"}
    if feature.get("id") is not None:
        fields["id"] = feature["id"]
    fields |= {name: properties[name] for name in _TAKEN if properties.get(name) is not None}
    if type(fields["id"]) is int:
        fields["id"] = str(fields["id"])
    if "text" not in fields and "words" not in fields:
        fields["words"] = []
    coordinates = geometry.get("coordinates")
    if isinstance(coordinates, list) and len(coordinates) == 3 and finite(coordinates[2]) is not None:
        coordinates = coordinates[:2]
    fields["at"] = coordinates
    rest = {name: value for name, value in members.items() if name not in _TAKEN}
    if rest:
        fields["attributes"] = Raw(msgspec.json.encode(rest))
    return Row(fields)
