"""Blocks and ids for the tests of the columns."""

from random import Random

from tidings.columns.block import Block
from tidings.columns.encode import BlockBuilder
from tidings.model.events import Configure, Event
from tidings.model.regions import AnyOf, Box, Circle, Everywhere, Polygon
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Rectangle, Subscription, Within

REGIONS = [
    Everywhere(),
    Box((1.0, 2.0, 3.0, 4.0)),
    Box((170.0, -10.0, -170.0, 10.0)),
    Circle((1.0, 2.0), 1000.0),
    Polygon((((0.0, 0.0), (4.0, 0.0), (0.0, 4.0), (0.0, 0.0)),)),
    AnyOf(tuple(Box((float(i), 0.0, i + 0.5, 1.0)) for i in range(20))),
]
EXPRESSIONS = [
    None, "a", "a AND b", "a AND NOT b", "(a OR b) AND (c OR d)", "a AND NOT a",
    " OR ".join(f"long{i} word{i}" for i in range(30)),
]  # fmt: skip


def block_of(events: list[Event], configuration: Configure | None = None, position: int = 0) -> Block:
    builder = BlockBuilder(configuration or Configure())
    for i, event in enumerate(events):
        builder.add(position + i, event)
    return builder.build()


def random_subscription(random: Random, name: str) -> Subscription:
    """Of any kind, with terms and geometry of all sizes."""
    kind = random.randrange(4)
    at = (float(random.randint(-9, 9)), float(random.randint(-9, 9)))
    words = (*random.sample("abcdefgh", random.randint(1, 5)), f"own word of {name}")
    if kind == 0:
        return Within(name, random.choice(REGIONS), when=random.choice(EXPRESSIONS))
    if kind == 1:
        shape = random.choice([Disc(5.0), Rectangle(1.0, 2.0)])
        return Around(name, at, shape, when=random.choice(EXPRESSIONS))
    if kind == 2:
        return Best(name, at, random.randint(1, 9), 0.5, words=words)
    return Nearest(name, at, random.randint(1, 9), text=" ".join(random.choices("abcdefgh", k=6)))
