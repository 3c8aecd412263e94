"""Distances. Each formula is evaluated in float64 in exactly the written order, so that ties fall the same everywhere.

On the globe the haversine of a sphere of radius 6,371,008.8 m, in a plane Euclid's distance. The distance to a box is
that to its nearest point. Between points, and to a box without size, it is the bare formula, which is off by rounding
(some nanometres) where two pairs of coordinates name one place: at the antimeridian and at the poles.
"""

import math
from typing import Final

from numba import njit

from tidings.space.boxes import in_box, lon_in_range

EARTH_RADIUS_M: Final = 6371008.8
"""The mean radius of the earth."""
HALF_CIRCUMFERENCE_M: Final = EARTH_RADIUS_M * math.pi
"""The largest distance on the globe."""
RADIANS: Final = math.pi / 180.0
"""One degree."""
DEGREES: Final = 180.0 / math.pi
"""One radian."""


@njit(nogil=True, cache=True)
def haversine(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """The great-circle distance of two points in metres."""
    p1 = lat1 * RADIANS
    p2 = lat2 * RADIANS
    s1 = math.sin((p2 - p1) / 2.0)
    s2 = math.sin(((lon2 - lon1) * RADIANS) / 2.0)
    a = s1 * s1 + (math.cos(p1) * math.cos(p2)) * (s2 * s2)
    return (2.0 * EARTH_RADIUS_M) * math.asin(math.sqrt(min(1.0, a)))


@njit(nogil=True, cache=True)
def euclid(x1: float, y1: float, x2: float, y2: float) -> float:
    """The distance of two points of a plane."""
    dx = x2 - x1
    dy = y2 - y1
    return math.sqrt(dx * dx + dy * dy)


@njit(nogil=True, cache=True)
def distance(globe: bool, lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """The distance of two points."""
    if globe:
        return haversine(lon1, lat1, lon2, lat2)
    return euclid(lon1, lat1, lon2, lat2)


@njit(nogil=True, cache=True)
def _clamped(value: float, low: float, high: float) -> float:
    if value < low:
        return low
    if value > high:
        return high
    return value


@njit(nogil=True, cache=True)
def _meridian_distance(lon: float, lat: float, edge_lon: float, min_lat: float, max_lat: float) -> float:
    """To the nearest point of a piece of a meridian: an end, or the foot of the perpendicular between them."""
    nearest = min(haversine(lon, lat, edge_lon, min_lat), haversine(lon, lat, edge_lon, max_lat))
    p0 = lat * RADIANS
    foot = math.atan2(math.sin(p0), math.cos(p0) * math.cos((edge_lon - lon) * RADIANS)) * DEGREES
    if min_lat < foot < max_lat:
        nearest = min(nearest, haversine(lon, lat, edge_lon, foot))
    return nearest


@njit(nogil=True, cache=True)
def box_distance(globe: bool, lon: float, lat: float, x0: float, y0: float, x1: float, y1: float) -> float:
    """The distance of a point to the nearest point of a box, 0 inside; to a box without size that of two points."""
    if x0 == x1 and y0 == y1:
        return distance(globe, lon, lat, x0, y0)
    if not globe:
        return euclid(lon, lat, _clamped(lon, x0, x1), _clamped(lat, y0, y1))
    if in_box(True, lon, lat, x0, y0, x1, y1):
        return 0.0
    if lon_in_range(lon, x0, x1):
        return haversine(lon, lat, lon, _clamped(lat, y0, y1))
    west = _meridian_distance(lon, lat, x0, y0, y1)
    if x0 == x1:
        return west
    return min(west, _meridian_distance(lon, lat, x1, y0, y1))
