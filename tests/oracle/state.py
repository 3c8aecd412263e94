"""What a log has built up: the time, the live messages, the subscriptions in force, the weights.

Events that are not valid raise ValueError, so that a generator of valid logs is checked by whoever reads them.
"""

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.oracle import geometry
from tests.oracle.analysis import analysed
from tests.oracle.expressions import Tree, parse


@dataclass(eq=False)
class Message:
    position: int
    id: str
    place: geometry.Place
    counts: dict[str, int]
    ts: int
    expires: int | None
    number: int
    """The how-manieth published message it is, from 1."""
    retracted: bool = False


@dataclass(eq=False)
class Subscription:
    position: int
    """Where it was registered or last replaced."""
    id: str
    kind: str
    region: Any = None
    shape: Any = None
    when: Tree | None = None
    at: geometry.Place = ()
    counts: dict[str, int] = field(default_factory=dict)
    k: int = 0
    alpha: float = 0.0


def identity(text: str) -> str:
    normal = unicodedata.normalize("NFKC", text)
    if not 1 <= len(normal) <= 128:
        raise ValueError(f"not an id: {text!r}")
    return normal


class State:
    """Applies one event at a time; says nothing about result sets."""

    def __init__(self) -> None:
        self.space: geometry.Space = None
        self.window_messages: int | None = 1_000_000
        self.window_ms: int | None = None
        self.max_distance = geometry.EARTH_RADIUS_M * math.pi
        self.stop_words: frozenset[str] = frozenset()
        self.idf: dict[str, float] = {}
        self.default_weight = 1.0
        self.now: int | None = None
        self.published = 0
        self.live: dict[str, Message] = {}
        """By id, the older first."""
        self.subscriptions: dict[str, Subscription] = {}
        self.arrived: Message | None = None
        """The message that the last event published, live or not."""

    def apply(self, position: int, event: dict[str, Any]) -> None:
        self.arrived = None
        event = {name: value for name, value in event.items() if value is not None}
        op = event["op"]
        if op == "configure":
            self._configure(position, event)
        elif op == "publish":
            self._publish(position, event)
        elif op == "retract":
            message = self.live.get(identity(event["id"]))
            if message is not None:
                message.retracted = True
        elif op == "tick":
            self._advance(event["ts"])
        elif op == "weights":
            self._weigh(event)
        else:
            self._subscribe(position, event, identity(event["id"]))
        self._drop_dead()

    def _configure(self, position: int, event: dict[str, Any]) -> None:
        if position != 0:
            raise ValueError("configure after position 0")
        space = event.get("space", "globe")
        if space != "globe":
            min_x, min_y, max_x, max_y = (float(number) for number in space["plane"])
            self.space = (min_x, min_y, max_x, max_y)
            width, height = max_x - min_x, max_y - min_y
            self.max_distance = math.sqrt(width * width + height * height)
        self.max_distance = float(event.get("max_distance", self.max_distance))
        window = {name: value for name, value in event.get("window", {}).items() if value is not None}
        if window:
            self.window_messages, self.window_ms = window.get("messages"), window.get("ms")
        analyser = event.get("analyser", {})
        if analyser.get("stemming") or (analyser.get("language") and analyser.get("stop_words", True) in (True, None)):
            raise NotImplementedError("the oracle knows no language")
        stop_words = analyser.get("stop_words")
        self.stop_words = frozenset(stop_words if isinstance(stop_words, list) else ())
        self._weigh(event.get("weights", {}))

    def _weigh(self, event: dict[str, Any]) -> None:
        self.idf = dict(event.get("idf") or {})
        default = event.get("default")
        self.default_weight = 1.0 if default is None else float(default)

    def _advance(self, ts: int) -> None:
        self.now = ts if self.now is None else max(self.now, ts)

    def is_live(self, message: Message) -> bool:
        assert self.now is not None
        return not (
            message.retracted
            or (message.expires is not None and self.now >= message.expires)
            or (self.window_messages is not None and self.published - message.number >= self.window_messages)
            or (self.window_ms is not None and self.now - message.ts >= self.window_ms)
        )

    def _drop_dead(self) -> None:
        if not all(self.is_live(message) for message in self.live.values()):
            self.live = {id_: message for id_, message in self.live.items() if self.is_live(message)}

    def _publish(self, position: int, event: dict[str, Any]) -> None:
        id_ = identity(event["id"])
        ts = event.get("ts", 0 if self.now is None else self.now)
        self._advance(ts)
        self._drop_dead()
        if id_ in self.live:
            raise ValueError(f"position {position}: the message {id_!r} is live")
        place = tuple(float(number) for number in event["at" if "at" in event else "box"])
        self.published += 1
        self.arrived = Message(position, id_, place, self._counts(event), ts, event.get("expires"), self.published)
        self.live[id_] = self.arrived

    def _counts(self, event: dict[str, Any]) -> dict[str, int]:
        """Words with their counts, in ascending code-point order."""
        found = Counter(analysed(event["text"], self.stop_words) if "text" in event else set(event["words"]))
        return {word: found[word] for word in sorted(found)}

    def _subscribe(self, position: int, event: dict[str, Any], id_: str) -> None:
        op = event["op"]
        if (id_ in self.subscriptions) == (op == "register"):
            raise ValueError(f"position {position}: {op} of {id_!r}")
        if op == "remove":
            del self.subscriptions[id_]
        elif op == "move":
            moved = self.subscriptions[id_]
            if moved.kind != "around":
                raise ValueError(f"position {position}: {id_!r} cannot move")
            self._centre(moved, event["at"])
        elif op in ("register", "replace"):
            self.subscriptions[id_] = self._read(position, id_, event)
        else:
            raise ValueError(f"position {position}: unknown op {op!r}")

    def _read(self, position: int, id_: str, event: dict[str, Any]) -> Subscription:
        made = Subscription(position, id_, event["kind"])
        if made.kind in ("within", "around"):
            if "when" in event:
                made.when = parse(event["when"], lambda text: analysed(text, self.stop_words))
            if made.kind == "within":
                made.region = event["where"]
            else:
                made.shape = event["shape"]
                self._centre(made, event["at"])
            return made
        made.at = tuple(float(number) for number in event["at"])
        made.counts = self._counts(event)
        made.k = event["k"]
        if not made.counts or not 1 <= made.k <= 1000:
            raise ValueError(f"position {position}: no words, or k out of range")
        if made.kind == "best":
            made.alpha = float(event["alpha"])
        return made

    def _centre(self, subscription: Subscription, at: list[float]) -> None:
        subscription.at = tuple(float(number) for number in at)
        subscription.region = geometry.around(self.space, subscription.at, subscription.shape)
