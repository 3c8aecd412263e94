"""A region as it is given on the command line: numbers, JSON, or a GeoJSON file."""

import os
from typing import Final

import msgspec

from tidings.model.errors import FileError, InputError, Problem, shortened
from tidings.model.events import Space
from tidings.model.regions import Region
from tidings.space.region_json import read_region

OPTION: Final = "--where"

_EXPECTED: Final = "min_lon,min_lat,max_lon,max_lat or lon,lat,radius or everywhere or JSON or @FILE"


def region_of(text: str, space: Space) -> Region:
    """The region that a text means in a space."""
    text = text.strip()
    name, value = OPTION, _value_of(text)
    if text.startswith("@"):
        name = text[1:]
    region, problems = read_region(value, name, space)
    if region is None:
        raise InputError(problems)
    return region


def _value_of(text: str) -> object:
    """The JSON that stands for the region."""
    if text == "everywhere":
        return text
    if text.startswith("@"):
        return _geometry_in(text[1:])
    if text.startswith(("{", '"')):
        return _decoded(text.encode(), OPTION, text)
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 4):
        raise InputError(Problem("region-invalid", OPTION, shortened(text), _EXPECTED))
    return {"box" if len(numbers) == 4 else "circle": numbers}


def _geometry_in(path: str) -> object:
    """The geometry of a GeoJSON file; the polygons of a collection are one region."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        problem = Problem("file-unreadable", path, os.strerror(error.errno or 0), "a GeoJSON file to read")
        raise FileError(problem) from None
    value = _decoded(data, path, "")
    if not isinstance(value, dict):
        return value
    if value.get("type") == "Feature":
        return value.get("geometry")
    if value.get("type") == "FeatureCollection" and isinstance(value.get("features"), list):
        return {"any": [item.get("geometry") if isinstance(item, dict) else item for item in value["features"]]}
    return value


def _decoded(data: bytes, place: str, found: str) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = Problem("json-invalid", place, shortened(found) or str(error), "a region in JSON", str(error))
        raise InputError(problem) from None
