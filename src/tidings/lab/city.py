"""A seeded evening in an invented city, as events: for the demo, for documentation, for trying things out.

Small news everywhere; a flood that goes down the river; fires; a dog that got lost and is seen here and there; a
courier who rides around the centre. Six hours of it, a bit more than a thousand events.
"""

import math
import random
from collections.abc import Iterator
from typing import Final

from tidings.lab.city_names import DOG, FIRE, FLOOD, FOUND_DOG, RIVER_M, SMALL_NEWS, City, along, near, on_globe
from tidings.model.events import AnalyserConfiguration, Configure, Event, Move, Publish, Retract, Window
from tidings.model.regions import Box, Circle, Point, Polygon
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Subscription, Within

START_MS: Final = 1_780_000_000_000
MINUTE_MS: Final = 60_000
EVENING_MINUTES: Final = 360.0
MINUTES_BETWEEN_NEWS: Final = 0.6
COURIER_EVERY_MINUTES: Final = 1.5
COURIER_ROUND_MINUTES: Final = 75.0
COURIER_REACH_M: Final = 1_900.0
STOP_WORDS: Final = (
    "a",
    "after",
    "and",
    "around",
    "at",
    "because",
    "for",
    "has",
    "in",
    "is",
    "it",
    "of",
    "on",
    "the",
    "to",
)
"""The lists for whole languages leave out "fire"."""
BANK_M: Final = 450.0
"""So far from the river counts as its bank."""

Told = list[tuple[int, Event]]


def city_configuration() -> Configure:
    """The globe, English words by their stems, and messages that are live for two hours."""
    return Configure(
        window=Window(messages=2_000, ms=120 * MINUTE_MS),
        analyser=AnalyserConfiguration(language="en", stemming=True, stop_words=STOP_WORDS),
        max_distance=10_000.0,
    )


def city_subscriptions() -> list[Subscription]:
    """A handful of people with a wish each, of all four kinds."""
    south_west, north_east = on_globe((-2_500.0, -2_500.0)), on_globe((2_500.0, 2_500.0))
    return [
        Within("riverside", _banks(), "flood AND (bridge OR road OR cellar)", labels=("flood on the river banks",)),
        Within(
            "night-owl",
            Circle(on_globe((0.0, 0.0)), 3_000.0),
            "(concert OR market) AND NOT cancelled",
            labels=("something on, within 3 km",),
        ),
        Within("lights", Box((*south_west, *north_east)), 'outage AND "power"', labels=("power cuts downtown",)),
        Around(
            "courier",
            on_globe(courier_at(0.0)),
            Disc(900.0),
            "accident OR roadworks OR flood OR fire",
            labels=("trouble within 900 m of the courier",),
        ),
        Best("desk", on_globe((600.0, 300.0)), 5, 0.4, text="fire smoke flood", labels=("the five top stories",)),
        Nearest("biscuit", on_globe((-400.0, 900.0)), 3, text="lost dog", labels=("sightings nearest to home",)),
    ]


def city_events(seed: int = 1) -> Iterator[Event]:
    """What happens, in order of time; the subscriptions are not among it."""
    rng = random.Random(seed)
    city = City(rng)
    told: Told = []
    for tell in (_small_news, _flood, _fires, _dog):
        tell(city, rng, told)
    told += _rides()
    told.sort(key=lambda entry: entry[0])
    return _numbered(told)


def courier_at(minute: float) -> Point:
    """Where the courier is, in metres: around the centre on a flower-shaped round."""
    turn = math.tau * minute / COURIER_ROUND_MINUTES
    reach = COURIER_REACH_M * (0.75 + 0.25 * math.cos(3.0 * turn))
    return reach * math.cos(turn), reach * math.sin(turn)


def _banks() -> Polygon:
    """The river with its banks as one polygon: down on one side and back on the other."""
    left = [on_globe((x - BANK_M, y + BANK_M)) for x, y in RIVER_M]
    right = [on_globe((x + BANK_M, y - BANK_M)) for x, y in reversed(RIVER_M)]
    return Polygon(((*left, *right, left[0]),))


def _told(city: City, minute: float, place: Point, text: str, lasts: float) -> tuple[int, Publish]:
    """A message without an id yet; `lasts` is in minutes."""
    ts = START_MS + int(minute * MINUTE_MS)
    return ts, Publish("", at=on_globe(place), text=city.write(text, place), ts=ts, expires=ts + int(lasts * MINUTE_MS))


def _small_news(city: City, rng: random.Random, told: Told) -> None:
    minute = 0.0
    while (minute := minute + rng.expovariate(1.0 / MINUTES_BETWEEN_NEWS)) < EVENING_MINUTES:
        place = city.street(rng)
        told.append(_told(city, minute, place, rng.choice(rng.choice(SMALL_NEWS)), rng.uniform(20.0, 90.0)))


def _flood(city: City, rng: random.Random, told: Told) -> None:
    """It enters above the city after an hour and leaves it three hours later; reports crowd where its front is."""
    for _ in range(150):
        share = rng.random()
        minute = 60.0 + 180.0 * share + rng.expovariate(1.0 / 15.0)
        place = near(rng, along(RIVER_M, share), 180.0)
        told.append(_told(city, minute, place, rng.choice(FLOOD), 60.0))


def _fires(city: City, rng: random.Random, told: Told) -> None:
    """Each goes through the same five reports, several people each; the last one says that it is over."""
    for begin in (20.0, 130.0, 250.0):
        fire = city.street(rng)
        for step, text in enumerate(FIRE):
            for _ in range(1 if step in (0, len(FIRE) - 1) else rng.randint(3, 7)):
                minute = begin + 9.0 * step + rng.uniform(0.0, 6.0)
                told.append(_told(city, minute, near(rng, fire, 120.0), text, 45.0))


def _dog(city: City, rng: random.Random, told: Told) -> None:
    """It wanders; half of the sightings are taken back as somebody else's dog."""
    place = (-300.0, 700.0)
    minute = 15.0
    for sighting in range(24):
        text = DOG[0] if sighting == 0 else rng.choice(DOG[1:])
        ts, publish = _told(city, minute, place, text, 240.0)
        told.append((ts, publish))
        if sighting and rng.random() < 0.5:
            told.append((ts + int(rng.uniform(5.0, 20.0) * MINUTE_MS), Retract(publish.text or "")))
        place = near(rng, place, 350.0)
        minute += rng.uniform(6.0, 16.0)
    told.append(_told(city, minute, place, FOUND_DOG, 240.0))


def _rides() -> Told:
    steps = int(EVENING_MINUTES / COURIER_EVERY_MINUTES)
    minutes = [COURIER_EVERY_MINUTES * step for step in range(1, steps)]
    return [(START_MS + int(minute * MINUTE_MS), Move("courier", on_globe(courier_at(minute)))) for minute in minutes]


def _numbered(told: Told) -> Iterator[Event]:
    """Give messages their ids, in order; what is taken back is named by its text until then."""
    for_text: dict[str, str] = {}
    number = 0
    for _, event in told:
        if isinstance(event, Publish):
            number += 1
            id = f"m{number}"
            for_text[event.text or ""] = id
            yield Publish(id, at=event.at, text=event.text, ts=event.ts, expires=event.expires)
        elif isinstance(event, Retract):
            yield Retract(for_text[event.id])
        else:
            yield event
