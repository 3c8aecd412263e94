"""The numbers by which regions are told apart in the columns."""

from typing import Final

EVERYWHERE: Final = 0
"""The whole space; no numbers."""
BOX: Final = 1
"""One box: min_lon, min_lat, max_lon, max_lat."""
COMPOUND: Final = 2
"""Several parts, or one that is not a box; see `geometry`."""
DISC: Final = 3
"""Of an `around`: lon, lat, radius and an unused number."""
RECTANGLE: Final = 4
"""Of an `around`: lon, lat, width, height."""

PART_BOX: Final = 0
"""A part of a compound: min_lon, min_lat, max_lon, max_lat."""
PART_CIRCLE: Final = 1
"""A part of a compound: lon, lat, radius."""
PART_POLYGON: Final = 2
"""A part of a compound: bounds, inner box and cut corners, then each ring as the number of its positions and these."""

POLYGON_RINGS: Final = 12
"""Where the rings of a polygon begin in its numbers, behind the bounds, the inner box and the cut corners."""
