"""The plan by hash: a subscription has one home, shards are even, and what need not be copied is not."""

import numpy as np
import pytest
from tests.unit.columns.comparing import assert_same_block, leaves
from tests.unit.columns.making import block_of, random_subscription

from tidings.columns import block as b
from tidings.columns.block_bytes import joined
from tidings.model.events import Move, Publish, Register, Remove, Replace, Retract, Reweigh, Tick, Weights
from tidings.spread.hash import HashPlan, shards_of
from tidings.words.arenas import Arena
from tidings.words.hash_kernels import hash_strings

OTHERS = [
    Publish("m1", at=(0.0, 0.0), text="a b"),
    Retract("m1"),
    Tick(5),
    Reweigh(Weights({"a": 2.0}, 1.0)),
    Publish("m2", box=(0.0, 0.0, 1.0, 1.0), words=("a",)),
]


def subscribing(random, n):
    """Events of n subscriptions, with others in between."""
    events = []
    for i in range(n):
        events += [Register(random_subscription(random, f"s{i}")), OTHERS[i % len(OTHERS)]]
    for i in range(0, n, 3):
        events += [Replace(random_subscription(random, f"s{i}")), Move(f"s{i + 1}", (1.0, float(i % 90)))]
    return [*events, *(Remove(f"s{i}") for i in range(0, n, 2))]


def names_in(block):
    """The ids of all subscriptions that a block speaks of, event by event."""
    registered, named = block.subscriptions.id.strings(), block.names.strings()
    for op, row in zip(block.op.tolist(), block.row.tolist(), strict=True):
        if op in (b.REGISTER, b.REPLACE):
            yield registered[row]
        elif op in (b.MOVE, b.REMOVE):
            yield named[row]


@pytest.mark.parametrize("n_shards", [2, 3, 16])
def test_each_subscription_has_one_home(n_shards, random):
    block = block_of(subscribing(random, 60))
    parts = HashPlan(n_shards).split(block)
    homes = {}
    for number, part in enumerate(parts):
        for name in names_in(part):
            assert homes.setdefault(name, number) == number
    assert len(homes) == 60
    assert sorted(name for part in parts for name in names_in(part)) == sorted(names_in(block))
    assert len(set(homes.values())) > n_shards * 3 // 4


def test_a_part_is_what_a_builder_makes_of_its_events(random):
    """Nothing of other shards' subscriptions is left: no rows, no words."""
    events = subscribing(random, 60)
    parts = HashPlan(4).split(block_of(events))
    for number, part in enumerate(parts):
        own = []
        for event in events:
            name = event.subscription.id if isinstance(event, Register | Replace) else getattr(event, "id", None)
            elsewhere = isinstance(event, Register | Replace | Move | Remove) and (
                int(shards_of(Arena.of([name]), 4)[0]) != number
            )
            own.append(Tick(-(10**9)) if elsewhere else event)
        wanted = block_of(own)
        kept = np.flatnonzero((wanted.op != b.TICK) | (wanted.time != -(10**9)))
        wanted = wanted._replace(
            position=wanted.position[kept], op=wanted.op[kept], time=wanted.time[kept], row=wanted.row[kept]
        )
        assert_same_block(part, joined([wanted]))
        assert part.messages.expires is not None


def test_messages_are_never_copied(random):
    block = block_of(subscribing(random, 20))
    for part in HashPlan(5).split(block):
        for (path, one), (_, whole) in zip(leaves(part.messages), leaves(block.messages), strict=True):
            assert not one.size or np.shares_memory(one, whole), path


def test_without_subscriptions_nothing_is(random):
    block = block_of(OTHERS)
    assert all(part is block for part in HashPlan(8).split(block))


def test_shards_are_even_and_tables_stay_so():
    """A table places a name by the low bits of its hash; the names of one shard use all of them."""
    names = Arena.of(f"subscription {i}" for i in range(64_000))
    shard = shards_of(names, 16)
    low = (hash_strings(names.offset, names.data) & np.uint64(15)).astype(int)
    counts = np.zeros((16, 16), int)
    np.add.at(counts, (shard, low), 1)
    assert counts.min() > 250 - 100
    assert counts.max() < 250 + 100
    assert abs(counts.sum(axis=1) - 4000).max() < 350


def test_the_shard_of_a_name_is_for_ever():
    """Snapshots of shards lie on disks."""
    names = Arena.of(["s1", "s2", "", "東京", "x" * 127])
    assert shards_of(names, 16).tolist() == [4, 5, 15, 15, 7]
    assert shards_of(names, 1).tolist() == [0] * 5
