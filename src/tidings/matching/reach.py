"""How far a message is from the region of a subscription.

Whether they meet is the kernels' answer; the distance is there to be read, and to a polygon it is only about right.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tidings.columns import block as b
from tidings.columns.subscriptions import SubscriptionTable
from tidings.matching.shard import Shard
from tidings.model.events import Publish
from tidings.model.regions import Bounds, Point
from tidings.space.around import around_meets, rectangle_bounds
from tidings.space.extent import is_globe
from tidings.space.geometry import region_meets
from tidings.space.metrics import box_distance, distance
from tidings.space.shapes import BOX, DISC, EVERYWHERE, PART_BOX, PART_CIRCLE, POLYGON_RINGS


class Reach(Struct, frozen=True):
    """A region and a message's place."""

    meets: bool
    region: str
    """The region in words."""
    at: Point | None = None
    """Of `around`: where the subscription stands."""
    distance: float = 0.0
    """To the region; 0 when they meet."""
    about: bool = False
    """The distance is to a polygon, whose edges are straight in longitude and latitude."""
    metres: bool = True
    """The unit; else it is the plane's."""


def reach_of(shard: Shard, slot: int, event: Publish) -> Reach:
    """The reach of a `within` or `around` to a message."""
    globe, table = is_globe(shard.configuration.space), shard.subscriptions.table
    x0, y0, x1, y1 = place = event.box or (*(event.at or (0.0, 0.0)), *(event.at or (0.0, 0.0)))
    start, shape = int(table.geometry_start[slot]), int(table.shape[slot])
    if int(table.kind[slot]) == b.AROUND:
        lon, lat, one, two = (float(number) for number in table.geometry[start : start + 4])
        meets = bool(around_meets(globe, shape == DISC, lon, lat, one, two, x0, y0, x1, y1))
        if shape == DISC:
            gap = box_distance(globe, lon, lat, x0, y0, x1, y1) - one
            unit = "m" if globe else "units"
            return Reach(meets, f"{one:,g} {unit} around", (lon, lat), 0.0 if meets else gap, metres=globe)
        gap = _to_box(globe, place, rectangle_bounds(globe, lon, lat, one, two))
        unit = "degrees" if globe else "units"
        return Reach(meets, f"{one:g} by {two:g} {unit} around", (lon, lat), 0.0 if meets else gap, metres=globe)
    meets = bool(region_meets(globe, np.uint8(shape), table.geometry, np.int64(start), x0, y0, x1, y1))
    if shape == EVERYWHERE:
        return Reach(meets, "everywhere", metres=globe)
    parts = list(_parts(table, start, shape))
    gap = min(_to_part(globe, place, kind, data) for kind, data in parts)
    about = any(kind not in (PART_BOX, PART_CIRCLE) for kind, _ in parts)
    told = _told(*parts[0], globe) if len(parts) == 1 else f"a region of {len(parts)} parts"
    return Reach(meets, told, None, 0.0 if meets else gap, about, globe)


def _parts(table: SubscriptionTable, start: int, shape: int) -> Iterator[tuple[int, npt.NDArray[np.float64]]]:
    geometry = table.geometry
    if shape == BOX:
        yield PART_BOX, geometry[start : start + 4]
        return
    at, end = start + 1, start + int(geometry[start])
    while at < end:
        size = int(geometry[at + 1])
        yield int(geometry[at]), geometry[at + 2 : at + 2 + size]
        at += 2 + size


def _told(kind: int, data: npt.NDArray[np.float64], globe: bool) -> str:
    numbers = ", ".join(f"{number:g}" for number in data[:4])
    if kind == PART_BOX:
        return f"the box [{numbers}]"
    if kind == PART_CIRCLE:
        return f"the circle of {data[2]:,g} {'m' if globe else 'units'} around [{data[0]:g}, {data[1]:g}]"
    return f"a polygon in [{numbers}]"


def _to_part(globe: bool, place: Bounds, kind: int, data: npt.NDArray[np.float64]) -> float:
    x0, y0, x1, y1 = (float(number) for number in data[:4]) if kind != PART_CIRCLE else (*data[:2], *data[:2])
    if kind == PART_CIRCLE:
        return max(0.0, box_distance(globe, x0, y0, *place) - float(data[2]))
    if kind == PART_BOX:
        return _to_box(globe, place, (x0, y0, x1, y1))
    return _to_polygon(globe, _facing(place, (x0, y0, x1, y1)), data)


def _facing(place: Bounds, bounds: Bounds) -> Point:
    """The point of a message's box that is nearest to other bounds in coordinates; a point is itself."""
    x0, y0, x1, y1 = place
    x, y = (bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2
    return (min(max(x, x0), x1) if x0 <= x1 else x0, min(max(y, y0), y1))


def _to_box(globe: bool, place: Bounds, bounds: Bounds) -> float:
    return float(box_distance(globe, *_facing(place, bounds), *bounds))


def _to_polygon(globe: bool, point: Point, data: npt.NDArray[np.float64]) -> float:
    """To the nearest edge, found as if a degree of longitude were as long everywhere as it is at the point."""
    stretch = max(np.cos(np.radians(point[1])), 1e-6) if globe else 1.0
    nearest, at = np.inf, POLYGON_RINGS
    while at < len(data):
        n = int(data[at])
        ring = data[at + 1 : at + 1 + 2 * n].reshape(n, 2)
        at += 1 + 2 * n
        flat = (ring - point) * (stretch, 1.0)
        along = flat[1:] - flat[:-1]
        squares = np.maximum((along * along).sum(axis=1), 1e-300)
        share = np.clip(-(flat[:-1] * along).sum(axis=1) / squares, 0.0, 1.0)
        feet = ring[:-1] + share[:, None] * (ring[1:] - ring[:-1])
        for x, y in feet.tolist():
            nearest = min(nearest, float(distance(globe, *point, x, y)))
    return float(nearest)
