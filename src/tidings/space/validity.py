"""Whether rings make a polygon: closed, not empty, not crossing themselves or each other, holes inside. All exact.

A ring may touch itself nowhere; two rings may touch at points, but neither run along each other nor cross, be it at a
vertex. Then a ring that has no point outside another near the points where they touch has none outside it at all, so
one test per hole settles that it is inside. Every pair of edges is looked at: 500,000 pairs for the 1,000 vertices that
are allowed take some milliseconds.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.model.limits import MAX_POLYGON_VERTICES
from tidings.model.regions import Ring
from tidings.space.orientation import orientation
from tidings.space.polygons import NO_BOX, NO_CORNERS, polygon_has_point

FloatArray = npt.NDArray[np.float64]

_APART: Final = 0
_TOUCH: Final = 1
_CROSS: Final = 2
_OVERLAP: Final = 3


@njit(nogil=True, cache=True)
def _on_segment(ax: float, ay: float, bx: float, by: float, x: float, y: float) -> bool:
    """Whether a point of the line through a and b lies between them."""
    return min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by)


@njit(nogil=True, cache=True)
def _before(ax: float, ay: float, bx: float, by: float) -> bool:
    return ax < bx or (ax == bx and ay < by)


@njit(nogil=True, cache=True)
def _segments(
    ax: float, ay: float, bx: float, by: float, cx: float, cy: float, dx: float, dy: float
) -> tuple[int, float, float]:
    """How the segments a-b and c-d lie, and where they touch."""
    if max(ax, bx) < min(cx, dx) or max(cx, dx) < min(ax, bx) or max(ay, by) < min(cy, dy) or max(cy, dy) < min(ay, by):
        return _APART, 0.0, 0.0
    side_c = orientation(ax, ay, bx, by, cx, cy)
    side_d = orientation(ax, ay, bx, by, dx, dy)
    if side_c * side_d > 0:
        return _APART, 0.0, 0.0
    if side_c == 0 and side_d == 0:
        if _before(bx, by, ax, ay):
            ax, ay, bx, by = bx, by, ax, ay
        if _before(dx, dy, cx, cy):
            cx, cy, dx, dy = dx, dy, cx, cy
        if _before(ax, ay, cx, cy):
            ax, ay = cx, cy
        if _before(dx, dy, bx, by):
            bx, by = dx, dy
        if _before(ax, ay, bx, by):
            return _OVERLAP, 0.0, 0.0
        return (_TOUCH, ax, ay) if ax == bx and ay == by else (_APART, 0.0, 0.0)
    side_a = orientation(cx, cy, dx, dy, ax, ay)
    side_b = orientation(cx, cy, dx, dy, bx, by)
    if side_a * side_b > 0:
        return _APART, 0.0, 0.0
    if side_c == 0 and _on_segment(ax, ay, bx, by, cx, cy):
        return _TOUCH, cx, cy
    if side_d == 0 and _on_segment(ax, ay, bx, by, dx, dy):
        return _TOUCH, dx, dy
    if side_a == 0:
        return _TOUCH, ax, ay
    if side_b == 0:
        return _TOUCH, bx, by
    return _CROSS, 0.0, 0.0


@njit(nogil=True, cache=True)
def _neighbours(ring: FloatArray, edge: int, x: float, y: float) -> tuple[float, float, float, float]:
    """Where the ring comes from and goes to at a point of one of its edges."""
    n = len(ring) - 1
    before, after = edge, edge + 1
    if ring[edge, 0] == x and ring[edge, 1] == y:
        before = edge - 1 if edge > 0 else n - 1
    elif ring[edge + 1, 0] == x and ring[edge + 1, 1] == y:
        after = edge + 2 if edge + 1 < n else 1
    return ring[before, 0], ring[before, 1], ring[after, 0], ring[after, 1]


@njit(nogil=True, cache=True)
def _left_of_path(ax: float, ay: float, px: float, py: float, bx: float, by: float, x: float, y: float) -> bool:
    """Whether a direction from p lies left of the path a -> p -> b; it is never the direction of a or b itself."""
    left_of_first = orientation(ax, ay, px, py, x, y) > 0
    left_of_second = orientation(px, py, bx, by, x, y) > 0
    if orientation(ax, ay, px, py, bx, by) > 0:
        return left_of_first and left_of_second
    return left_of_first or left_of_second


@njit(nogil=True, cache=True)
def _cross_at(one: FloatArray, i: int, other: FloatArray, j: int, px: float, py: float) -> bool:
    """Whether two rings that touch at p change sides there."""
    ax, ay, bx, by = _neighbours(one, i, px, py)
    cx, cy, dx, dy = _neighbours(other, j, px, py)
    return _left_of_path(ax, ay, px, py, bx, by, cx, cy) != _left_of_path(ax, ay, px, py, bx, by, dx, dy)


@njit(nogil=True, cache=True)
def _self_touch(ring: FloatArray) -> tuple[int, int]:
    """The first two edges of a ring that share more than a common end, or -1, -1."""
    n = len(ring) - 1
    for i in range(n):
        ax, ay, bx, by = ring[i, 0], ring[i, 1], ring[i + 1, 0], ring[i + 1, 1]
        for j in range(i + 1, n):
            how, _, _ = _segments(ax, ay, bx, by, ring[j, 0], ring[j, 1], ring[j + 1, 0], ring[j + 1, 1])
            consecutive = j == i + 1 or (i == 0 and j == n - 1)
            if how != _APART and not (consecutive and how == _TOUCH):
                return i, j
    return -1, -1


@njit(nogil=True, cache=True)
def _conflict(one: FloatArray, other: FloatArray) -> tuple[int, int, int]:
    """The first edges at which two rings cross or run along each other, and which of both; or _APART."""
    for i in range(len(one) - 1):
        ax, ay, bx, by = one[i, 0], one[i, 1], one[i + 1, 0], one[i + 1, 1]
        for j in range(len(other) - 1):
            how, _, _ = _segments(ax, ay, bx, by, other[j, 0], other[j, 1], other[j + 1, 0], other[j + 1, 1])
            if how >= _CROSS:
                return how, i, j
    for i in range(len(one) - 1):
        ax, ay, bx, by = one[i, 0], one[i, 1], one[i + 1, 0], one[i + 1, 1]
        for j in range(len(other) - 1):
            how, x, y = _segments(ax, ay, bx, by, other[j, 0], other[j, 1], other[j + 1, 0], other[j + 1, 1])
            if how == _TOUCH and _cross_at(one, i, other, j, x, y):
                return _CROSS, i, j
    return _APART, -1, -1


@njit(nogil=True, cache=True)
def _is_inside(hole: FloatArray, outer: FloatArray, stream: FloatArray) -> bool:
    """Whether a ring lies within another one that it does not cross; `stream` is the other one as a polygon."""
    n = len(outer) - 1
    for i in range(len(hole) - 1):
        x, y = hole[i, 0], hole[i, 1]
        touching = -1
        for j in range(n):
            ax, ay, bx, by = outer[j, 0], outer[j, 1], outer[j + 1, 0], outer[j + 1, 1]
            if _on_segment(ax, ay, bx, by, x, y) and orientation(ax, ay, bx, by, x, y) == 0:
                touching = j
                break
        if touching < 0:
            return polygon_has_point(stream, 0, len(stream), x, y)
    # Every vertex touches the outer ring: ask on which side of it the hole goes on from one of them.
    lowest = 0
    for j in range(1, n):
        if _before(outer[j, 0], outer[j, 1], outer[lowest, 0], outer[lowest, 1]):
            lowest = j
    before = lowest - 1 if lowest > 0 else n - 1
    interior_is_left = (
        orientation(
            outer[before, 0], outer[before, 1], outer[lowest, 0], outer[lowest, 1],
            outer[lowest + 1, 0], outer[lowest + 1, 1],
        )
        > 0
    )  # fmt: skip
    x, y = hole[0, 0], hole[0, 1]
    for j in range(n):
        ax, ay, bx, by = outer[j, 0], outer[j, 1], outer[j + 1, 0], outer[j + 1, 1]
        if _on_segment(ax, ay, bx, by, x, y) and orientation(ax, ay, bx, by, x, y) == 0:
            cx, cy, dx, dy = _neighbours(outer, j, x, y)
            return _left_of_path(cx, cy, x, y, dx, dy, hole[1, 0], hole[1, 1]) == interior_is_left
    return False


def _name(ring: int) -> str:
    return "the outer ring" if ring == 0 else f"hole {ring}"


def ring_problem(ring: Ring) -> str | None:
    """What is wrong with one ring before its shape is looked at."""
    if len(ring) < 4:
        return f"it has {len(ring)} positions, a closed ring has at least 4"
    if ring[0] != ring[-1]:
        return "it is not closed: its last position differs from its first"
    for i in range(len(ring) - 1):
        if ring[i] == ring[i + 1]:
            return f"positions {i} and {i + 1} are the same"
    return None


def polygon_problem(rings: Sequence[Ring]) -> str | None:
    """What is wrong with a polygon, as the rest of a sentence; None when nothing is."""
    if not rings:
        return "it has no rings"
    if sum(len(ring) - 1 for ring in rings) > MAX_POLYGON_VERTICES:
        return f"it has more than {MAX_POLYGON_VERTICES} vertices"
    for number, ring in enumerate(rings):
        problem = ring_problem(ring)
        if problem is not None:
            return f"{_name(number)}: {problem}"
    arrays = [np.array(ring, np.float64) for ring in rings]
    for number, array in enumerate(arrays):
        i, j = _self_touch(array)
        if i >= 0:
            return f"{_name(number)} crosses or touches itself: edge {i} meets edge {j}"
    for number, array in enumerate(arrays):
        for other in range(number):
            how, i, j = _conflict(arrays[other], array)
            if how != _APART:
                verb = "runs along" if how == _OVERLAP else "crosses"
                return f"{_name(number)} {verb} {_name(other)}: edge {j} of it meets edge {i}"
    outer = arrays[0]
    stream = np.concatenate((outer.min(axis=0), outer.max(axis=0), NO_BOX, NO_CORNERS, [len(outer)], outer.ravel()))
    for number in range(1, len(arrays)):
        if not _is_inside(arrays[number], outer, stream):
            return f"{_name(number)} lies outside the outer ring"
    return None
