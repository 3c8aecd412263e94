"""Random logs, all valid, seeded: every event, kind, region and window rule of the event log, with many exact ties."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.oracle import vocabulary
from tests.oracle.places import Ground
from tests.oracle.state import Message, State, identity

Event = dict[str, Any]

STRANGE = ["ﬁ", "é", "e\u0301", 'say "hi"', "back\\slash", "tab\t", "line\n", "🌊", "東京", "\u2028", "\x01", "x" * 127]
OPERATIONS = {
    "publish": 60, "register": 7, "replace": 4, "move": 6, "remove": 5, "retract": 5, "tick": 5, "weights": 1.5,
}  # fmt: skip
WEIGHTS = [0, 0.0, 0.1, 0.5, 1, 2, 3.7, 1e-3]


@dataclass(frozen=True)
class Profile:
    """What a log dwells on."""

    kinds: dict[str, float] = field(default_factory=lambda: {"within": 1, "around": 1, "best": 1, "nearest": 1})
    operations: dict[str, float] = field(default_factory=dict)
    """Differences from `OPERATIONS`."""
    plane: float = 0.35
    """How often the space is a plane."""
    edges: float = 0.2
    repeat: float = 0.15
    """How often a message says the same at the same place as one before."""
    same_time: float = 0.4
    """How often time stands still between two messages."""
    small_window: float = 0.5
    when: float = 0.85
    """How often `within` and `around` ask for words."""


PROFILES = {
    "mixed": Profile(),
    "within": Profile(kinds={"within": 10, "around": 1}),
    "around": Profile(kinds={"around": 10, "within": 1}, operations={"move": 40}),
    "best": Profile(kinds={"best": 10, "nearest": 1}, operations={"weights": 3}),
    "nearest": Profile(kinds={"nearest": 10, "best": 1}),
    "globe-edges": Profile(
        kinds={"within": 3, "around": 3, "best": 1, "nearest": 1},
        operations={"move": 20},
        plane=0.0,
        edges=0.85,
        when=0.4,
    ),
    "burst": Profile(repeat=0.5, same_time=0.9, operations={"tick": 10}, small_window=0.8),
    "churn": Profile(operations={"register": 25, "remove": 25, "replace": 20, "retract": 15}),
}


def random_log(
    seed: int,
    events: int = 300,
    profile: str = "mixed",
    *,
    subscriptions: int = 12,
    window: dict[str, int] | None = None,
) -> list[Event]:
    """A valid log. About so many subscriptions are in force; the window, if given, is the log's."""
    writer = _Writer(Random(f"{profile} {seed}"), PROFILES[profile], events, subscriptions, window)
    while len(writer.log) < events:
        writer.write_one()
    return writer.log


def as_ndjson(log: list[Event]) -> bytes:
    """The log as a file; every other line keeps characters outside of ASCII as they are."""
    return b"".join(json.dumps(event, ensure_ascii=i % 2 == 0).encode() + b"\n" for i, event in enumerate(log))


class _Writer:
    """Writes event after event and follows them, so that each is valid where it stands."""

    def __init__(
        self, random: Random, profile: Profile, events: int, subscriptions: int, window: dict[str, int] | None
    ) -> None:
        self.random = random
        self.profile = profile
        self.subscriptions = subscriptions
        self.state = State()
        self.log: list[Event] = []
        self.said: list[Event] = []
        """Words and places of messages, to be said again."""
        if events > 1 and (window is not None or events > 400 or random.random() < 0.9):
            self._add(self._configuration(window))
        self.ground = Ground(random, self.state.space, profile.edges)
        for _ in range(min(subscriptions, events // 5)):
            self._register()

    def write_one(self) -> None:
        operations = OPERATIONS | self.profile.operations
        if len(self.state.subscriptions) >= self.subscriptions * 1.3:
            operations = operations | {"register": 0}
        if len(self.state.subscriptions) <= self.subscriptions * 0.7:
            operations = operations | {"remove": 0}
        operation = self.random.choices(list(operations), list(operations.values()))[0]
        {
            "publish": self._publish, "register": self._register, "replace": self._replace, "move": self._move,
            "remove": self._remove, "retract": self._retract, "tick": self._tick, "weights": self._weigh,
        }[operation]()  # fmt: skip

    def _add(self, event: Event) -> None:
        self.state.apply(len(self.log), event)
        self.log.append(event)

    def _maybe(self, chance: float, **fields: Any) -> Event:
        """Optional fields: there, or not, or null."""
        if self.random.random() < chance:
            return fields
        return dict.fromkeys(fields) if self.random.random() < 0.1 else {}

    def _configuration(self, window: dict[str, int] | None) -> Event:
        random = self.random
        event: Event = {"op": "configure"}
        if random.random() < self.profile.plane:
            event |= {"space": {"plane": random.choice([[0, 0, 16, 16], [-4.0, -2.0, 4.0, 6.0], [0, -1, 1, 0]])}}
            event |= self._maybe(0.2, max_distance=random.choice([4, 0.5]))
        else:
            event |= self._maybe(0.5, space="globe") | self._maybe(0.4, max_distance=random.choice([50000, 250000.0]))
        if window is None:
            small = random.random() < self.profile.small_window
            by_count = {"messages": random.choice([1, 2, 3, 5, 8] if small else [20, 40, 100])}
            by_time = {"ms": random.choice([1, 5, 20] if small else [60, 200])}
            with_null: Any = by_time | {"messages": None}
            window = random.choice([by_count, by_count, by_time, by_count | by_time, with_null])
        event |= {"window": window}
        event |= self._maybe(0.3, analyser=random.choice([
            {"stop_words": vocabulary.STOP_WORDS}, {"stop_words": []}, {"stop_words": False, "stemming": False},
            {"language": "en", "stop_words": ["the"]}, {"language": "en", "stop_words": False}, {},
        ]))  # fmt: skip
        return event | self._maybe(0.3, weights=self._weights())

    def _id(self, prefix: str, taken: Any, most: int) -> str:
        """An id that is free, from a pool so small that ids come back."""
        while True:
            number = self.random.randrange(most)
            id_ = STRANGE[number % len(STRANGE)] if number % 5 == 0 else f"{prefix}{number}"
            if number % 5 == 0 and number >= 5 * len(STRANGE):
                id_ = f"{number}{id_}"[:128]
            if identity(id_) not in taken:
                return id_
            most += 1

    def _raw_words(self) -> Event:
        if self.random.random() < 0.4:
            return {"words": vocabulary.words(self.random)}
        return {"text": vocabulary.text(self.random)}

    def _publish(self) -> None:
        random, now = self.random, self.state.now
        said = random.choice(self.said) if self.said and random.random() < self.profile.repeat else None
        said = said or (self.ground.at_or_box() | self._raw_words())
        self.said = [*self.said[-7:], said]
        event: Event = {"op": "publish"}
        dying = self._about_to_die()
        if dying and random.random() < 0.15:
            message, moment = random.choice(dying)
            event |= {"id": message.id, "ts": moment}
        else:
            event |= {"id": self._id("m", self.state.live, len(self.state.live) * 2 + 6)} | self._time()
        arrival = event.get("ts") or now or 0
        expires = arrival + random.choice([-5, 0, 1, 3, 10, 10, 40])
        event |= said | self._maybe(0.2, expires=expires)
        self._add(event | self._maybe(0.1, attributes={"n": random.randrange(9), "tags": ["ü", None, {"deep": 0.5}]}))

    def _time(self) -> Event:
        """A time stamp: none, the next, the same, an earlier one, or one far too old."""
        random, now = self.random, self.state.now
        if random.random() < 0.15:
            return self._maybe(0.0, ts=None)
        if now is None:
            return {"ts": random.choice([0, 1000, 1_700_000_000_000, -50])}
        if random.random() < 0.2:
            return {"ts": now - random.choice([1, 2, 5, 30, self.state.window_ms or 100])}
        return {"ts": now if random.random() < self.profile.same_time else now + random.choice([1, 1, 2, 3, 7])}

    def _about_to_die(self) -> list[tuple[Message, int]]:
        """Live messages with a moment to come at which they are dead: their ids can be taken by an event of then."""
        window_ms, found = self.state.window_ms, []
        for message in self.state.live.values():
            ends = [] if message.expires is None else [message.expires]
            ends += [] if window_ms is None else [message.ts + window_ms]
            if ends:
                found.append((message, min(ends)))
        return found

    def _subscription(self, op: str, id_: str) -> Event:
        random, ground = self.random, self.ground
        kind = random.choices(list(self.profile.kinds), list(self.profile.kinds.values()))[0]
        event: Event = {"op": op, "id": id_, "kind": kind}
        if kind in ("within", "around"):
            event |= self._maybe(self.profile.when, when=vocabulary.expression(random, self.state.stop_words))
            if kind == "within":
                event |= {"where": ground.region()}
            else:
                at = ground.point()
                event |= {"at": ground.numbers(at), "shape": ground.shape(at)}
        else:
            event |= vocabulary.worded(random, self.state.stop_words) | {"at": ground.numbers(ground.point())}
            event["k"] = random.choice([1, 1, 2, 3, 5, len(self.state.live) + 3, 1000])
            if kind == "best":
                event["alpha"] = random.choice([0, 1, 0.0, 1.0, 0.5, 0.3, 0.9])
        return event | self._maybe(0.15, labels=random.choice([[], ["a"], ["grün", "b"]]))

    def _register(self) -> None:
        taken = self.state.subscriptions
        self._add(self._subscription("register", self._id("s", taken, int(self.subscriptions * 1.5) + 4)))

    def _in_force(self, *kinds: str) -> str | None:
        ids = [s.id for s in self.state.subscriptions.values() if not kinds or s.kind in kinds]
        return self.random.choice(ids) if ids else None

    def _replace(self) -> None:
        id_ = self._in_force()
        if id_ is not None:
            self._add(self._subscription("replace", id_))

    def _move(self) -> None:
        id_ = self._in_force("around")
        if id_ is not None:
            self._add({"op": "move", "id": id_, "at": self.ground.numbers(self.ground.point())})

    def _remove(self) -> None:
        id_ = self._in_force()
        if id_ is not None:
            self._add({"op": "remove", "id": id_})

    def _retract(self) -> None:
        live = list(self.state.live)
        id_ = self.random.choice(live) if live and self.random.random() < 0.8 else f"m{self.random.randrange(40)}"
        self._add({"op": "retract", "id": id_})

    def _tick(self) -> None:
        now = self.state.now or 0
        self._add({"op": "tick", "ts": now + self.random.choice([-3, 0, 1, 2, 5, 20, 300])})

    def _weights(self) -> Event:
        random = self.random
        idf = {vocabulary.word(random): random.choice(WEIGHTS) for _ in range(random.randint(0, 6))}
        return {"idf": idf} | self._maybe(0.6, default=random.choice(WEIGHTS))

    def _weigh(self) -> None:
        self._add({"op": "weights"} | self._weights())
