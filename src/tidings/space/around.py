"""The shape that moves with an `around`, evaluated where it stands now, without being encoded.

A disc has a radius (`a`); a rectangle a width and a height (`a`, `b`), centred. On the globe a rectangle wraps around
the antimeridian, is cut at the poles (and contains a pole that it reaches), and is all longitudes from a width of 360
degrees on. In a plane it may hang over the edge.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.space.boxes import boxes_meet
from tidings.space.geometry import put_box, put_circle
from tidings.space.metrics import box_distance

FloatArray = npt.NDArray[np.float64]


@njit(nogil=True, cache=True)
def rectangle_bounds(
    globe: bool, lon: float, lat: float, width: float, height: float
) -> tuple[float, float, float, float]:
    """The bounds of a rectangle around a point; on the globe it may wrap."""
    x0, y0, x1, y1 = lon - width * 0.5, lat - height * 0.5, lon + width * 0.5, lat + height * 0.5
    if not globe:
        return x0, y0, x1, y1
    y0, y1 = max(y0, -90.0), min(y1, 90.0)
    if width >= 360.0:
        return -180.0, y0, 180.0, y1
    # The additions are exact, and a gap of one unit in the last place of 360 survives the rounding above.
    if x0 < -180.0:
        x0 += 360.0
    if x1 > 180.0:
        x1 -= 360.0
    return x0, y0, x1, y1


@njit(nogil=True, cache=True)
def around_meets(
    globe: bool,
    is_disc: bool,
    lon: float,
    lat: float,
    a: float,
    b: float,
    x0: float,
    y0: float,
    x1: float,
    y1: float,
) -> bool:
    """Whether the shape around a point shares a place with a message's box."""
    if is_disc:
        return box_distance(globe, lon, lat, x0, y0, x1, y1) <= a
    west, south, east, north = rectangle_bounds(globe, lon, lat, a, b)
    return boxes_meet(globe, west, south, east, north, x0, y0, x1, y1)


@njit(nogil=True, cache=True)
def around_boxes(globe: bool, is_disc: bool, lon: float, lat: float, a: float, b: float, out: FloatArray) -> int:
    """Fill `out` with one or two boxes that cover the shape around a point, as `geometry.index_boxes` does."""
    if is_disc:
        return put_circle(globe, lon, lat, a, out, 0)
    west, south, east, north = rectangle_bounds(globe, lon, lat, a, b)
    return put_box(out, 0, west, south, east, north)
