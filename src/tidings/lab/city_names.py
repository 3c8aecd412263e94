"""An invented city: its streets, its river, and what people write about it."""

import math
import random
from itertools import pairwise
from typing import Final

from tidings.model.regions import Point

CENTRE: Final[Point] = (11.5, 48.1)
LON_PER_M: Final = 1.0 / (111_195.0 * math.cos(math.radians(CENTRE[1])))
LAT_PER_M: Final = 1.0 / 111_195.0
REACH_M: Final = 5_000.0
"""Nothing happens farther from the centre."""

RIVER_M: Final[tuple[Point, ...]] = (
    (-5_000.0, -3_600.0), (-3_400.0, -2_900.0), (-2_100.0, -1_500.0), (-1_300.0, -200.0), (-100.0, 500.0),
    (900.0, 700.0), (1_900.0, 1_700.0), (2_600.0, 3_100.0), (4_100.0, 4_300.0),
)  # fmt: skip
"""The Lirne, downstream, in metres east and north of the centre."""

_FIRST: Final = (
    "Amber", "Birch", "Cinder", "Dove", "Elder", "Fallow", "Gable", "Heron", "Iron", "Juniper", "Kestrel", "Linden",
    "Marrow", "Nettle", "Orchard", "Pepper", "Quarry", "Rowan", "Saffron", "Tanner", "Velvet", "Willow",
)  # fmt: skip
_LAST: Final = ("Street", "Lane", "Road", "Row", "Avenue", "Square", "Walk", "Bridge")
DISTRICTS: Final = (
    "Oldgate", "Millreach", "Saltmarket", "Northfold", "Brackenhill", "Lanternside", "Quayfield", "Upper Wend",
)  # fmt: skip

SMALL_NEWS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "Accident on {street}, two cars, traffic backs up to {district}",
        "Cyclist hurt in an accident at {street}, ambulance on its way",
        "Lorry lost its load on {street}, one lane of the road closed after the accident",
    ),
    (
        "Roadworks on {street}: one lane until tonight",
        "New roadworks in {district}, buses turn at {street}",
        "Roadworks finished early on {street}, road open again",
    ),
    (
        "Power outage around {street}, about forty houses dark",
        "Power back on in {district} after the outage",
        "Water outage in {street}, repair under way",
    ),
    (
        "Jazz concert tonight at {street}, free entry",
        "Choir concert in {district} moved indoors to {street}",
        "Concert at {street} cancelled because of the weather",
    ),
    (
        "Night market on {street}: dumplings, cider and live music",
        "Flea market in {district} until eight",
        "The farmers market at {street} has the first cherries",
    ),
    (
        "Tram stuck at {street}, walk to {district} instead",
        "Bicycle stolen near {street}, green frame, white saddle",
        "Free piano to take away at {street}, ground floor",
    ),
)
"""Each group is one sort of incident."""

FLOOD: Final = (
    "The Lirne is over its banks at {street}",
    "Flood on {street}, the road is under water",
    "Cellars flooded in {district}, pumps needed at {street}",
    "Bridge at {street} closed because of the flood",
    "Flood reaches {district}, keep away from the river road",
    "Volunteers with sandbags wanted at {street} against the flood",
)
FIRE: Final = (
    "Smoke over {street}, smells of burning",
    "Fire in a warehouse on {street}, engines arriving",
    "Fire at {street} spreads to the roof, keep windows shut in {district}",
    "Road closed at {street} because of the fire",
    "Fire at {street} under control",
)
DOG: Final = (
    "Lost dog: Biscuit, small and brown, ran off at {street}",
    "A small brown dog without a lead near {street}, lost?",
    "Saw the lost dog Biscuit run towards {district}",
    "Brown dog drinking from the fountain at {street}",
)
FOUND_DOG: Final = "Lost dog Biscuit found at {street}, happy and wet"


class City:
    """Streets with places, drawn by a generator."""

    def __init__(self, rng: random.Random) -> None:
        names = [f"{first} {last}" for first in _FIRST for last in rng.sample(_LAST, 3)]
        self._streets: Final = [(name, _anywhere(rng)) for name in names]

    def street_at(self, place: Point) -> str:
        """The street nearest to a place given in metres."""
        return min(self._streets, key=lambda street: math.dist(street[1], place))[0]

    def write(self, text: str, place: Point) -> str:
        """A text about a place given in metres."""
        return text.format(street=self.street_at(place), district=district_at(place))

    def street(self, rng: random.Random) -> Point:
        """A place in some street, in metres."""
        return near(rng, rng.choice(self._streets)[1], 60.0)


def district_at(place: Point) -> str:
    """The district in this direction from the centre."""
    turn = math.atan2(place[1], place[0]) / math.tau
    return DISTRICTS[int(turn * len(DISTRICTS)) % len(DISTRICTS)]


def along(line: tuple[Point, ...], share: float) -> Point:
    """The place on a line at a share of its length."""
    lengths = [math.dist(a, b) for a, b in pairwise(line)]
    left = share * sum(lengths)
    for (ax, ay), (bx, by), length in zip(line, line[1:], lengths, strict=False):
        if left <= length:
            part = left / length
            return ax + part * (bx - ax), ay + part * (by - ay)
        left -= length
    return line[-1]


def near(rng: random.Random, place: Point, spread_m: float) -> Point:
    """A place around another one, both in metres."""
    return rng.gauss(place[0], spread_m), rng.gauss(place[1], spread_m)


def on_globe(place: Point) -> Point:
    """Metres east and north of the centre as lon, lat, to about a tenth of a metre."""
    return round(CENTRE[0] + place[0] * LON_PER_M, 6), round(CENTRE[1] + place[1] * LAT_PER_M, 6)


def _anywhere(rng: random.Random) -> Point:
    """A place that is the likelier the nearer it lies to the centre."""
    angle, distance = rng.uniform(0.0, math.tau), REACH_M * rng.random() ** 0.8
    return distance * math.cos(angle), distance * math.sin(angle)
