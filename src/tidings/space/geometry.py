"""Regions as flat numbers, what kernels decide with: does a region meet a message, and where is it to be indexed.

A region is a shape and a stream of numbers. The common single box is BOX with its four bounds (x0 > x1 wraps);
everything is EVERYWHERE with an empty stream. All else is COMPOUND:

    [size of the whole stream, then of each part: its type, the size of its data, its data ...]

with the parts box (4 bounds), circle (centre, radius) and polygon (see `polygons`).

`region_meets` decides exactly. `index_boxes` and `place_boxes` are what an index needs to find candidates with plain
comparisons: when a region meets a message, then one of the region's index boxes meets one of the message's place
boxes as pairs of coordinates, without any rule about meridians or poles. None of these boxes wraps.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.dtypes import Integer
from tidings.model.regions import AnyOf, Bounds, Box, Circle, Everywhere, Polygon, Region
from tidings.space.boxes import boxes_meet
from tidings.space.inner_boxes import fill_inner_box
from tidings.space.metrics import DEGREES, EARTH_RADIUS_M, HALF_CIRCUMFERENCE_M, RADIANS, box_distance
from tidings.space.polygons import NO_BOX, cut_corners, polygon_meets
from tidings.space.shapes import BOX, COMPOUND, EVERYWHERE, PART_BOX, PART_CIRCLE, PART_POLYGON

FloatArray = npt.NDArray[np.float64]

INDEX_BOXES: Final = 8
"""Rows that callers of `index_boxes` give at most by convention; a region of more parts is covered by coarser boxes."""
PLACE_BOXES: Final = 4
"""The most rows `place_boxes` fills: a box that wraps and touches both poles."""

_SLACK: Final = 1e-9
"""Circles are indexed this much larger (relative, and in degrees): rounding in the haversine is below 1e-12."""
_NEARLY_ALL: Final = 3.14
"""Radians; a larger circle is indexed as everything, since the haversine is ill-conditioned near the antipode."""
_UNDERFLOW: Final = 1e-150
"""Squares of smaller differences vanish, so that Euclid's distance of two different points may be 0."""


def _parts(region: Region, globe: bool, extent: Bounds) -> list[list[float]] | None:
    """The parts of a region as type, size, data; None when it covers the whole space."""
    if isinstance(region, Everywhere):
        return None
    if isinstance(region, AnyOf):
        parts = []
        for inner in region.regions:
            found = _parts(inner, globe, extent)
            if found is None:
                return None
            parts += found
        return parts
    if isinstance(region, Box):
        x0, y0, x1, y1 = region.bounds
        if x0 <= extent[0] and y0 <= extent[1] and x1 >= extent[2] and y1 >= extent[3]:
            return None
        return [[PART_BOX, 4, x0, y0, x1, y1]]
    if isinstance(region, Circle):
        if globe and region.radius >= HALF_CIRCUMFERENCE_M:
            return None
        return [[PART_CIRCLE, 3, *region.centre, region.radius]]
    return [_polygon_part(region)]


def _polygon_part(polygon: Polygon) -> list[float]:
    xs = [x for ring in polygon.rings for x, _ in ring]
    ys = [y for ring in polygon.rings for _, y in ring]
    data: list[float] = [min(xs), min(ys), max(xs), max(ys), *NO_BOX]
    data += cut_corners(np.array(xs, np.float64), np.array(ys, np.float64)).tolist()
    for ring in polygon.rings:
        data.append(len(ring))
        for point in ring:
            data += point
    numbers = np.array(data, np.float64)
    fill_inner_box(numbers, 0, len(numbers))
    data[4:8] = numbers[4:8].tolist()
    return [PART_POLYGON, len(data), *data]


def encode_region(region: Region, globe: bool, extent: Bounds) -> tuple[int, FloatArray]:
    """The shape and stream of a valid region; one that covers the whole extent of its space is EVERYWHERE."""
    parts = _parts(region, globe, extent)
    if parts is None:
        return EVERYWHERE, np.empty(0, np.float64)
    if len(parts) == 1 and parts[0][0] == PART_BOX:
        return BOX, np.array(parts[0][2:], np.float64)
    size = 1 + sum(len(part) for part in parts)
    return COMPOUND, np.array([size, *(number for part in parts for number in part)], np.float64)


@njit(nogil=True, cache=True)
def region_meets(
    globe: bool, shape: Integer, stream: FloatArray, start: Integer, x0: float, y0: float, x1: float, y1: float
) -> bool:
    """Whether the region at `start` of the stream shares a place with a message's box (a point is a box, too)."""
    if shape == EVERYWHERE:
        return True
    if shape == BOX:
        return boxes_meet(
            globe, float(stream[start]), stream[start + 1], stream[start + 2], stream[start + 3], x0, y0, x1, y1
        )
    end = start + int(stream[start])
    at = start + 1
    while at < end:
        kind, data = int(stream[at]), at + 2
        at = data + int(stream[at + 1])
        if kind == PART_BOX:
            if boxes_meet(globe, stream[data], stream[data + 1], stream[data + 2], stream[data + 3], x0, y0, x1, y1):
                return True
        elif kind == PART_CIRCLE:
            if box_distance(globe, stream[data], stream[data + 1], x0, y0, x1, y1) <= stream[data + 2]:
                return True
        elif polygon_meets(globe, stream, data, at, x0, y0, x1, y1):
            return True
    return False


@njit(nogil=True, cache=True)
def _put(out: FloatArray, n: int, x0: float, y0: float, x1: float, y1: float) -> int:
    """Add a box; when there is no room, widen the one that grows least."""
    if n < len(out):
        out[n, 0], out[n, 1], out[n, 2], out[n, 3] = x0, y0, x1, y1
        return n + 1
    best, least = 0, np.inf
    for i in range(n):
        width, height = out[i, 2] - out[i, 0], out[i, 3] - out[i, 1]
        wider = max(out[i, 2], x1) - min(out[i, 0], x0)
        higher = max(out[i, 3], y1) - min(out[i, 1], y0)
        growth = wider * higher - width * height
        if growth < least:
            best, least = i, growth
    out[best, 0], out[best, 1] = min(out[best, 0], x0), min(out[best, 1], y0)
    out[best, 2], out[best, 3] = max(out[best, 2], x1), max(out[best, 3], y1)
    return n


@njit(nogil=True, cache=True)
def put_box(out: FloatArray, n: int, x0: float, y0: float, x1: float, y1: float) -> int:
    """Add a box that may wrap as one or two that do not."""
    if x0 <= x1:
        return _put(out, n, x0, y0, x1, y1)
    return _put(out, _put(out, n, x0, y0, 180.0, y1), -180.0, y0, x1, y1)


@njit(nogil=True, cache=True)
def put_circle(globe: bool, x: float, y: float, radius: float, out: FloatArray, n: int) -> int:
    """Add boxes that hold a circle, a little larger than need be."""
    if not globe:
        reach = radius * (1.0 + _SLACK) + _UNDERFLOW
        return _put(out, n, x - reach, y - reach, x + reach, y + reach)
    angle = radius / EARTH_RADIUS_M
    if angle >= _NEARLY_ALL:
        return _put(out, n, -180.0, -90.0, 180.0, 90.0)
    reach = angle * DEGREES * (1.0 + _SLACK) + _SLACK
    south, north = y - reach, y + reach
    if south <= -90.0 or north >= 90.0:
        return _put(out, n, -180.0, max(south, -90.0), 180.0, min(north, 90.0))
    # No pole is inside, so the sine of the reach is less than the cosine of the latitude, but for rounding.
    across = math.asin(min(1.0, math.sin(reach * RADIANS) / math.cos(y * RADIANS))) * DEGREES * (1.0 + _SLACK) + _SLACK
    west, east = x - across, x + across
    if west <= -180.0:
        return put_box(out, n, west + 360.0, south, east, north)
    if east >= 180.0:
        return put_box(out, n, west, south, east - 360.0, north)
    return _put(out, n, west, south, east, north)


@njit(nogil=True, cache=True)
def index_boxes(globe: bool, shape: Integer, stream: FloatArray, start: Integer, out: FloatArray) -> int:
    """Fill `out` with boxes that cover the region, never more than it has rows; EVERYWHERE in a plane is unbounded."""
    if shape == EVERYWHERE:
        if globe:
            return _put(out, 0, -180.0, -90.0, 180.0, 90.0)
        return _put(out, 0, -np.inf, -np.inf, np.inf, np.inf)
    if shape == BOX:
        return put_box(out, 0, float(stream[start]), stream[start + 1], stream[start + 2], stream[start + 3])
    end = start + int(stream[start])
    at = start + 1
    n = 0
    while at < end:
        kind, data = int(stream[at]), at + 2
        at = data + int(stream[at + 1])
        if kind == PART_CIRCLE:
            n = put_circle(globe, stream[data], stream[data + 1], stream[data + 2], out, n)
        else:
            n = put_box(out, n, stream[data], stream[data + 1], stream[data + 2], stream[data + 3])
    return n


@njit(nogil=True, cache=True)
def place_boxes(globe: bool, x0: float, y0: float, x1: float, y1: float, out: FloatArray) -> int:
    """Fill `out` with the boxes by which a message has to be looked up, 1 to PLACE_BOXES of them.

    The box itself (two when it wraps), its edge on the antimeridian once more with the other sign, and the whole row
    of a pole that it touches.
    """
    if not globe:
        return _put(out, 0, x0, y0, x1, y1)
    n = 0
    if y0 < y1 or -90.0 < y0 < 90.0:
        n = put_box(out, n, x0, y0, x1, y1)
        if x0 == -180.0 and x1 < 180.0:
            n = _put(out, n, 180.0, y0, 180.0, y1)
        elif x1 == 180.0 and -180.0 < x0 <= x1:
            n = _put(out, n, -180.0, y0, -180.0, y1)
    whole = x0 == -180.0 and x1 == 180.0
    if y1 == 90.0 and (not whole or n == 0):
        n = _put(out, n, -180.0, 90.0, 180.0, 90.0)
    if y0 == -90.0 and (not whole or n == 0):
        n = _put(out, n, -180.0, -90.0, 180.0, -90.0)
    return n
