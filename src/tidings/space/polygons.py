"""Polygons: even-odd over all rings, every edge (those of holes too) belongs to it, all decisions exact.

A polygon is a flat stream of numbers: its bounds (4), its inner box (4), its cut corners (4), then each ring as the
number of its positions, the closing one included, and the positions x, y, x, y, ... Edges are straight in the given
coordinates; what the antimeridian and the poles add to that is in `polygon_meets`.

The inner box is one that lies inside the polygon, found by `inner_boxes`; its first two numbers are inf and the others
-inf when there is none, and then it meets nothing. What meets it meets the polygon, and no edge has to be looked at.

The cut corners are bounds along the diagonals: the least x + y, the least x - y, the greatest x + y and the greatest
x - y of all positions, each as floating point rounds it. A point beyond one of them is outside, and again no edge has
to be looked at. No slack is needed for that: a point of the polygon lies between its positions, so its x + y as a real
number is at most the greatest of theirs, and rounding keeps order. Sums too large for floating point are infinite,
which keeps it as well.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.space.boxes import flat_boxes_meet
from tidings.space.orientation import orientation
from tidings.space.shapes import POLYGON_RINGS

FloatArray = npt.NDArray[np.float64]

NO_BOX: Final = (np.inf, np.inf, -np.inf, -np.inf)
"""The inner box of a polygon for which none was found."""
NO_CORNERS: Final = (-np.inf, -np.inf, np.inf, np.inf)
"""Cut corners that cut nothing."""


def cut_corners(x: FloatArray, y: FloatArray) -> FloatArray:
    """The cut corners of the positions along the last axis, as the last axis of the answer."""
    with np.errstate(over="ignore"):
        up, down = x + y, x - y
    return np.stack([up.min(axis=-1), down.min(axis=-1), up.max(axis=-1), down.max(axis=-1)], axis=-1)


@njit(nogil=True, cache=True)
def segment_meets_box(ax: float, ay: float, bx: float, by: float, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Whether a segment shares a point with a box.

    By separating axes: the two of the box, and the normal of the segment, whose extreme corners depend on its slope.
    """
    if max(ax, bx) < x0 or min(ax, bx) > x1 or max(ay, by) < y0 or min(ay, by) > y1:
        return False
    if (x0 <= ax <= x1 and y0 <= ay <= y1) or (x0 <= bx <= x1 and y0 <= by <= y1):
        return True
    if (ax < bx) == (ay < by):
        one, other = orientation(ax, ay, bx, by, x0, y1), orientation(ax, ay, bx, by, x1, y0)
    else:
        one, other = orientation(ax, ay, bx, by, x0, y0), orientation(ax, ay, bx, by, x1, y1)
    return one * other <= 0


@njit(nogil=True, cache=True)
def polygon_has_point(stream: FloatArray, start: int, end: int, x: float, y: float) -> bool:
    """Whether a point lies in the polygon at start..end of the stream, or on one of its edges."""
    if not (stream[start] <= x <= stream[start + 2] and stream[start + 1] <= y <= stream[start + 3]):
        return False
    # Each is one sum rounded once, as in `cut_corners`, whose claim rests on that.
    up, down = x + y, x - y
    if not (stream[start + 8] <= up <= stream[start + 10] and stream[start + 9] <= down <= stream[start + 11]):
        return False
    inside = False
    ring = start + POLYGON_RINGS
    while ring < end:
        last = ring + 1 + 2 * (int(stream[ring]) - 1)
        for at in range(ring + 1, last, 2):
            ay, by = stream[at + 1], stream[at + 3]
            if (ay < y and by < y) or (ay > y and by > y):
                continue
            ax, bx = stream[at], stream[at + 2]
            if x > ax and x > bx:
                continue
            if ay == by:
                if x >= ax or x >= bx:
                    return True
                continue
            crosses = (ay > y) != (by > y)
            if x < ax and x < bx:
                inside ^= crosses
                continue
            side = orientation(ax, ay, bx, by, x, y)
            if side == 0:
                return True
            if crosses and (side > 0) == (by > ay):
                inside = not inside
        ring = last + 2
    return inside


@njit(nogil=True, cache=True)
def polygon_meets_flat_box(
    stream: FloatArray, start: int, end: int, x0: float, y0: float, x1: float, y1: float
) -> bool:
    """Whether the polygon shares a pair of coordinates with a box that does not wrap (x0 <= x1)."""
    if not flat_boxes_meet(stream[start], stream[start + 1], stream[start + 2], stream[start + 3], x0, y0, x1, y1):
        return False
    if flat_boxes_meet(stream[start + 4], stream[start + 5], stream[start + 6], stream[start + 7], x0, y0, x1, y1):
        return True
    if x0 == x1 and y0 == y1:
        return polygon_has_point(stream, start, end, x0, y0)
    ring = start + POLYGON_RINGS
    while ring < end:
        last = ring + 1 + 2 * (int(stream[ring]) - 1)
        for at in range(ring + 1, last, 2):
            if segment_meets_box(stream[at], stream[at + 1], stream[at + 2], stream[at + 3], x0, y0, x1, y1):
                return True
        ring = last + 2
    # No edge enters the box, so all of it lies on one side.
    return polygon_has_point(stream, start, end, x0, y0)


@njit(nogil=True, cache=True)
def polygon_meets(
    globe: bool, stream: FloatArray, start: int, end: int, x0: float, y0: float, x1: float, y1: float
) -> bool:
    """Whether the polygon shares a place with a box; on the globe the box may wrap.

    A polygon that touches one end of the longitudes also touches the other, and one that touches a pole contains it
    at any longitude.
    """
    if not globe:
        return polygon_meets_flat_box(stream, start, end, x0, y0, x1, y1)
    if stream[start + 1] > y1 or stream[start + 3] < y0:
        return False
    if (y1 == 90.0 and stream[start + 3] == 90.0) or (y0 == -90.0 and stream[start + 1] == -90.0):
        return True
    if x0 > x1:
        return polygon_meets_flat_box(stream, start, end, x0, y0, 180.0, y1) or polygon_meets_flat_box(
            stream, start, end, -180.0, y0, x1, y1
        )
    if polygon_meets_flat_box(stream, start, end, x0, y0, x1, y1):
        return True
    if x0 == -180.0 and polygon_meets_flat_box(stream, start, end, 180.0, y0, 180.0, y1):
        return True
    return x1 == 180.0 and polygon_meets_flat_box(stream, start, end, -180.0, y0, -180.0, y1)
