"""Words drift: the rare become frequent. An index that files by rarity has to notice; by counters, not by clocks."""

from random import Random

import pytest
from tests.contract.worlds import World, assert_a_third_match, generator

from tidings.index.base import INDEXES, index_of
from tidings.model.events import Event, Plane, Publish, Register
from tidings.model.regions import Box
from tidings.model.subscriptions import Within

UNIT = Plane((0.0, 0.0, 1.0, 1.0))
COUNTING = [name for name in INDEXES if "entries_scanned" in index_of(name, UNIT).stats()]
COMMON = [f"common{i}" for i in range(4)]
RARE = [f"rare{i}" for i in range(300)]
N_SUBSCRIPTIONS = 4000


def subscriptions(random: Random) -> list[Event]:
    """A rare word and a common one each, in a place where most messages come from."""
    events: list[Event] = []
    for i in range(N_SUBSCRIPTIONS):
        x, y = random.uniform(0.3, 0.6), random.uniform(0.3, 0.6)
        words = [random.choice(COMMON), random.choice(RARE)]
        random.shuffle(words)
        events.append(Register(Within(f"s{i}", Box((x, y, x + 0.1, y + 0.1)), " AND ".join(words))))
    return events


def messages(random: Random, frequent: list[str], seldom: list[str], n: int) -> list[Event]:
    """Some frequent words and a seldom one each."""
    return [
        Publish(
            f"m{i}",
            at=(random.uniform(0.3, 0.7), random.uniform(0.3, 0.7)),
            words=(*random.sample(frequent, min(40, len(frequent) - 1)), random.choice(seldom)),
        )
        for i in range(n)
    ]


def work(world: World, batch: list[Event]) -> float:
    """Entries scanned for each message of a batch that must match as much as any other."""
    before = world.index.stats()["entries_scanned"]
    assert_a_third_match(world.run(batch))
    return (world.index.stats()["entries_scanned"] - before) / len(batch)


@pytest.mark.parametrize("method", COUNTING)
def test_rare_words_become_the_frequent_ones(method, seed):
    random = generator(seed, "drift")
    world, reference = World(method, UNIT), World("brute", UNIT)
    events = subscriptions(random)
    world.run(events)
    reference.run(events)
    before = work(world, messages(random, COMMON, RARE, 300))
    first = work(world, messages(random, RARE, COMMON[:1], 100))
    assert first > 2 * before, "the drift must hurt before it heals"
    for _ in range(80):
        world.run(messages(random, RARE, COMMON[:1], 250))

    # The fresh one knows the new habits before it has anything to file by them.
    fresh = World(method, UNIT)
    fresh.run([Register(Within(word, Box((0.9, 0.9, 1.0, 1.0)), word)) for word in (*COMMON, *RARE)])
    for _ in range(40):
        fresh.run(messages(random, RARE, COMMON[:1], 250))
    fresh.run(events)

    batch = messages(random, RARE, COMMON[:1], 300)
    healed = work(world, batch)
    assert healed <= 1.5 * work(fresh, batch)
    assert healed < first / 2
    assert world.run(batch[:60]) == reference.run(batch[:60])

    for _ in range(80):
        world.run(messages(random, COMMON, RARE, 250))
    assert work(world, messages(random, COMMON, RARE, 300)) <= 1.5 * before
    world.run([])
    stats = world.index.stats()
    assert stats["entries"] <= 2 * fresh.index.stats()["entries"]
