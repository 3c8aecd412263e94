"""Regions from decoded JSON and back, with all that is wrong about one at once and where.

Numba is only loaded when a polygon has to be checked: commands that have none to read stay light.
"""

from typing import Final, TypeAlias

from tidings.model.errors import Problem, shortened
from tidings.model.events import Space
from tidings.model.limits import MAX_REGION_DEPTH, MAX_REGION_PARTS
from tidings.model.regions import AnyOf, Box, Circle, Everywhere, Polygon, Region, Ring
from tidings.space.extent import is_globe
from tidings.space.positions import read_bounds, read_number, read_point

Json: TypeAlias = str | dict[str, "Json"] | list["Json"] | float
Reading: TypeAlias = tuple[Region | None, list[Problem]]

_FORMS: Final = '"everywhere", {"box"}, {"circle"}, a GeoJSON Polygon or MultiPolygon, or {"any"}'
_KEYS: Final = ("box", "circle", "any", "type")


def read_region(value: object, path: str, space: Space) -> Reading:
    """A region, or None and every problem with its JSON path."""
    region, problems = _read(value, path, space, 1)
    if region is not None and (parts := _count(region)) > MAX_REGION_PARTS:
        expected = f"at most {MAX_REGION_PARTS} boxes, circles and polygons"
        return None, [Problem("region-invalid", path, f"{parts} parts", expected)]
    return region, problems


def _count(region: Region) -> int:
    return sum(map(_count, region.regions)) if isinstance(region, AnyOf) else 1


def _read(value: object, path: str, space: Space, depth: int) -> Reading:
    if value == "everywhere":
        return Everywhere(), []
    if not isinstance(value, dict):
        return None, [Problem("region-invalid", path, shortened(value), _FORMS)]
    keys = [key for key in _KEYS if key in value]
    if len(keys) != 1:
        found = " and ".join(keys) if keys else shortened(value)
        hint = 'Put several regions into one {"any": [...]}.' if keys else ""
        return None, [Problem("region-invalid", path, found, _FORMS, hint)]
    key = keys[0]
    if key == "type":
        return _read_geojson(value, path, space)
    problems = _unknown(value, (key,), path)
    content = value[key]
    region: Region | None
    if key == "box":
        bounds, found_problems = read_bounds(content, f"{path}.box", space)
        region = None if bounds is None else Box(bounds)
    elif key == "circle":
        region, found_problems = _read_circle(content, f"{path}.circle", space)
    else:
        region, found_problems = _read_any(content, f"{path}.any", space, depth)
    problems += found_problems
    return (None, problems) if problems else (region, [])


def _unknown(value: dict[str, object], known: tuple[str, ...], path: str) -> list[Problem]:
    return [
        Problem("field-unknown", f"{path}.{shortened(key)}", shortened(key), "only " + ", ".join(known))
        for key in value
        if key not in known
    ]


def _read_circle(value: object, path: str, space: Space) -> Reading:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        expected = "[lon, lat, radius in metres]" if is_globe(space) else "[x, y, radius]"
        return None, [Problem("field-type", path, shortened(value), expected)]
    centre, problems = read_point(value[:2], path, space)
    radius, found = read_number(value[2], f"{path}[2]")
    problems += found
    if radius is not None and radius < 0.0:
        problems.append(Problem("region-invalid", f"{path}[2]", shortened(radius), "a radius of 0 or more"))
    if problems or centre is None or radius is None:
        return None, problems
    return Circle(centre, radius), []


def _read_any(value: object, path: str, space: Space, depth: int) -> Reading:
    if not isinstance(value, (list, tuple)):
        return None, [Problem("field-type", path, shortened(value), "an array of regions")]
    if not value:
        return None, [Problem("region-invalid", path, "[]", "at least one region")]
    if depth > MAX_REGION_DEPTH:
        expected = f'at most {MAX_REGION_DEPTH} "any" inside each other'
        return None, [Problem("region-invalid", path, f"{depth} levels", expected)]
    regions: list[Region] = []
    problems: list[Problem] = []
    for i, item in enumerate(value):
        region, found = _read(item, f"{path}[{i}]", space, depth + 1)
        problems += found
        if region is not None:
            regions.append(region)
    return (None, problems) if problems else (AnyOf(tuple(regions)), [])


def _read_geojson(value: dict[str, object], path: str, space: Space) -> Reading:
    kind = value["type"]
    if kind not in ("Polygon", "MultiPolygon"):
        hint = "Give the feature's geometry." if kind in ("Feature", "FeatureCollection") else ""
        return None, [Problem("region-invalid", f"{path}.type", shortened(kind), '"Polygon" or "MultiPolygon"', hint)]
    problems = _unknown(value, ("type", "coordinates", "bbox"), path)
    inner = f"{path}.coordinates"
    if "coordinates" not in value:
        return None, [*problems, Problem("region-invalid", path, shortened(value), 'the member "coordinates"')]
    coordinates = value["coordinates"]
    region: Region | None
    if kind == "Polygon":
        region, found = _read_polygon(coordinates, inner, space)
        problems += found
        return (None, problems) if problems else (region, [])
    if not isinstance(coordinates, (list, tuple)):
        return None, [*problems, Problem("field-type", inner, shortened(coordinates), "an array of polygons")]
    if not coordinates:
        return None, [*problems, Problem("region-invalid", inner, "[]", "at least one polygon")]
    polygons: list[Region] = []
    for i, item in enumerate(coordinates):
        polygon, found = _read_polygon(item, f"{inner}[{i}]", space)
        problems += found
        if polygon is not None:
            polygons.append(polygon)
    return (None, problems) if problems else (AnyOf(tuple(polygons)), [])


def _read_polygon(value: object, path: str, space: Space) -> tuple[Polygon | None, list[Problem]]:
    if not isinstance(value, (list, tuple)):
        return None, [Problem("field-type", path, shortened(value), "an array of rings")]
    rings: list[Ring] = []
    problems: list[Problem] = []
    for i, item in enumerate(value):
        if not isinstance(item, (list, tuple)):
            problems.append(Problem("field-type", f"{path}[{i}]", shortened(item), "an array of positions"))
            continue
        points = []
        for j, position in enumerate(item):
            point, found = read_point(position, f"{path}[{i}][{j}]", space)
            problems += found
            if point is not None:
                points.append(point)
        rings.append(tuple(points))
    if problems:
        return None, problems
    from tidings.space.validity import polygon_problem

    wrong = polygon_problem(rings)
    if wrong is not None:
        expected = "closed rings that neither cross nor touch themselves, holes inside the outer ring"
        return None, [Problem("polygon-invalid", path, wrong, expected)]
    return Polygon(tuple(rings)), []


def write_region(region: Region) -> Json:
    """A region as JSON: what `read_region` reads as the same region."""
    if isinstance(region, Everywhere):
        return "everywhere"
    if isinstance(region, Box):
        return {"box": list(region.bounds)}
    if isinstance(region, Circle):
        return {"circle": [*region.centre, region.radius]}
    if isinstance(region, Polygon):
        return {"type": "Polygon", "coordinates": _coordinates(region)}
    polygons = [inner for inner in region.regions if isinstance(inner, Polygon)]
    if len(polygons) == len(region.regions):
        return {"type": "MultiPolygon", "coordinates": [_coordinates(polygon) for polygon in polygons]}
    return {"any": [write_region(inner) for inner in region.regions]}


def _coordinates(polygon: Polygon) -> list[Json]:
    return [[[x, y] for x, y in ring] for ring in polygon.rings]
