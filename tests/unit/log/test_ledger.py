import random
import timeit

import pytest
from tests.oracle.logs import PROFILES, as_ndjson, random_log

from tidings.log import ledger as ledger_module
from tidings.log.ledger import Ledger
from tidings.log.wire import decode_event
from tidings.model.events import (
    Configure,
    Globe,
    Move,
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
from tidings.model.limits import DEFAULT_WINDOW_MESSAGES
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Within

AT = (0.0, 0.0)
KINDS = [
    lambda id_: Within(id_, Everywhere()),
    lambda id_: Around(id_, AT, Disc(1.0)),
    lambda id_: Best(id_, AT, 1, 0.5, ("a",)),
    lambda id_: Nearest(id_, AT, 1, ("a",)),
]


class Literal:
    """The definition, word for word: it looks through all messages every time."""

    def __init__(self, messages, ms):
        self.n, self.ms, self.now = messages, ms, None
        self.messages, self.kinds = [], {}

    def is_live(self, number, now):
        _, ts, expires, retracted = self.messages[number]
        if retracted or now >= expires:
            return False
        later = len(self.messages) - 1 - number
        return not (self.n is not None and later >= self.n) and not (self.ms is not None and now - ts >= self.ms)

    def advanced(self, event):
        ts = getattr(event, "ts", None)
        if ts is not None:
            return ts if self.now is None else max(self.now, ts)
        return (0 if self.now is None else self.now) if isinstance(event, Publish) else self.now

    def live(self, now):
        return {message[0] for i, message in enumerate(self.messages) if self.is_live(i, now)}

    def code(self, position, event):
        match event:
            case Publish():
                return "id-taken" if event.id in self.live(self.advanced(event)) else None
            case Register(subscription):
                return "id-taken" if subscription.id in self.kinds else None
            case Replace(subscription):
                return None if subscription.id in self.kinds else "id-unknown"
            case Remove() | Move() if event.id not in self.kinds:
                return "id-unknown"
            case Move():
                return None if self.kinds[event.id] is Around else "move-kind"
            case Configure():
                return "configure-late" if position else None

    def apply(self, event):
        self.now = self.advanced(event)
        match event:
            case Publish():
                ts = self.now if event.ts is None else event.ts
                never = float("inf")
                expires = never if event.expires is None else event.expires
                self.messages.append((event.id, ts, expires, False))
            case Retract():
                self.messages = [(i, t, e, r or i == event.id) for i, t, e, r in self.messages]
            case Register(subscription) | Replace(subscription):
                self.kinds[subscription.id] = type(subscription)
            case Remove():
                del self.kinds[event.id]


def random_event(rng, clock):
    choice = rng.random()
    message, subscription = f"m{rng.randrange(12)}", f"s{rng.randrange(6)}"
    if choice < 0.55:
        ts = None if rng.random() < 0.3 else clock + rng.randint(-15, 5)
        expires = None if rng.random() < 0.6 else clock + rng.randint(-3, 20)
        return Publish(message, AT, text="", ts=ts, expires=expires)
    if choice < 0.65:
        return Retract(message)
    if choice < 0.72:
        return Tick(clock + rng.randint(-5, 8))
    if choice < 0.73:
        return rng.choice([Configure(), Reweigh(Weights())])
    if choice < 0.85:
        return rng.choice([Register, Replace])(rng.choice(KINDS)(subscription))
    return Remove(subscription) if choice < 0.9 else Move(subscription, AT)


@pytest.mark.parametrize("messages", [None, 1, 2, 7])
@pytest.mark.parametrize("ms", [None, 1, 10])
@pytest.mark.parametrize("sweep", [1, 8, 4096])
def test_it_agrees_with_the_definition(messages, ms, sweep, seed, monkeypatch):
    if messages is None and ms is None:
        messages = DEFAULT_WINDOW_MESSAGES
    monkeypatch.setattr(ledger_module, "SWEEP_AT_LEAST", sweep)
    rng = random.Random(f"ledger {seed} {messages} {ms} {sweep}")
    literal, ledger = Literal(messages, ms), Ledger()
    ledger.apply(Configure(window=Window(messages, ms)))
    seen = set()
    for position in range(1, 300):
        event = random_event(rng, position // 3)
        code = literal.code(position, event)
        before = (ledger.now, ledger.published, len(ledger))
        assert [problem.code for problem in ledger.check(position, event)] == ([code] if code else [])
        assert (ledger.now, ledger.published, len(ledger)) == before
        seen.add(code)
        if code is None:
            literal.apply(event)
            ledger.apply(event)
        live = literal.live(literal.now) if literal.messages else set()
        assert {f"m{i}" for i in range(12) if ledger.is_live(f"m{i}")} == live
        assert {f"s{i}": ledger.kind_of(f"s{i}") for i in range(6) if ledger.kind_of(f"s{i}")} == literal.kinds
        assert ledger.now == literal.now
    assert {None, "id-taken", "id-unknown", "move-kind"} <= seen


@pytest.mark.parametrize("profile", PROFILES)
def test_a_valid_log_has_no_problems(profile, seed):
    ledger, space = Ledger(), Globe()
    lines = as_ndjson(random_log(seed, 300, profile)).splitlines()
    for position, line in enumerate(lines):
        event = decode_event(line, space)
        space = event.space if isinstance(event, Configure) else space
        assert ledger.check(position, event) == []
        ledger.apply(event)
    assert ledger.published > 100 or profile == "churn"


def test_before_any_time_it_is_earlier_than_everything():
    ledger = Ledger()
    assert ledger.now is None
    ledger.apply(Publish("a", AT, text="", expires=1))
    assert ledger.now == 0
    assert ledger.is_live("a")
    ledger.apply(Tick(1))
    assert not ledger.is_live("a")
    early = Ledger()
    early.apply(Publish("a", AT, text="", ts=-5, expires=-4))
    assert early.now == -5
    assert early.is_live("a")


def test_time_advances_before_the_id_is_asked_for_and_the_count_after():
    ledger = Ledger()
    ledger.apply(Configure(window=Window(messages=1, ms=10)))
    ledger.apply(Publish("a", AT, text="", ts=0))
    assert ledger.check(1, Publish("a", AT, text="", ts=9))
    assert not ledger.check(1, Publish("a", AT, text="", ts=10))


def test_a_configuration_comes_first_or_not_at_all():
    ledger = Ledger()
    assert ledger.check(0, Configure()) == []
    assert [problem.code for problem in ledger.check(1, Configure())] == ["configure-late"]


def test_memory_follows_what_lives():
    ledger = Ledger()
    ledger.apply(Configure(window=Window(messages=1000)))
    for i in range(50_000):
        ledger.apply(Publish(f"m{i}", AT, text="", ts=i, expires=10**12))
    assert ledger.is_live("m49000")
    assert not ledger.is_live("m48999")
    assert len(ledger._lives) <= ledger_module.SWEEP_AT_LEAST


def test_a_message_takes_microseconds():
    events = [Publish(f"m{i}", AT, text="", ts=i, expires=i + 5000) for i in range(20_000)]

    def run():
        ledger = Ledger()
        ledger.apply(Configure(window=Window(messages=5000, ms=5000)))
        for i, event in enumerate(events):
            ledger.check(i, event)
            ledger.apply(event)

    assert min(timeit.repeat(run, number=1, repeat=3)) / len(events) < 10e-6  # 1.2 measured
