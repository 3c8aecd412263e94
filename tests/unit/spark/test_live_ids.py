"""Ids of live messages are told as a log's ledger tells them, however the messages are cut into blocks."""

from random import Random

import pytest

from tidings import Configure, Publish, Window
from tidings.columns.encode import BlockBuilder
from tidings.log.ledger import Ledger
from tidings.spark import live_ids
from tidings.spark.live_ids import LiveIds


def random_messages(random: Random, n: int) -> list[Publish]:
    messages, ts = [], -50
    for _ in range(n):
        ts += random.choice((0, 0, 1, 5))
        fields = {"ts": ts - random.choice((0, 0, 20))} if random.random() < 0.6 else {}
        if random.random() < 0.4:
            fields["expires"] = ts + random.randint(-3, 30)
        messages.append(Publish(f"m{random.randrange(40)}", at=(0.0, 0.0), words=("w",), **fields))
    return messages


def ledger_says(messages: list[Publish], configuration: Configure) -> list[int]:
    ledger, taken = Ledger(), []
    ledger.apply(configuration)
    for position, message in enumerate(messages):
        if ledger.check(position, message):
            taken.append(position)
        else:
            ledger.apply(message)
    return taken


@pytest.mark.parametrize("window", [Window(), Window(messages=7), Window(ms=25), Window(messages=10, ms=15)])
@pytest.mark.parametrize("block_events", [1, 9, 1000])
def test_ids_are_taken_as_in_a_log(window: Window, block_events: int, seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live_ids, "SWEEP_AT_LEAST", 10)
    random = Random(f"{seed} {window} {block_events}")
    messages, configuration = random_messages(random, 300), Configure(window=window)
    wanted = ledger_says(messages, configuration)
    assert 10 < len(wanted) < 290
    ids, builder, found = LiveIds(window), BlockBuilder(configuration), []
    for first in range(0, len(messages), block_events):
        for position, message in enumerate(messages[first : first + block_events], first):
            builder.add(position, message)
        found += [first + row for row in ids.taken(builder.build())]
    assert found == wanted


def test_messages_of_the_past_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live_ids, "SWEEP_AT_LEAST", 10)
    window = Window(messages=5)
    ids, builder = LiveIds(window), BlockBuilder(Configure(window=window))
    for number in range(200):
        builder.add(number, Publish(f"m{number}", at=(0.0, 0.0), words=()))
        assert ids.taken(builder.build()) == []
    assert len(ids._seen) < 40
