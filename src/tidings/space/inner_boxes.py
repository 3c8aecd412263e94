"""A box inside a polygon, so that most points well inside are settled without a walk along its edges.

The search is in floating point and owes nothing but a good guess: about a few centres the largest box of a few
proportions that no edge enters, and then each side of it moved out as far as the edges beyond let it. The proof is
exact: no edge of any ring meets the box and one of its corners is inside, so all of it is. Everything is some dozen
walks along the edges at the most; a polygon for which no box is found, a thin one mostly, has an empty one.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.space.polygons import polygon_has_point, segment_meets_box
from tidings.space.shapes import POLYGON_RINGS

FloatArray = npt.NDArray[np.float64]

_INWARDS: Final = 1e-6
"""Of a box's sides: so far it stays away from the edges that stopped it, well beyond the rounding of the search."""
_PROPORTIONS: Final = np.array([1.0, 3.0, 1.0 / 3.0])
"""Of width to height, as shares of the width and the height of the bounds."""
_ENOUGH: Final = 0.1
"""Of the area of the bounds: with more than that no further centres are tried."""
_LEAST: Final = 1e-300
"""Smaller half sides could vanish when they are multiplied by a proportion."""
_LINES: Final = ((0, 1.0), (1, 1.0), (0, 0.5), (0, 1.5), (1, 0.5), (1, 1.5))
"""Further centres lie on lines along x (0) or y (1), so many half heights or half widths into the bounds."""


@njit(nogil=True, cache=True)
def _gap(ax: float, ay: float, bx: float, by: float) -> float:
    """The least of max(|x|, |y|) along a segment: how far a square about the origin can grow before they meet."""
    least = min(max(abs(ax), abs(ay)), max(abs(bx), abs(by)))
    ux, uy = bx - ax, by - ay
    # It is convex along the segment and bends only where x = y, x = -y, x = 0 or y = 0.
    for above, below in ((ax - ay, uy - ux), (ax + ay, -ux - uy), (ax, -ux), (ay, -uy)):
        if below != 0.0:
            t = above / below
            if 0.0 < t < 1.0:
                least = min(least, max(abs(ax + t * ux), abs(ay + t * uy)))
    return least


@njit(nogil=True, cache=True)
def _room(stream: FloatArray, start: int, end: int, x: float, y: float, wide: float, high: float) -> float:
    """By how much a box of half sides `wide` and `high` about a centre can be scaled before an edge meets it."""
    least = np.inf
    ring = start + POLYGON_RINGS
    while ring < end:
        last = ring + 1 + 2 * (int(stream[ring]) - 1)
        bx, by = (stream[ring + 1] - x) / wide, (stream[ring + 2] - y) / high
        for at in range(ring + 3, last + 2, 2):
            ax, ay = bx, by
            bx, by = (stream[at] - x) / wide, (stream[at + 1] - y) / high
            if min(ax, bx) < least and max(ax, bx) > -least and min(ay, by) < least and max(ay, by) > -least:
                least = min(least, _gap(ax, ay, bx, by))
        ring = last + 2
    return least


@njit(nogil=True, cache=True)
def _nearest_beyond(
    stream: FloatArray, start: int, end: int, along: int, sign: float, side: float, low: float, high: float
) -> float:
    """Where the first edge lies beyond a side of a box, in the strip low..high; `along` is 0 for x and 1 for y."""
    nearest = np.inf
    side *= sign
    ring = start + POLYGON_RINGS
    while ring < end:
        last = ring + 1 + 2 * (int(stream[ring]) - 1)
        for at in range(ring + 1, last, 2):
            a, b = sign * stream[at + along], sign * stream[at + 2 + along]
            v, w = stream[at + 1 - along], stream[at + 3 - along]
            if max(a, b) < side or min(a, b) >= nearest or max(v, w) < low or min(v, w) > high:
                continue
            if v > w:
                a, b, v, w = b, a, w, v
            # The ends of what the strip leaves of the edge; being a straight line, it is nearest at one of them.
            first = a + (b - a) * ((low - v) / (w - v)) if v < low else a
            final = a + (b - a) * ((high - v) / (w - v)) if w > high else b
            found = min(first, final)
            if found >= side:
                nearest = min(nearest, found)
        ring = last + 2
    return sign * nearest


@njit(nogil=True, cache=True)
def _is_within(stream: FloatArray, start: int, end: int, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Whether a box lies inside a polygon and no edge meets it; exact."""
    ring = start + POLYGON_RINGS
    while ring < end:
        last = ring + 1 + 2 * (int(stream[ring]) - 1)
        for at in range(ring + 1, last, 2):
            if segment_meets_box(stream[at], stream[at + 1], stream[at + 2], stream[at + 3], x0, y0, x1, y1):
                return False
        ring = last + 2
    return polygon_has_point(stream, start, end, x0, y0)


@njit(nogil=True, cache=True)
def _middle_of_span(stream: FloatArray, start: int, end: int, along: int, level: float) -> float:
    """The middle of the widest piece that even-odd leaves of a line at a level, along x (0) or y (1)."""
    cuts = np.empty((end - start) // 2)
    n = 0
    ring = start + POLYGON_RINGS
    while ring < end:
        last = ring + 1 + 2 * (int(stream[ring]) - 1)
        for at in range(ring + 1, last, 2):
            v, w = stream[at + 1 - along], stream[at + 3 - along]
            if (v > level) != (w > level):
                a, b = stream[at + along], stream[at + 2 + along]
                cuts[n] = a + (b - a) * ((level - v) / (w - v))
                n += 1
        ring = last + 2
    cuts = np.sort(cuts[:n])
    widest, middle = 0.0, np.nan
    for i in range(0, n - 1, 2):
        if cuts[i + 1] - cuts[i] > widest:
            widest, middle = cuts[i + 1] - cuts[i], (cuts[i] + cuts[i + 1]) / 2.0
    return middle


@njit(nogil=True, cache=True)
def _centroid(stream: FloatArray, start: int) -> tuple[float, float]:
    """About the centre of gravity of the outer ring; NaN when it has no area."""
    ring = start + POLYGON_RINGS
    x, y = stream[ring + 1], stream[ring + 2]
    area = across = up = 0.0
    for at in range(ring + 1, ring + 1 + 2 * (int(stream[ring]) - 1), 2):
        ax, ay, bx, by = stream[at] - x, stream[at + 1] - y, stream[at + 2] - x, stream[at + 3] - y
        cross = ax * by - bx * ay
        area += cross
        across += (ax + bx) * cross
        up += (ay + by) * cross
    if area == 0.0:
        return np.nan, np.nan
    return x + across / (3.0 * area), y + up / (3.0 * area)


@njit(nogil=True, cache=True)
def _grown(
    stream: FloatArray, start: int, end: int, x: float, y: float, wide: float, high: float
) -> tuple[float, float, float, float]:
    """A box about a centre with every side moved out in turn, those of the longer axis first."""
    west, south, east, north = x - wide, y - high, x + wide, y + high
    margin_x, margin_y = 2.0 * wide * _INWARDS, 2.0 * high * _INWARDS
    for i in range(2):
        if (wide >= high) == (i == 0):
            east = max(east, _nearest_beyond(stream, start, end, 0, 1.0, east, south, north) - margin_x)
            west = min(west, _nearest_beyond(stream, start, end, 0, -1.0, west, south, north) + margin_x)
        else:
            north = max(north, _nearest_beyond(stream, start, end, 1, 1.0, north, west, east) - margin_y)
            south = min(south, _nearest_beyond(stream, start, end, 1, -1.0, south, west, east) + margin_y)
    return west, south, east, north


@njit(nogil=True, cache=True)
def fill_inner_box(stream: FloatArray, start: int, end: int) -> None:
    """Find the inner box of the polygon at start..end of the stream and write it behind the bounds."""
    inner = start + 4
    stream[inner], stream[inner + 1], stream[inner + 2], stream[inner + 3] = np.inf, np.inf, -np.inf, -np.inf
    x0, y0 = stream[start], stream[start + 1]
    wide, high = (stream[start + 2] - x0) / 2.0, (stream[start + 3] - y0) / 2.0
    if not (_LEAST < wide < np.inf and _LEAST < high < np.inf):
        return
    most, x, y, half_wide, half_high = 0.0, 0.0, 0.0, 0.0, 0.0
    for attempt in range(2 + len(_LINES)):
        if attempt >= 2 and most > _ENOUGH:
            break
        if attempt == 0:
            cx, cy = _centroid(stream, start)
        elif attempt == 1:
            cx, cy = x0 + wide, y0 + high
        else:
            along, share = _LINES[attempt - 2]
            if along == 0:
                cy = y0 + share * high
                cx = _middle_of_span(stream, start, end, 0, cy)
            else:
                cx = x0 + share * wide
                cy = _middle_of_span(stream, start, end, 1, cx)
        if not polygon_has_point(stream, start, end, cx, cy):
            continue
        for proportion in _PROPORTIONS:
            room = _room(stream, start, end, cx, cy, wide * proportion, high) * (1.0 - _INWARDS)
            if room * room * proportion > most:
                most, x, y = room * room * proportion, cx, cy
                half_wide, half_high = wide * proportion * room, high * room
    if most == 0.0:
        return
    for i in range(2):
        box = x - half_wide, y - half_high, x + half_wide, y + half_high
        if i == 0:
            box = _grown(stream, start, end, x, y, half_wide, half_high)
        # The exact predicates are made for finite numbers only.
        is_finite = -np.inf < box[0] <= box[2] < np.inf and -np.inf < box[1] <= box[3] < np.inf
        if is_finite and _is_within(stream, start, end, box[0], box[1], box[2], box[3]):
            stream[inner], stream[inner + 1], stream[inner + 2], stream[inner + 3] = box
            return


@njit(nogil=True, cache=True)
def fill_inner_boxes(rows: FloatArray, start: int) -> None:
    """Find the inner boxes of many polygons, one a row, each from `start` to the end of its row."""
    for i in range(len(rows)):
        fill_inner_box(rows[i], start, rows.shape[1])
