"""Boxes on raw bounds: which points lie in one, which two meet.

The rules. All boundaries belong to the box. In a plane that is all. On the globe:

- A box with min_lon > max_lon goes from min_lon eastwards over the antimeridian to max_lon.
- -180 and 180 are the same meridian: a box that ends at 180 also contains the points at -180, and the other way round.
  [-180, a, 180, b] is the full turn.
- At a pole every longitude is the same place: a box that touches a pole contains it, whatever longitude it is given
  with, and two boxes that touch the same pole meet there.

Longitudes are within -180..180, latitudes within -90..90, and min_lat <= max_lat.
"""

from numba import njit


@njit(nogil=True, cache=True)
def lon_in_range(lon: float, min_lon: float, max_lon: float) -> bool:
    """Whether a meridian lies between two others, going east from the first."""
    if min_lon > max_lon:
        return lon >= min_lon or lon <= max_lon
    if min_lon <= lon <= max_lon:
        return True
    return (lon == 180.0 and min_lon == -180.0) or (lon == -180.0 and max_lon == 180.0)


@njit(nogil=True, cache=True)
def in_box(globe: bool, x: float, y: float, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Whether a point lies in a box."""
    if not y0 <= y <= y1:
        return False
    if not globe:
        return x0 <= x <= x1
    return y == 90.0 or y == -90.0 or lon_in_range(x, x0, x1)


@njit(nogil=True, cache=True)
def boxes_meet(
    globe: bool, ax0: float, ay0: float, ax1: float, ay1: float, bx0: float, by0: float, bx1: float, by1: float
) -> bool:
    """Whether two boxes share a point."""
    if ay0 > by1 or by0 > ay1:
        return False
    if ax0 <= bx1 and bx0 <= ax1 and ax0 <= ax1 and bx0 <= bx1:
        return True
    if not globe:
        return False
    if (ay1 == 90.0 and by1 == 90.0) or (ay0 == -90.0 and by0 == -90.0):
        return True
    # Two arcs of a circle meet exactly when one of them holds the western end of the other.
    return lon_in_range(ax0, bx0, bx1) or lon_in_range(bx0, ax0, ax1)


@njit(nogil=True, cache=True)
def flat_boxes_meet(
    ax0: float, ay0: float, ax1: float, ay1: float, bx0: float, by0: float, bx1: float, by1: float
) -> bool:
    """Whether two boxes that do not wrap share a pair of coordinates; what an index asks of the boxes it is given."""
    return ax0 <= bx1 and bx0 <= ax1 and ay0 <= by1 and by0 <= ay1
