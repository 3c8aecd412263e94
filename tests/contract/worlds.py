"""Subscriptions and an index beside each other, and random ones to fill them with."""

import math
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from tidings.columns import block as b
from tidings.columns.encode import BlockBuilder
from tidings.columns.standing import Subscriptions
from tidings.columns.subscriptions import SubscriptionTable
from tidings.index.base import Messages, index_of
from tidings.model.events import Configure, Event, Globe, Plane, Publish, Register, Remove, Replace
from tidings.model.regions import AnyOf, Bounds, Box, Circle, Everywhere, Point, Polygon, Region
from tidings.model.subscriptions import Within
from tidings.space.extent import extent_of
from tidings.words.vocabulary import Vocabulary, VocabularyArrays

GROUNDS = {
    "globe": Globe(),
    "plane": Plane((0.0, 0.0, 1.0, 1.0)),
    "odd plane": Plane((-3.7, 0.1, 9.3, 0.4)),
}


class World:
    """What a shard does with `within` subscriptions, and nothing else of it."""

    def __init__(self, method: str, space: Globe | Plane) -> None:
        self.space = space
        self.subscriptions = Subscriptions()
        self.index = index_of(method, space)
        self.builder = BlockBuilder(Configure(space=space))
        self.position = 0

    def copied(self) -> "World":
        """A world of copies of all arrays, as a snapshot would bring it back."""
        other = World.__new__(World)
        other.space, other.position = self.space, self.position
        other.builder = BlockBuilder(Configure(space=self.space))
        vocabulary = VocabularyArrays(*(array.copy() for array in self.subscriptions.vocabulary.arrays()))
        other.subscriptions = Subscriptions(
            SubscriptionTable(*(array.copy() for array in self.subscriptions.table)),
            Vocabulary.from_arrays(vocabulary),
        )
        arrays = {name: array.copy() for name, array in self.index.arrays().items()}
        other.index = type(self.index).from_arrays(self.space, arrays)
        return other

    def run(self, events: list[Event]) -> list[list[str]]:
        """One block: for each of its messages, the ids of what it matches, sorted."""
        for event in events:
            self.builder.add(self.position, event)
            self.position += 1
        block = self.builder.build()
        changes = self.subscriptions.apply(block)
        began, ended = changes.began[changes.began > 0], changes.ended[changes.ended > 0]
        if len(began):
            self.index.insert(self.subscriptions, began)
        messages = Messages(
            block.position[block.op == b.PUBLISH],
            block.messages.place,
            block.messages.word_start,
            self.subscriptions.vocabulary.find(block.messages.word_hash),
        )
        pairs = self.index.match(self.subscriptions, messages, bool(len(began) or len(ended)))
        assert pairs.start[0] == 0
        assert pairs.start[-1] == len(pairs.slot)
        found = [sorted(self.subscriptions.id(slot) for slot in pairs.slot[i:j]) for i, j in pairwise(pairs.start)]
        if len(ended):
            self.index.delete(self.subscriptions, ended)
        self.subscriptions.settle(changes, block)
        for ids in found:
            assert len(set(ids)) == len(ids), "a message found a subscription twice"
        return found

    def assert_empty(self) -> None:
        """Nothing of all the subscriptions is left in the index."""
        stats = self.index.stats()
        left = {name: stats[name] for name in ("entries", "subscriptions", "words") if name in stats}
        assert left, "the statistics of an index count its entries or its subscriptions"
        assert not any(left.values()), left


class Scene:
    """Draws subscriptions and messages of one space.

    Coordinates are dyadic fractions of the extent (which quadtrees cut at), their neighbours among the floats, places
    on the edges of the extent, and some that are anywhere.
    """

    def __init__(self, random: Random, space: Globe | Plane, n_words: int = 12, small: float = 0.75) -> None:
        self.random = random
        self.space = space
        self.globe = isinstance(space, Globe)
        self.extent: Bounds = extent_of(space)
        self.n_words = n_words
        self.small = small
        """How often a box is no more than a few cells of a quadtree wide."""
        self.places: list[Point] = []
        """Corners that were drawn lately, to be hit again."""

    def _coordinate(self, axis: int) -> float:
        random, low, high = self.random, self.extent[axis], self.extent[axis + 2]
        kind = random.random()
        if kind < 0.15:
            return random.choice((low, high))
        if kind < 0.3:
            return random.uniform(low, high)
        level = random.choice((1, 2, 3, 4, 8, 16, 30))
        value = low + (high - low) * (random.randint(0, 1 << level) / (1 << level))
        if kind < 0.5:
            value = math.nextafter(value, random.choice((-math.inf, math.inf)))
        return min(max(value, low), high)

    def point(self) -> Point:
        if self.places and self.random.random() < 0.5:
            x, y = self.random.choice(self.places)
            if self.random.random() < 0.3:
                x = math.nextafter(x, self.random.choice((-math.inf, math.inf)))
            if self.random.random() < 0.3:
                y = math.nextafter(y, self.random.choice((-math.inf, math.inf)))
            x, y = min(max(x, self.extent[0]), self.extent[2]), min(max(y, self.extent[1]), self.extent[3])
        else:
            x, y = self._coordinate(0), self._coordinate(1)
        self.places = [*self.places[-40:], (x, y)]
        return x, y

    def bounds(self) -> Bounds:
        (a, c), (d, e) = self.point(), self.point()
        if self.random.random() < self.small:
            size = 2.0 ** -self.random.choice((2, 3, 4, 4, 5, 6, 9, 17, 20, 32)) * self.random.choice((1.0, 1.0, 1.5))
            d = min(a + size * (self.extent[2] - self.extent[0]), self.extent[2])
            e = min(c + size * (self.extent[3] - self.extent[1]), self.extent[3])
        if self.random.random() < 0.03:
            a, d = self.extent[0], self.extent[2]
        low, high = min(a, d), max(a, d)
        self.places += [(low, min(c, e)), (high, max(c, e))]
        if self.globe and self.random.random() < 0.1:
            low, high = high, low
        return low, min(c, e), high, max(c, e)

    def polygon(self) -> Polygon:
        """A convex ring with a hole now and then, all in a box."""
        x0, y0, x1, y1 = self.bounds()
        x0, x1 = min(x0, x1), max(x0, x1)
        if not (x0 < x1 and y0 < y1):
            x0, y0, x1, y1 = self.extent
        mx, my = x0 + (x1 - x0) / 2, y0 + (y1 - y0) / 2
        corners = {
            "diamond": [(mx, y0), (x1, my), (mx, y1), (x0, my)],
            "triangle": [(x0, y0), (x1, y0), (x0, y1)],
            "box": [(x0, y0), (x1, y0), (x1, y1), (x0, y1)],
        }[self.random.choice(("diamond", "triangle", "box"))]
        rings = [(*corners, corners[0])]
        self.places += corners
        if self.random.random() < 0.3:
            inner = [((x + mx) / 2, (y + my) / 2) for x, y in corners]
            if len(corners) == 4:
                rings.append((*inner, inner[0]))
                self.places += inner
        return Polygon(tuple(tuple(ring) for ring in rings))

    def region(self, depth: int = 2) -> Region:
        kind = self.random.random()
        if kind < 0.5:
            return Box(self.bounds())
        if kind < 0.55:
            return Everywhere()
        if kind < 0.75:
            size = max(self.extent[2] - self.extent[0], self.extent[3] - self.extent[1])
            radius = size * 2.0 ** -self.random.randint(2, 14)
            return Circle(self.point(), radius * 111_000.0 if self.globe else radius)
        if kind < 0.9 or not depth:
            return self.polygon()
        return AnyOf(tuple(self.region(depth - 1) for _ in range(self.random.choice((1, 2, 3, 12)))))

    def word(self) -> str:
        """Few words are frequent."""
        return f"w{min(int(self.random.paretovariate(0.8)) - 1, self.n_words - 1)}"

    def expression(self) -> str | None:
        random, kind = self.random, self.random.random()
        if kind < 0.1:
            return None
        if kind < 0.3:
            return self.word()
        if kind < 0.6:
            return " AND ".join(self.word() for _ in range(random.randint(2, 6)))
        if kind < 0.75:
            return " OR ".join(self.word() for _ in range(random.randint(2, 4)))
        if kind < 0.9:
            return f"{self.word()} AND NOT ({self.word()} OR {self.word()})"
        return (
            f"({self.word()} OR {self.word()} {self.word()}) AND ({self.word()} OR {self.word()} AND NOT {self.word()})"
        )

    def within(self, id_: str) -> Within:
        return Within(id_, self.region(), when=self.expression())

    def message(self, id_: str) -> Publish:
        words = tuple({self.word() for _ in range(self.random.randint(1, 9))} | {"unheard"})
        if self.random.random() < 0.03:
            words = ()
        if self.random.random() < 0.35:
            return Publish(id_, box=self.bounds(), words=words)
        return Publish(id_, at=self.point(), words=words)

    def messages(self, n: int) -> list[Event]:
        return [self.message(f"m{i}") for i in range(n)]


class Churn:
    """Registers, replaces and removes at random, so that each event is valid where it stands."""

    def __init__(self, scene: Scene, n_ids: int) -> None:
        self.scene = scene
        self.free = [f"s{i}" for i in range(n_ids)]
        self.taken: list[str] = []

    def event(self, growth: float = 0.6) -> Event:
        random = self.scene.random
        if self.free and (not self.taken or random.random() < growth):
            name = self.free.pop(random.randrange(len(self.free)))
            self.taken.append(name)
            return Register(self.scene.within(name))
        if random.random() < 0.3:
            return Replace(self.scene.within(random.choice(self.taken)))
        name = self.taken.pop(random.randrange(len(self.taken)))
        self.free.append(name)
        return Remove(name)

    def events(self, n: int, growth: float = 0.6) -> list[Event]:
        return [self.event(growth) for _ in range(n)]

    def removals(self) -> list[Event]:
        names, self.taken = self.taken, []
        self.scene.random.shuffle(names)
        self.free += names
        return [Remove(name) for name in names]


def assert_a_third_match(found: list[list[str]]) -> None:
    assert len(found) >= 10
    assert 3 * sum(map(bool, found)) >= len(found), "a workload whose answers are empty proves nothing"


def generator(seed: int, *parts: Any) -> Random:
    return Random(" ".join(map(str, (seed, *parts))))


def words_by_id(world: World) -> dict[int, str]:
    vocabulary = world.subscriptions.vocabulary
    used = np.flatnonzero(vocabulary.arrays().references)
    return {int(i): vocabulary.word(int(i)) for i in used}
