"""The regions of a workload, encoded as the table has them: boxes around places, and polygons of 50 vertices."""

from typing import Final

import numpy as np
import numpy.typing as npt

from tidings.model.regions import Bounds
from tidings.space.inner_boxes import fill_inner_boxes
from tidings.space.polygons import cut_corners
from tidings.space.shapes import BOX, COMPOUND, PART_POLYGON

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

LEAST_SIDE: Final = 0.002
MOST_SIDE: Final = 0.04
"""Sides are drawn evenly between these shares of the extent."""
VERTICES: Final = 50

_HEAD: Final = 16
"""Before the positions: size of the stream, type and size of the part, bounds, inner box, cut corners, their number."""
_POLYGON: Final = _HEAD + 2 * (VERTICES + 1)


def boxes_around(centre: Float64s, scale: float, extent: Bounds, rng: np.random.Generator) -> Float64s:
    """(n, 4) boxes of drawn sides around places, cut at the extent."""
    low, high = np.array(extent[:2]), np.array(extent[2:])
    half = rng.uniform(LEAST_SIDE, MOST_SIDE, centre.shape) * (0.5 * scale) * (high - low)
    return np.concatenate([np.maximum(centre - half, low), np.minimum(centre + half, high)], axis=1)


def encoded_regions(
    bounds: Float64s, is_polygon: npt.NDArray[np.bool_], rng: np.random.Generator
) -> tuple[npt.NDArray[np.uint8], Int64s, Float64s]:
    """The shapes, the offsets and the numbers of regions that are boxes or polygons in these boxes."""
    start = np.zeros(len(bounds) + 1, np.int64)
    np.cumsum(np.where(is_polygon, _POLYGON, 4), out=start[1:])
    if not is_polygon.any():
        return np.full(len(bounds), BOX, np.uint8), start, bounds.reshape(-1)
    numbers = np.empty(start[-1])
    box_rows, polygon_rows = np.flatnonzero(~is_polygon), np.flatnonzero(is_polygon)
    numbers[start[box_rows, None] + np.arange(4)] = bounds[box_rows]
    for first in range(0, len(polygon_rows), 65_536):
        rows = polygon_rows[first : first + 65_536]
        numbers[start[rows, None] + np.arange(_POLYGON)] = _polygons_in(bounds[rows], rng)
    return np.where(is_polygon, COMPOUND, BOX).astype(np.uint8), start, numbers


def _polygons_in(bounds: Float64s, rng: np.random.Generator) -> Float64s:
    """Polygons in boxes, one a row: vertices once around the centre, so that no edge crosses another."""
    n = len(bounds)
    angle = (np.arange(VERTICES) + rng.uniform(0.1, 0.9, (n, VERTICES))) * (2.0 * np.pi / VERTICES)
    reach = rng.uniform(0.7, 1.0, (n, VERTICES))
    middle, half = (bounds[:, :2] + bounds[:, 2:]) / 2.0, (bounds[:, 2:] - bounds[:, :2]) / 2.0
    x = middle[:, :1] + half[:, :1] * reach * np.cos(angle)
    y = middle[:, 1:] + half[:, 1:] * reach * np.sin(angle)
    rows = np.empty((n, _POLYGON))
    rows[:, 0], rows[:, 1], rows[:, 2] = _POLYGON, PART_POLYGON, _POLYGON - 3
    rows[:, 3], rows[:, 4], rows[:, 5], rows[:, 6] = x.min(axis=1), y.min(axis=1), x.max(axis=1), y.max(axis=1)
    rows[:, 11:15] = cut_corners(x, y)
    rows[:, 15] = VERTICES + 1
    rows[:, _HEAD:-2:2], rows[:, _HEAD + 1 : -2 : 2] = x, y
    rows[:, -2], rows[:, -1] = x[:, 0], y[:, 0]
    fill_inner_boxes(rows, 3)
    return rows
