"""Regions as plain data. Order is always lon, lat (or x, y in a plane); every boundary belongs to its region."""

from typing import TypeAlias

from msgspec import Struct

Point: TypeAlias = tuple[float, float]
"""lon, lat in degrees, or x, y in units of the plane."""
Bounds: TypeAlias = tuple[float, float, float, float]
"""min_lon, min_lat, max_lon, max_lat; on the globe min_lon > max_lon crosses the antimeridian."""
Ring: TypeAlias = tuple[Point, ...]
"""A closed line, its first point repeated at the end as in GeoJSON."""


class Everywhere(Struct, frozen=True):
    """The whole globe or plane."""


class Box(Struct, frozen=True):
    """A box of coordinates."""

    bounds: Bounds


class Circle(Struct, frozen=True):
    """All places within a distance of a centre."""

    centre: Point
    radius: float
    """Metres on the globe, units in a plane."""


class Polygon(Struct, frozen=True):
    """An outer ring and its holes; edges are straight in lon/lat. The edges of a hole belong to the region."""

    rings: tuple[Ring, ...]


class AnyOf(Struct, frozen=True):
    """The union of regions (a GeoJSON MultiPolygon is one of polygons)."""

    regions: tuple["Region", ...]


Region: TypeAlias = Everywhere | Box | Circle | Polygon | AnyOf
