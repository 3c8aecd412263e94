"""Logs of the oracle through the engine, and its answers in the oracle's form."""

import json
from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

from tests.oracle.logs import random_log
from tests.oracle.semantics import deltas_of

from tidings.columns.block import Block
from tidings.columns.deltas import deltas_to_list
from tidings.columns.encode import BlockBuilder
from tidings.log.wire import decode_event
from tidings.matching.engine import Engine
from tidings.model.deltas import Delta
from tidings.model.events import Configure, Event, Globe

Log = list[dict[str, Any]]
Answer = list[dict[str, Any]]


def decoded(log: Log) -> tuple[Configure, list[tuple[int, Event]]]:
    """The configuration, and the events behind it with their positions."""
    configuration, events = Configure(), []
    for position, fields in enumerate(log):
        event = decode_event(json.dumps(fields).encode(), configuration.space)
        if isinstance(event, Configure):
            configuration = event
        else:
            events.append((position, event))
    assert isinstance(configuration.space, Globe) or log[0]["op"] == "configure"
    return configuration, events


def as_answer(deltas: Iterable[Delta]) -> Answer:
    found = []
    for delta in deltas:
        line: dict[str, Any] = {
            "position": delta.position,
            "subscription": delta.subscription,
            "message": delta.message,
            "op": delta.op,
        }
        if delta.score is not None:
            line["score"] = delta.score
        if delta.distance is not None:
            line["distance"] = delta.distance
        found.append(line)
    return found


def blocks_of(log: Log, cuts: Iterable[int]) -> tuple[Configure, list[Block]]:
    """The log as blocks that end before these positions and at the end."""
    configuration, events = decoded(log)
    builder, edges, blocks = BlockBuilder(configuration), set(cuts), []
    for position, event in events:
        if position in edges:
            blocks.append(builder.build())
        builder.add(position, event)
    return configuration, [*blocks, builder.build()]


def stepped(engine: Engine, blocks: Iterable[Block]) -> Answer:
    return as_answer(delta for block in blocks for deltas in engine.step(block) for delta in deltas_to_list(deltas))


def answer_of(log: Log, cuts: Iterable[int] = (), **methods: str) -> Answer:
    """The deltas of a log that is cut before these positions."""
    configuration, blocks = blocks_of(log, cuts)
    return stepped(Engine(configuration, **methods), blocks)


@cache
def workload(seed: int, profile: str, events: int) -> tuple[Log, Answer]:
    """A random log and what is right; a third of its messages are in some result set."""
    log = random_log(seed, events, profile)
    answer = deltas_of(log)
    assert_a_third_match(log, answer)
    return log, answer


def assert_a_third_match(log: Log, answer: Answer) -> None:
    """At least a third of the messages come to some subscription."""
    published = [event for event in log if event["op"] == "publish"]
    names = {delta["message"] for delta in answer if delta["op"] == "+"}
    came = sum(delta["op"] == "+" for delta in answer)
    assert len(published) >= 20
    assert 3 * came >= len(published), "a workload whose answers are empty proves nothing"
    assert 3 * len(names) >= len({event["id"] for event in published})


def random_cuts(random: Random, log: Log, n: int) -> list[int]:
    return [random.randrange(len(log) + 1) for _ in range(n)]


def first_difference(got: Answer, wanted: Answer) -> str:
    """Where two answers part, for the message of a failing assertion."""
    for i, (one, other) in enumerate(zip(got, wanted, strict=False)):
        if one != other:
            return f"delta {i}: got {one}, wanted {other}"
    return f"{len(got)} deltas, wanted {len(wanted)}: {(got + wanted)[min(len(got), len(wanted)) :][:1]}"


def assert_same(got: Answer, wanted: Answer) -> None:
    if got != wanted:
        raise AssertionError(first_difference(got, wanted))
