"""The four kinds of subscription as plain data."""

from typing import TypeAlias

from msgspec import Struct

from tidings.model.regions import Point, Region

Labels: TypeAlias = tuple[str, ...]


class Within(Struct, frozen=True):
    """Words and a region: every message that satisfies both, at its publication."""

    id: str
    where: Region
    when: str | None = None
    """An expression; None takes any words."""
    labels: Labels = ()


class Disc(Struct, frozen=True):
    """The shape of an `Around`: a circle around where the subscription stands."""

    radius_m: float


class Rectangle(Struct, frozen=True):
    """The shape of an `Around`: a box centred where the subscription stands, in degrees or units of the plane."""

    width: float
    height: float


class Around(Struct, frozen=True):
    """The same as `Within`, but the region moves with the subscriber, and messages come and go."""

    id: str
    at: Point
    shape: Disc | Rectangle
    when: str | None = None
    labels: Labels = ()


class Best(Struct, frozen=True):
    """The k most relevant live messages: words, a point, and how much nearness counts (alpha)."""

    id: str
    at: Point
    k: int
    alpha: float
    words: tuple[str, ...] | None = None
    """Words as they are, or None when `text` is given."""
    text: str | None = None
    labels: Labels = ()


class Nearest(Struct, frozen=True):
    """The k closest live messages with any of the words, published since the subscription was registered."""

    id: str
    at: Point
    k: int
    words: tuple[str, ...] | None = None
    text: str | None = None
    labels: Labels = ()


Subscription: TypeAlias = Within | Around | Best | Nearest
