"""Screening: events that nobody admitted give what the log without the bad ones among them gives."""

import io
import json
from collections import Counter
from random import Random
from zlib import crc32

import numpy as np
import pytest
from tests.contract.replaying import Log, decoded
from tests.oracle.logs import PROFILES, random_log

from tidings.columns.block import Block
from tidings.columns.deltas import deltas_to_list
from tidings.columns.encode import BlockBuilder
from tidings.log.files import Entry
from tidings.log.intake import Intake
from tidings.matching.screening import step_screened, without
from tidings.matching.shard import Shard
from tidings.model.deltas import Delta
from tidings.model.errors import Problem
from tidings.model.events import Configure, Event, Move, Publish, Register, Remove, Replace
from tidings.model.regions import Box
from tidings.model.subscriptions import Within

METHODS = {"within": "pyramid", "around": "brute", "best": "brute", "nearest": "brute"}
Answer = tuple[list[Delta], list[tuple[int, Problem]]]


def with_bad_events(random: Random, log: Log) -> Log:
    """The log with events put in anywhere that it has elsewhere: ids are taken, gone or of another kind by then."""
    first = int(log[0]["op"] == "configure")
    mixed = list(log)
    for _ in range(len(log) // 3):
        at = random.randrange(first, len(mixed) + 1)
        near = mixed[max(first, at - random.choice([3, 30])) : at + 5] or mixed[first:]
        event = dict(random.choice(near if random.random() < 0.7 else mixed[first:]))
        if event["op"] == "publish" and random.random() < 0.6:
            event = {name: value for name, value in event.items() if name not in ("ts", "expires")}
            moments = [other["ts"] for other in near if other.get("ts") is not None]
            event |= {"ts": random.choice(moments) + random.choice([0, 1, 5, 50])} if moments else {}
        if event["op"] in ("register", "replace"):
            event["op"] = random.choice(["register", "replace"])
        if "kind" in event and event.get("at") and random.random() < 0.5:
            event = {"op": "move", "id": event["id"], "at": event["at"]}
        mixed.insert(at, event)
    return mixed


def admitted(log: Log) -> Answer:
    """What the intake takes and rejects, and the deltas of what it took."""
    configuration, events = decoded(log)
    entries = [Entry(position, event, None) for position, event in events]
    if log[0]["op"] == "configure":
        entries.insert(0, Entry(0, configuration, None))
    rejects = io.BytesIO()
    intake = Intake(entries, BlockBuilder, rejects=rejects, block_events=50)
    shard = Shard(configuration, **METHODS)
    deltas = [delta for block in intake for part in shard.step(block) for delta in deltas_to_list(part)]
    rows = [json.loads(row) for row in rejects.getvalue().splitlines()]
    assert len(rows) == intake.n_rejected
    return deltas, [(row["position"], Problem(**problem)) for row in rows for problem in row["problems"]]


def blocks(configuration: Configure, events: list[tuple[int, Event]], edges: set[int]) -> list[Block]:
    builder, found = BlockBuilder(configuration), []
    for position, event in events:
        if position in edges:
            found.append(builder.build())
        builder.add(position, event)
    return [*found, builder.build()]


def screened(configuration: Configure, events: list[tuple[int, Event]], edges: set[int]) -> Answer:
    shard = Shard(configuration, **METHODS)
    deltas, problems = [], []
    for block in blocks(configuration, events, edges):
        parts, bad = step_screened(shard, block)
        deltas += [delta for part in parts for delta in deltas_to_list(part)]
        problems += bad
    return deltas, problems


def home(event: Event, n_shards: int) -> int | None:
    """The shard of a subscription's event; None for an event of all."""
    if isinstance(event, Register | Replace):
        return crc32(event.subscription.id.encode()) % n_shards
    return crc32(event.id.encode()) % n_shards if isinstance(event, Move | Remove) else None


@pytest.mark.parametrize("profile", PROFILES)
def test_what_cannot_be_is_left_out_as_the_intake_leaves_it_out(profile, seed):
    codes = Counter()
    for number in range(2):
        random = Random(f"{seed} {profile} {number}")
        log = with_bad_events(random, random_log(seed + number, 500, profile))
        deltas, problems = admitted(log)
        assert len(deltas) > 20
        codes.update((problem.code, problem.found.partition(",")[2]) for _, problem in problems)
        configuration, events = decoded(log)
        for edges in (set(), set(range(len(log))), {random.randrange(len(log)) for _ in range(random.choice([3, 30]))}):
            got, bad = screened(configuration, events, edges)
            assert bad == problems
            assert got == deltas
    assert codes["id-taken", " a message that is live"] > 10
    assert codes["id-taken", " a subscription in force"] > 3
    assert codes["id-unknown", ""] > 3
    assert sum(count for (code, _), count in codes.items() if code == "move-kind") > (
        profile not in ("within", "around")
    )


@pytest.mark.parametrize("n_shards", [2, 5])
def test_shards_reject_the_same_messages_and_their_own_subscriptions(n_shards, seed):
    random = Random(f"{seed} {n_shards}")
    log = with_bad_events(random, random_log(seed, 500, "churn"))
    configuration, events = decoded(log)
    wanted, problems = admitted(log)
    of_messages = [bad for bad in problems if log[bad[0]]["op"] == "publish"]
    deltas, seen = [], []
    for shard in range(n_shards):
        mine = [(position, event) for position, event in events if home(event, n_shards) in (None, shard)]
        got, bad = screened(configuration, mine, set(range(0, len(log), random.choice([7, 100]))))
        assert [one for one in bad if log[one[0]]["op"] == "publish"] == of_messages
        deltas += got
        seen += [one for one in bad if one not in of_messages or not shard]
    assert sorted(seen, key=lambda one: one[0]) == problems
    assert len(of_messages) > 10
    assert len(problems) > len(of_messages) + 10
    assert sorted(deltas, key=lambda d: (d.position, d.subscription, d.op == "+", d.message)) == wanted


def test_the_time_of_an_event_that_is_left_out_does_not_count():
    configuration = Configure()
    events: list[tuple[int, Event]] = [
        (0, Publish("a", at=(1.0, 1.0), words=("x",), ts=10, expires=20)),
        (1, Publish("b", at=(1.0, 1.0), words=("x",), ts=10, expires=12)),
        (2, Publish("b", at=(1.0, 1.0), words=("x",), ts=11, expires=99)),  # live until 12
        (3, Publish("a", at=(1.0, 1.0), words=("x",), ts=19)),  # live until 20, so this 19 does not come
        (4, Publish("b", at=(1.0, 1.0), words=("x",))),  # still 10
        (5, Publish("b", at=(1.0, 1.0), words=("x",), ts=12)),  # its own time ends the life of the other
        (6, Publish("c", at=(1.0, 1.0), words=("x",), ts=20)),
        (7, Publish("a", at=(1.0, 1.0), words=("x",))),
    ]
    for edges in (set(), set(range(8))):
        assert [position for position, _ in screened(configuration, events, edges)[1]] == [2, 3, 4]


def test_nothing_is_copied_when_nothing_is_wrong():
    builder = BlockBuilder(Configure())
    builder.add(0, Register(Within("s", Box((0.0, 0.0, 2.0, 2.0)), when="x")))
    builder.add(1, Publish("a", at=(1.0, 1.0), words=("x",)))
    block = builder.build()

    class Watched(Shard):
        def step(self, stepped):
            assert stepped is block
            return super().step(stepped)

    deltas, problems = step_screened(Watched(Configure(), **METHODS), block)
    assert [delta.message for part in deltas for delta in deltas_to_list(part)] == ["a"]
    assert problems == []


def test_a_block_without_its_events_is_empty():
    builder = BlockBuilder(Configure())
    builder.add(0, Publish("a", at=(1.0, 1.0), text="x y"))
    left = without(builder.build(), np.array([0]))
    assert not len(left.op)
    assert not len(left.messages.word_hash)
    assert left.messages.id.strings() == []
