"""How far a space reaches. Free of Numba, so that reading and checking events stays light."""

from typing import Final

from tidings.model.events import Globe, Space
from tidings.model.regions import Bounds

GLOBE_EXTENT: Final[Bounds] = (-180.0, -90.0, 180.0, 90.0)
"""All longitudes and latitudes."""


def is_globe(space: Space) -> bool:
    """Whether places are longitudes and latitudes; the first argument of most kernels."""
    return isinstance(space, Globe)


def extent_of(space: Space) -> Bounds:
    """The box that holds every place of the space."""
    return GLOBE_EXTENT if isinstance(space, Globe) else space.bounds
