"""Hypothesis strategies for every event of a log, each valid in itself, as plain data."""

import json

from hypothesis import strategies as st
from msgspec import Raw

from tidings.log.fields import normal_id
from tidings.model.events import (
    AnalyserConfiguration,
    Configure,
    Globe,
    Move,
    Plane,
    Publish,
    Register,
    Remove,
    Replace,
    Retract,
    Reweigh,
    Tick,
    Weights,
    Window,
)
from tidings.model.limits import MAX_K, MAX_TIME_MS, MAX_WEIGHT, MAX_WINDOW_MESSAGES
from tidings.model.regions import AnyOf, Box, Circle, Everywhere, Polygon
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Rectangle, Within

PLANE = Plane((-10.0, 0.0, 1000.5, 500.0))

characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters, max_size=20) | st.sampled_from(
    ['"\\', "\x00\n\r\u2028", "東京 🌊", "null", "[1]", "{", " "]
)
words = st.lists(texts.filter(bool), max_size=4).map(tuple)
ids = texts.map(normal_id).filter(lambda text: 1 <= len(text) <= 128)
times = st.integers(-MAX_TIME_MS, MAX_TIME_MS)
sizes = st.floats(0, 1e308)
counts = st.integers(1, MAX_K)
labels = st.lists(texts.filter(bool), max_size=3).map(tuple)
weights = st.builds(Weights, st.dictionaries(texts, st.floats(0, MAX_WEIGHT), max_size=4), st.floats(0, MAX_WEIGHT))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
attributes = st.tuples(
    st.dictionaries(texts, json_values, max_size=3), st.booleans(), st.sampled_from([None, (",", ":")])
)
attributes = attributes.map(lambda a: Raw(json.dumps(a[0], ensure_ascii=a[1], separators=a[2]).encode()))


def extent(space):
    return (-180.0, -90.0, 180.0, 90.0) if isinstance(space, Globe) else space.bounds


def points(space):
    min_x, min_y, max_x, max_y = extent(space)
    return st.tuples(st.floats(min_x, max_x), st.floats(min_y, max_y))


def bounds(space):
    def upright(corners):
        (x0, y0), (x1, y1) = corners
        if not isinstance(space, Globe):
            x0, x1 = min(x0, x1), max(x0, x1)
        return x0, min(y0, y1), x1, max(y0, y1)

    return st.tuples(points(space), points(space)).map(upright)


def polygons(space):
    """Triangles and squares with a hole, on a lattice of the space."""
    min_x, min_y, max_x, max_y = extent(space)
    dx, dy = (max_x - min_x) / 16, (max_y - min_y) / 16

    def made(corner):
        column, row, holed = corner

        def ring(*steps):
            return tuple((min_x + dx * (column + u), min_y + dy * (row + v)) for u, v in steps)

        if holed:
            square, hole = ((0, 0), (6, 0), (6, 6), (0, 6), (0, 0)), ((2, 2), (3, 2), (3, 3), (2, 2))
            return Polygon((ring(*square), ring(*hole)))
        return Polygon((ring((0, 0), (5, 1), (2, 6), (0, 0)),))

    return st.tuples(st.integers(0, 10), st.integers(0, 10), st.booleans()).map(made)


def regions(space):
    circles = st.builds(Circle, points(space), sizes)
    simple = st.just(Everywhere()) | st.builds(Box, bounds(space)) | circles | polygons(space)
    several = st.lists(polygons(space), min_size=1, max_size=3).map(lambda some: AnyOf(tuple(some)))
    return st.recursive(
        simple | several,
        lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda some: AnyOf(tuple(some))),
        max_leaves=5,
    )


def either(one, other):
    return st.tuples(one, st.none()) | st.tuples(st.none(), other)


def subscriptions(space):
    shapes = st.builds(Disc, sizes) | st.builds(Rectangle, sizes, sizes)
    at = points(space)
    said = either(words, texts)
    return st.one_of(
        st.builds(Within, ids, regions(space), st.none() | texts, labels),
        st.builds(Around, ids, at, shapes, st.none() | texts, labels),
        st.builds(lambda i, a, k, x, w, n: Best(i, a, k, x, *w, n), ids, at, counts, st.floats(0, 1), said, labels),
        st.builds(lambda i, a, k, w, n: Nearest(i, a, k, *w, n), ids, at, counts, said, labels),
    )


def messages(space):
    return st.builds(
        lambda id_, place, said, ts, expires, more: Publish(id_, *place, *said, ts, expires, more),
        ids,
        either(points(space), bounds(space)),
        either(texts, words),
        st.none() | times,
        st.none() | times,
        st.none() | attributes,
    )


def events(space):
    """Any event but `configure`."""
    return st.one_of(
        messages(space),
        messages(space),
        st.builds(Retract, ids),
        st.builds(Register, subscriptions(space)),
        st.builds(Replace, subscriptions(space)),
        st.builds(Move, ids, points(space)),
        st.builds(Remove, ids),
        st.builds(Tick, times),
        st.builds(Reweigh, weights),
    )


def configurations():
    spaces = st.just(Globe()) | st.just(PLANE)
    windows = st.builds(
        Window, st.none() | st.integers(1, MAX_WINDOW_MESSAGES), st.none() | st.integers(1, MAX_TIME_MS)
    )
    analysers = st.builds(AnalyserConfiguration, st.just("en"), st.booleans(), st.booleans() | words) | st.builds(
        AnalyserConfiguration, st.none(), st.just(False), st.booleans() | words
    )
    distances = st.none() | st.floats(1e-300, 1e308)
    return st.builds(Configure, spaces, windows, distances, analysers, weights)


def logs(max_size=8):
    """A log: a configuration, and events in its space."""
    return configurations().flatmap(
        lambda first: st.lists(events(first.space), max_size=max_size).map(lambda others: [first, *others])
    )
