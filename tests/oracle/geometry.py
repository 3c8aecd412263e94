"""Places, regions and distances. A place is a point (2 numbers) or a box (4); a space is None (the globe) or bounds.

Predicates on polygons are exact: coordinates are float64 and the signs are those of rational arithmetic on them.
"""

import math
from fractions import Fraction
from typing import Any

EARTH_RADIUS_M = 6371008.8
RADIANS = math.pi / 180.0
DEGREES = 180.0 / math.pi

Bounds = tuple[float, float, float, float]
Place = tuple[float, ...]
Space = Bounds | None


def haversine(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    p1, p2 = lat1 * RADIANS, lat2 * RADIANS
    s1 = math.sin((p2 - p1) / 2)
    s2 = math.sin(((lon2 - lon1) * RADIANS) / 2)
    a = s1 * s1 + (math.cos(p1) * math.cos(p2)) * (s2 * s2)
    return (2.0 * EARTH_RADIUS_M) * math.asin(math.sqrt(min(1.0, a)))


def euclid(x1: float, y1: float, x2: float, y2: float) -> float:
    dx, dy = x2 - x1, y2 - y1
    return math.sqrt(dx * dx + dy * dy)


def _clamped(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value


def distance(space: Space, point: Place, place: Place) -> float:
    """From a point to the nearest point of a place; between points by the bare formula, which is off by rounding where
    one place has two names (at the antimeridian and the poles)."""
    x, y = point
    min_x, min_y, max_x, max_y = as_box(place)
    if min_x == max_x and min_y == max_y:
        return euclid(x, y, min_x, min_y) if space is not None else haversine(x, y, min_x, min_y)
    if space is not None:
        return euclid(x, y, _clamped(x, min_x, max_x), _clamped(y, min_y, max_y))
    if boxes_meet(None, as_box(point), as_box(place)):
        return 0.0
    if _longitudes_meet((x, x), (min_x, max_x)):
        return haversine(x, y, x, _clamped(y, min_y, max_y))
    return min(_to_meridian(x, y, lon, min_y, max_y) for lon in {min_x, max_x})


def _to_meridian(lon: float, lat: float, edge: float, min_lat: float, max_lat: float) -> float:
    """From a point to an edge of a box that runs along a meridian."""
    best = min(haversine(lon, lat, edge, min_lat), haversine(lon, lat, edge, max_lat))
    p0, turn = lat * RADIANS, (edge - lon) * RADIANS
    foot = math.atan2(math.sin(p0), math.cos(p0) * math.cos(turn)) * DEGREES
    if min_lat < foot < max_lat:
        best = min(best, haversine(lon, lat, edge, foot))
    return best


def as_box(place: Place) -> Bounds:
    return (place[0], place[1], place[0], place[1]) if len(place) == 2 else (place[0], place[1], place[2], place[3])


def longitudes(low: float, high: float) -> list[tuple[float, float]]:
    """The closed intervals of a range of longitudes; -180 and 180 are one meridian, so who has one has the other."""
    spans = [(low, high)] if low <= high else [(low, 180.0), (-180.0, high)]
    for here, there in ((180.0, -180.0), (-180.0, 180.0)):
        if any(here in span for span in spans):
            spans.append((there, there))
    return spans


def _longitudes_meet(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return any(p[0] <= q[1] and q[0] <= p[1] for p in longitudes(*a) for q in longitudes(*b))


def boxes_meet(space: Space, a: Bounds, b: Bounds) -> bool:
    if a[1] > b[3] or b[1] > a[3]:
        return False
    if space is not None:
        return a[0] <= b[2] and b[0] <= a[2]
    if (a[3] == 90.0 and b[3] == 90.0) or (a[1] == -90.0 and b[1] == -90.0):
        return True
    return _longitudes_meet((a[0], a[2]), (b[0], b[2]))


def side(a: Place, b: Place, c: Place) -> int:
    """The sign of the cross product (b - a) x (c - a), exactly."""
    ax, ay = Fraction(a[0]), Fraction(a[1])
    cross = (Fraction(b[0]) - ax) * (Fraction(c[1]) - ay) - (Fraction(b[1]) - ay) * (Fraction(c[0]) - ax)
    return (cross > 0) - (cross < 0)


def _edges(rings: list[Any]) -> list[tuple[Place, Place]]:
    return [(ring[i], ring[i + 1]) for ring in rings for i in range(len(ring) - 1)]


def in_polygon(rings: list[Any], point: Place) -> bool:
    """Even-odd over all rings; a point on any edge is inside."""
    x, y = point
    inside = False
    for a, b in _edges(rings):
        if min(a[1], b[1]) > y or max(a[1], b[1]) < y:
            continue
        turn = side(a, b, point)
        if turn == 0 and min(a[0], b[0]) <= x <= max(a[0], b[0]):
            return True
        if (a[1] > y) != (b[1] > y) and (turn > 0) == (b[1] > a[1]):
            inside = not inside
    return inside


def _segment_meets_box(a: Place, b: Place, box: Bounds) -> bool:
    """No axis separates them: neither x, nor y, nor the segment's own normal."""
    if max(a[0], b[0]) < box[0] or min(a[0], b[0]) > box[2] or max(a[1], b[1]) < box[1] or min(a[1], b[1]) > box[3]:
        return False
    corners = [(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])]
    sides = {side(a, b, corner) for corner in corners}
    return sides not in ({1}, {-1})


def polygon_meets_box(rings: list[Any], box: Bounds) -> bool:
    """On the flat sheet of coordinates."""
    xs, ys = zip(*(point for ring in rings for point in ring), strict=True)
    if max(xs) < box[0] or min(xs) > box[2] or max(ys) < box[1] or min(ys) > box[3]:
        return False
    if in_polygon(rings, (box[0], box[1])):
        return True
    return any(_segment_meets_box(a, b, box) for a, b in _edges(rings))


def _polygon_meets(space: Space, rings: list[Any], box: Bounds) -> bool:
    if space is not None:
        return polygon_meets_box(rings, box)
    latitudes = [point[1] for ring in rings for point in ring]
    if (box[3] == 90.0 and max(latitudes) == 90.0) or (box[1] == -90.0 and min(latitudes) == -90.0):
        return True
    return any(polygon_meets_box(rings, (low, box[1], high, box[3])) for low, high in longitudes(box[0], box[2]))


def meets(space: Space, region: Any, place: Place) -> bool:
    """Whether a place shares a point with a region, given as in the log."""
    if region == "everywhere":
        return True
    if "any" in region:
        return any(meets(space, part, place) for part in region["any"])
    if "box" in region:
        return boxes_meet(space, as_box(region["box"]), as_box(place))
    if "circle" in region:
        x, y, radius = region["circle"]
        return bool(distance(space, (x, y), place) <= radius)
    if region["type"] == "Polygon":
        return _polygon_meets(space, region["coordinates"], as_box(place))
    return any(_polygon_meets(space, rings, as_box(place)) for rings in region["coordinates"])


def around(space: Space, at: Place, shape: dict[str, float]) -> dict[str, Any]:
    """The region of an `around` that stands at a point."""
    x, y = at
    if "radius_m" in shape:
        return {"circle": [x, y, shape["radius_m"]]}
    half_width, half_height = shape["width"] / 2, shape["height"] / 2
    low, bottom, high, top = x - half_width, y - half_height, x + half_width, y + half_height
    if space is None:
        bottom, top = max(-90.0, bottom), min(90.0, top)
        if shape["width"] >= 360:
            low, high = -180.0, 180.0
        elif low < -180.0:
            low += 360.0
        elif high > 180.0:
            high -= 360.0
    return {"box": [low, bottom, high, top]}
