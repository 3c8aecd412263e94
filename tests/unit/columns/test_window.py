"""The live window against a literal model: a list of messages, each asked at each event whether it is live."""

from random import Random

import numpy as np
import pytest
from tests.unit.columns.making import block_of

from tidings.columns import block as b
from tidings.columns.encode import weight_columns
from tidings.columns.messages import DUE, LIMIT, USED, Weighting, empty_window
from tidings.columns.pool import pool_end
from tidings.columns.window import LiveWindow
from tidings.model.events import Publish, Retract, Tick, Weights

PLAIN = Weights()


def weighting_of(weights):
    columns = weight_columns([weights])
    return Weighting(columns.word_hash.copy(), columns.weight.copy(), columns.default.copy())


def name_of(i):
    """Names of many lengths, since they are copied eight bytes at a time."""
    return f"m{i}" + "-" * (i % 23)


class SlowWindow:
    """What the event log says about live messages, word by word."""

    def __init__(self, messages, ms):
        self.messages, self.ms = messages, ms
        self.now = None
        self.published = []
        self.retracted = set()

    def live(self):
        return {m["id"]: m for m in self.published if self._is_live(m)}

    def _is_live(self, m):
        later = len(self.published) - 1 - m["number"]
        return not (
            m["number"] in self.retracted
            or (m["expires"] is not None and self.now >= m["expires"])
            or (self.messages is not None and later >= self.messages)
            or (self.ms is not None and self.now - m["ts"] >= self.ms)
        )

    def apply(self, position, event):
        """Those that came and those that went, by number."""
        before = {m["number"] for m in self.live().values()}
        if isinstance(event, Retract):
            if event.id in self.live():
                self.retracted.add(self.live()[event.id]["number"])
        elif event.ts is not None:
            self.now = event.ts if self.now is None else max(self.now, event.ts)
        if isinstance(event, Publish):
            self.now = 0 if self.now is None else self.now
            ts = self.now if event.ts is None else event.ts
            self.published.append(
                {"id": event.id, "ts": ts, "expires": event.expires, "number": len(self.published), "event": event}
                | {"position": position}
            )
        after = {m["number"] for m in self.live().values()}
        return after - before, before - after

    def random_event(self, random, n_ids):
        """An event that is valid now."""
        now = 0 if self.now is None else self.now
        choice = random.random()
        if choice < 0.1:
            return Retract(name_of(random.randrange(n_ids)))
        if choice < 0.2:
            return Tick(now + random.choice([-1, 0, 1, 3, 30]))
        ts = random.choice([None, now, now, now + 1, now + 2, now - 1, now - 5])
        live = self.live()
        free = [name for name in map(name_of, range(n_ids)) if name not in live]
        name = random.choice(free) if free else "x" * random.randint(1, 128)
        if name in live:
            return Tick(now)
        words = tuple(random.sample("abcdefghij", random.randint(0, 9)))
        expires = random.choice([None, None, now, now + 1, now + 7])
        return Publish(name, at=(float(random.randint(0, 9)), 1.0), words=words, ts=ts, expires=expires)


WINDOWS = [
    (None, None),
    (1, None),
    (2, None),
    (5, None),
    (64, None),
    (300, None),
    (None, 1),
    (None, 4),
    (5, 3),
    (70, 30),
]


@pytest.mark.parametrize(("messages", "ms"), WINDOWS)
@pytest.mark.parametrize("size", [1, 7, 120])
def test_against_the_slow_model(messages, ms, size, seed):
    random = Random(f"{seed} {messages} {ms} {size}")
    slow, window, weighting = SlowWindow(messages, ms), LiveWindow(empty_window(messages, ms)), weighting_of(PLAIN)
    events_done, deaths, slot_of = 0, 0, {}
    for _ in range(360 // size):
        events, comings, goings = [], [], []
        for position in range(events_done, events_done + size):
            event = slow.random_event(random, 40)
            came, went = slow.apply(position, event)
            events.append(event)
            comings.append(came)
            goings.append(went)
        timeline = window.replay(weighting, block_of(events, position=events_done))
        events_done += size
        for i in range(size):
            born = int(timeline.born[i])
            assert bool(born) == bool(comings[i]), (i, events[i])
            if born:
                slot_of[next(iter(comings[i]))] = born
            died = timeline.died[timeline.death_start[i] : timeline.death_start[i + 1]].tolist()
            assert sorted(died) == sorted(slot_of[number] for number in goings[i]), (i, events[i])
            deaths += len(died)
        for number in {number for went in goings for number in went}:
            assert_message(window.table, slot_of[number], slow.published[number])
        window.bury(timeline)
        live = slow.live()
        assert window.n_live == len(live)
        assert window.now == (b.NO_TIME if slow.now is None else slow.now)
        for name, m in live.items():
            assert window.find(name) == slot_of[m["number"]]
            assert_message(window.table, slot_of[m["number"]], m)
        assert all(window.find(name) == 0 for name in map(name_of, range(40)) if name not in live)
        entries = window.table.slot_of[window.table.slot_of != 0]
        assert sorted((entries & np.uint64(0xFFFFFFFF)).tolist()) == sorted(slot_of[m["number"]] for m in live.values())
    assert deaths >= (20 if (messages or ms) else 5)


def assert_message(table, slot, m):
    event = m["event"]
    assert table.position[slot] == m["position"]
    assert table.place[slot].tolist() == [*event.at, *event.at]
    start, n = int(table.word_start[slot]), int(table.n_words[slot])
    assert n == len(event.words)
    assert table.word_count[start : start + n].tolist() == [1] * n
    if n:
        assert table.unit[start : start + n].tolist() == [1.0 / float(np.sqrt(float(n)))] * n


def test_holds_looks_ahead_in_time():
    window = LiveWindow(empty_window(None, 10))
    publish = Publish("m", at=(0.0, 0.0), words=("a",), ts=100)
    window.bury(window.replay(weighting_of(PLAIN), block_of([publish])))
    assert window.holds("m", b.NO_TIME)
    assert window.holds("m", 109)
    assert not window.holds("m", 110)
    assert not window.holds("n", 0)


def test_a_full_window_takes_no_more_room(seed):
    random = Random(seed)
    window, weighting, ends = LiveWindow(empty_window(100, 1000)), weighting_of(PLAIN), []
    for round_ in range(12):
        events = [
            Publish(f"{round_} {i}", at=(0.0, 0.0), words=tuple(random.sample("abcdefgh", 4)), ts=round_)
            for i in range(500)
        ]
        window.bury(window.replay(weighting, block_of(events, position=500 * round_)))
        table = window.table
        ends.append([int(table.state[USED]), pool_end(table.word_head), len(table.ring), len(table.id_data)])
        assert table.state[DUE] <= 4 * 600 + 1024
    assert window.n_live == 100
    assert ends[-1] == ends[2]
    assert window.table.state[LIMIT] == 100


def test_weights_are_a_vector_of_length_one():
    window = LiveWindow(empty_window(10, None))
    weights = Weights({"a": 2.0, "b": 0.0}, 0.5)
    message = Publish("m", at=(0.0, 0.0), text="a b b c c c")
    empty = Publish("n", at=(0.0, 0.0), words=("b",))
    window.bury(window.replay(weighting_of(weights), block_of([message, empty])))
    table, slot = window.table, window.find("m")
    start = int(table.word_start[slot])
    assert table.word_count[start : start + 3].tolist() == [1, 2, 3]
    norm = float(np.sqrt(4.0 + 0.0 + 2.25))
    assert table.unit[start : start + 3].tolist() == [2.0 / norm, 0.0, 1.5 / norm]
    assert table.unit[int(table.word_start[window.find("n")])] == 0.0
    window.weigh_anew(weighting_of(PLAIN))
    norm = float(np.sqrt(1.0 + 4.0 + 9.0))
    assert table.unit[start : start + 3].tolist() == [1.0 / norm, 2.0 / norm, 3.0 / norm]
