"""What an event made in Python must be to be applied: the bounds that reading a log checks for the others.

Types are the caller's: events are annotated structs. Values are checked here, because a table that took a place off the
globe or an id of any length would answer wrongly much later.
"""

import math
import unicodedata
from collections.abc import Iterator, Sequence

from tidings.model.errors import Problem, shortened
from tidings.model.events import Event, Globe, Move, Publish, Register, Replace, Reweigh, Space, Tick
from tidings.model.limits import MAX_ID_CHARACTERS, MAX_K, MAX_TIME_MS, MAX_WEIGHT
from tidings.model.regions import AnyOf, Box, Circle, Polygon, Region
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Subscription, Within
from tidings.space.extent import extent_of
from tidings.space.validity import polygon_problem


def problems_of(event: Event, space: Space) -> list[Problem]:
    """What is wrong with the values of an event."""
    return list(_problems(event, space))


def _problems(event: Event, space: Space) -> Iterator[Problem]:
    if isinstance(event, Register | Replace):
        yield from _id(event.subscription.id)
        yield from _subscription(event.subscription, space)
    elif isinstance(event, Reweigh):
        for word, weight in (*event.weights.idf.items(), ("default", event.weights.default)):
            yield from _within_bounds(f"$.idf[{word!r}]", weight, 0.0, MAX_WEIGHT)
    elif isinstance(event, Tick):
        yield from _time("$.ts", event.ts)
    elif hasattr(event, "id"):
        yield from _id(event.id)
    if isinstance(event, Move):
        yield from _point("$.at", event.at, space)
    elif isinstance(event, Publish):
        yield from _message(event, space)


def _message(event: Publish, space: Space) -> Iterator[Problem]:
    if (event.at is None) == (event.box is None):
        yield Problem("field-conflict", "$", expected="either at or box")
    if (event.text is None) == (event.words is None):
        yield Problem("field-conflict", "$", expected="either text or words")
    if event.at is not None:
        yield from _point("$.at", event.at, space)
    if event.box is not None:
        yield from _bounds("$.box", event.box, space)
    yield from _words("$.words", event.words or ())
    yield from _time("$.ts", event.ts)
    yield from _time("$.expires", event.expires)


def _subscription(subscription: Subscription, space: Space) -> Iterator[Problem]:
    if isinstance(subscription, Within):
        yield from _region("$.where", subscription.where, space)
        return
    yield from _point("$.at", subscription.at, space)
    if isinstance(subscription, Around):
        shape = subscription.shape
        sizes = (shape.radius_m,) if isinstance(shape, Disc) else (shape.width, shape.height)
        for size in sizes:
            yield from _within_bounds("$.shape", size, 0.0, math.inf)
        return
    yield from _ranked(subscription)


def _ranked(subscription: Best | Nearest) -> Iterator[Problem]:
    if (subscription.text is None) == (subscription.words is None):
        yield Problem("field-conflict", "$", expected="either text or words")
    yield from _words("$.words", subscription.words or ())
    yield from _within_bounds("$.k", subscription.k, 1, MAX_K)
    if isinstance(subscription, Best):
        yield from _within_bounds("$.alpha", subscription.alpha, 0.0, 1.0)


def _region(path: str, region: Region, space: Space) -> Iterator[Problem]:
    if isinstance(region, Box):
        yield from _bounds(f"{path}.box", region.bounds, space)
    elif isinstance(region, Circle):
        yield from _point(f"{path}.circle", region.centre, space)
        yield from _within_bounds(f"{path}.circle[2]", region.radius, 0.0, math.inf)
    elif isinstance(region, Polygon):
        outside = [problem for ring in region.rings for point in ring for problem in _point(path, point, space)]
        yield from outside
        problem = None if outside else polygon_problem(region.rings)
        if problem:
            yield Problem("polygon-invalid", path, problem, "rings that are closed and do not cross")
    elif isinstance(region, AnyOf):
        if not region.regions:
            yield Problem("region-invalid", f"{path}.any", "no region", "at least one region")
        for i, part in enumerate(region.regions):
            yield from _region(f"{path}.any[{i}]", part, space)


def _bounds(path: str, bounds: Sequence[float], space: Space) -> Iterator[Problem]:
    yield from _point(path, bounds[:2], space)
    yield from _point(path, bounds[2:], space)
    if bounds[1] > bounds[3] or (bounds[0] > bounds[2] and not isinstance(space, Globe)):
        yield Problem("region-invalid", path, shortened(bounds), "the lower bounds first")


def _point(path: str, point: Sequence[float], space: Space) -> Iterator[Problem]:
    x0, y0, x1, y1 = extent_of(space)
    if not (x0 <= point[0] <= x1 and y0 <= point[1] <= y1):
        yield Problem("place-outside", path, shortened(point), f"x in {x0:g}..{x1:g}, y in {y0:g}..{y1:g}")


def _words(path: str, words: Sequence[str]) -> Iterator[Problem]:
    if "" in words:
        yield Problem("field-value", path, "an empty word", "words of at least one character")


def _time(path: str, time: int | None) -> Iterator[Problem]:
    if time is not None:
        yield from _within_bounds(path, time, -MAX_TIME_MS, MAX_TIME_MS)


def _within_bounds(path: str, value: float, low: float, high: float) -> Iterator[Problem]:
    if not low <= value <= high or math.isinf(value):
        yield Problem("field-value", path, shortened(value), f"a number from {low:g} to {high:g}")


def _id(name: str) -> Iterator[Problem]:
    if not 1 <= len(name) <= MAX_ID_CHARACTERS or not unicodedata.is_normalized("NFKC", name):
        yield Problem("id-invalid", "$.id", shortened(name), f"1 to {MAX_ID_CHARACTERS} characters in NFKC")
