"""Everything that can happen to an engine, in any order, against the oracle, delta by delta.

The state machine draws events, valid and not, and between them saves the engine, loads it, and lets it restart from an
older snapshot and replay the log since then.
"""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.contract.replaying import Answer, as_answer, assert_same, decoded, stepped
from tests.oracle.semantics import Oracle
from tests.oracle.state import identity

from tidings.columns.encode import BlockBuilder
from tidings.index.base import INDEXES
from tidings.matching.engine import Engine
from tidings.model.errors import InputError

WORDS = st.sampled_from(["flood", "bridge", "road", "fire", "é", "東京"])
EXPRESSIONS = st.sampled_from([
    None, "flood", "flood OR fire", "flood AND bridge", "(flood OR road) AND NOT fire", "NOT NOT road",
    "flood AND NOT flood", '"é" OR bridge road',
])  # fmt: skip
SUBSCRIPTION_IDS = ["s1", "s2", "s3", "é", "S", "s10", "x" * 128]
MESSAGE_IDS = [*(f"m{i}" for i in range(9)), "🌊", "M"]
SPACES = {"plane": {"plane": [0, 0, 8, 8]}, "globe": "globe"}
AXES = {
    "plane": (st.sampled_from([0, 1, 2, 3.5, 4, 8]), st.sampled_from([0, 1, 2, 4, 8])),
    "globe": (st.sampled_from([-180, 180, -178.0, 179.5, 0, 2.5]), st.sampled_from([-90, 90, 0, 2.5, -0.0, 89])),
}
WINDOWS = st.sampled_from([{"messages": 2}, {"messages": 6}, {"ms": 4}, {"messages": 4, "ms": 6}, {"messages": 50}])
COUNTS = st.sampled_from([1, 1, 2, 3, 1000])
SEEN: Counter[str] = Counter()
"""What the examples of this run did, so that they cannot be empty unnoticed."""


class Life(RuleBasedStateMachine):
    """An engine, the oracle, and the log so far."""

    @initialize(
        data=st.data(), ground=st.sampled_from(sorted(SPACES)), window=WINDOWS, within=st.sampled_from(sorted(INDEXES))
    )
    def begin(self, data: st.DataObject, ground: str, window: dict[str, int], within: str) -> None:
        self.ground = ground
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name)
        self.log: list[dict[str, Any]] = []
        self.answers: list[Answer] = []
        self.oracle = Oracle()
        configure = {"op": "configure", "space": SPACES[ground], "window": window}
        self.oracle.apply(0, configure)
        self.log.append(configure)
        self.answers.append([])
        self.configuration, _ = decoded(self.log)
        self.engine = Engine(self.configuration, within=within)
        self.snapshot = 1
        self.engine.save(self.path / "snapshot")
        for name in SUBSCRIPTION_IDS[:4]:
            self.happen(self.subscription(data, "register", name))

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.directory.cleanup()

    def happen(self, event: dict[str, Any]) -> None:
        """One event to both; their deltas are equal."""
        position = len(self.log)
        wanted = self.oracle.apply(position, event)
        _, [(_, decoded_event)] = decoded([self.log[0], event])
        got = as_answer(self.engine.apply(decoded_event))
        for delta in got:
            delta["position"] += 1
        self.log.append(event)
        self.answers.append(wanted)
        SEEN[event["op"]] += 1
        SEEN["came"] += any(delta["op"] == "+" for delta in wanted)
        SEEN["went"] += any(delta["op"] == "-" for delta in wanted)
        assert_same(got, wanted)
        assert self.engine.shard.window.n_live == len(self.oracle.state.live)
        assert len(self.engine.shard.subscriptions) == len(self.oracle.state.subscriptions)

    def refused(self, event: dict[str, Any], code: str) -> None:
        """An event that cannot be changes nothing."""
        _, [(_, decoded_event)] = decoded([self.log[0], event])
        before = self.engine.position
        SEEN["refused"] += 1
        with pytest.raises(InputError) as caught:
            self.engine.apply(decoded_event)
        assert caught.value.code == code
        assert self.engine.position == before

    def point(self, data: st.DataObject) -> list[float]:
        return [data.draw(axis) for axis in AXES[self.ground]]

    def box(self, data: st.DataObject) -> list[float]:
        (a, c), (d, e) = self.point(data), self.point(data)
        if self.ground == "plane":
            a, d = min(a, d), max(a, d)
        return [a, min(c, e), d, max(c, e)]

    def region(self, data: st.DataObject) -> Any:
        kind = data.draw(st.sampled_from(["box", "box", "circle", "everywhere", "any"]))
        if kind == "everywhere":
            return kind
        if kind == "any":
            return {"any": [{"box": self.box(data)}, {"box": self.box(data)}]}
        if kind == "box":
            return {"box": self.box(data)}
        return {"circle": [*self.point(data), data.draw(st.sampled_from([1, 2.5, 300_000.0]))]}

    def subscription(self, data: st.DataObject, op: str, name: str) -> dict[str, Any]:
        kind = data.draw(st.sampled_from(["within", "around", "best", "nearest"]))
        event: dict[str, Any] = {"op": op, "id": name, "kind": kind}
        if kind in ("best", "nearest"):
            event |= {"words": data.draw(st.lists(WORDS, min_size=1, max_size=3)), "at": self.point(data)}
            event["k"] = data.draw(COUNTS)
            return event | ({"alpha": data.draw(st.sampled_from([0, 0.5, 0.3, 1]))} if kind == "best" else {})
        event["when"] = data.draw(EXPRESSIONS)
        if kind == "within":
            return event | {"where": self.region(data)}
        shape = data.draw(st.sampled_from([{"radius_m": 2}, {"radius_m": 3e5}, {"width": 4, "height": 2}]))
        return event | {"at": self.point(data), "shape": shape}

    def in_force(self, data: st.DataObject, *kinds: str) -> str | None:
        names = [s.id for s in self.oracle.state.subscriptions.values() if not kinds or s.kind in kinds]
        return data.draw(st.sampled_from(sorted(names))) if names else None

    @rule(data=st.data())
    def register(self, data: st.DataObject) -> None:
        free = [name for name in SUBSCRIPTION_IDS if identity(name) not in self.oracle.state.subscriptions]
        if free:
            self.happen(self.subscription(data, "register", data.draw(st.sampled_from(free))))

    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        name = self.in_force(data)
        if name is not None:
            self.happen(self.subscription(data, "replace", name))

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        name = self.in_force(data, "around")
        if name is not None:
            self.happen({"op": "move", "id": name, "at": self.point(data)})

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = self.in_force(data)
        if name is not None and len(self.oracle.state.subscriptions) > 2:
            self.happen({"op": "remove", "id": name})

    @rule(data=st.data(), name=st.sampled_from(SUBSCRIPTION_IDS))
    def what_cannot_be(self, data: st.DataObject, name: str) -> None:
        known = self.oracle.state.subscriptions.get(identity(name))
        if known is None:
            self.refused(self.subscription(data, "replace", name), "id-unknown")
            self.refused({"op": "remove", "id": name}, "id-unknown")
        else:
            self.refused(self.subscription(data, "register", name), "id-taken")
            if known.kind != "around":
                self.refused({"op": "move", "id": name, "at": self.point(data)}, "move-kind")
        for message in sorted(self.oracle.state.live)[:1]:
            self.refused({"op": "publish", "id": message, "at": self.point(data), "words": []}, "id-taken")

    @rule(data=st.data(), n=st.integers(1, 4))
    def publish(self, data: st.DataObject, n: int) -> None:
        for _ in range(n):
            free = [name for name in MESSAGE_IDS if name not in self.oracle.state.live]
            if not free:
                return
            event = {"op": "publish", "id": data.draw(st.sampled_from(free))}
            event |= {"box": self.box(data)} if data.draw(st.booleans()) else {"at": self.point(data)}
            words = data.draw(st.lists(WORDS, min_size=1, max_size=4))
            event |= {"words": words} if data.draw(st.booleans()) else {"text": " ".join(words)}
            now, later = self.oracle.state.now or 0, data.draw(st.sampled_from([None, 0, 0, 0, 1, 3]))
            expires = data.draw(st.sampled_from([None, None, 0, 2, 5]))
            event |= {} if later is None else {"ts": now + later}
            self.happen(event | ({} if expires is None else {"expires": now + expires}))

    @rule(data=st.data())
    def publish_old(self, data: st.DataObject) -> None:
        now, name = self.oracle.state.now, data.draw(st.sampled_from(MESSAGE_IDS))
        if now is not None and name not in self.oracle.state.live:
            ts = now - data.draw(st.sampled_from([1, 4, 6]))
            self.happen({"op": "publish", "id": name, "ts": ts, "at": self.point(data), "words": ["flood"]})

    @rule(name=st.sampled_from(MESSAGE_IDS))
    def retract(self, name: str) -> None:
        self.happen({"op": "retract", "id": name})

    @rule(later=st.sampled_from([-2, 0, 1, 2, 6]))
    def tick(self, later: int) -> None:
        self.happen({"op": "tick", "ts": (self.oracle.state.now or 0) + later})

    @rule(idf=st.dictionaries(WORDS, st.sampled_from([0, 0.5, 2, 3.7]), max_size=3), default=st.sampled_from([1, 0.1]))
    def weigh(self, idf: dict[str, float], default: float) -> None:
        self.happen({"op": "weights", "idf": idf, "default": default})

    @rule()
    def save(self) -> None:
        self.engine.save(self.path / "snapshot")
        self.snapshot = len(self.log)

    @rule()
    def reload(self) -> None:
        self.engine.save(self.path / "now")
        position = self.engine.position
        self.engine = Engine.load(self.path / "now")
        assert self.engine.position == position

    @precondition(lambda self: self.snapshot < len(self.log))
    @rule(as_block=st.booleans())
    def restart(self, as_block: bool) -> None:
        engine = Engine.load(self.path / "snapshot")
        assert engine.position == self.snapshot - 1
        SEEN["restart"] += 1
        events = [event for _, event in decoded(self.log)[1]][self.snapshot - 1 :]
        if as_block:
            builder = BlockBuilder(self.configuration)
            for position, event in enumerate(events, engine.position):
                builder.add(position, event)
            got = stepped(engine, [builder.build()])
        else:
            got = as_answer(engine.run(events))
        for delta in got:
            delta["position"] += 1
        assert_same(got, [delta for answer in self.answers[self.snapshot :] for delta in answer])
        assert engine.position == self.engine.position
        self.engine = engine


def test_whatever_happens_is_what_the_oracle_says():
    SEEN.clear()
    run_state_machine_as_test(Life, settings=settings(max_examples=150, stateful_step_count=50, deadline=None))
    assert 3 * SEEN["came"] >= SEEN["publish"] >= 300, SEEN
    for what in ("went", "register", "replace", "move", "remove", "retract", "tick", "weights", "refused", "restart"):
        assert SEEN[what] >= 20, SEEN
