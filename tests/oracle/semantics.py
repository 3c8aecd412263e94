"""The result sets of all subscriptions after each event, from their definitions, and the deltas between them."""

import math
from typing import Any

from tests.oracle import geometry
from tests.oracle.expressions import satisfies
from tests.oracle.state import Message, State, Subscription, identity

ResultSet = dict[int, tuple[Message, float | None]]
"""By the message's position: the message and its score or distance."""

VALUE = {"best": "score", "nearest": "distance"}
"""What a delta of a kind carries."""


class Oracle:
    """Give it a log event by event; it answers with the deltas of each, in the order of the file."""

    def __init__(self) -> None:
        self.state = State()
        self._results: dict[str, ResultSet] = {}
        self._kinds: dict[str, str] = {}
        self._memory: dict[str, dict[int, Any]] = {}
        """Per subscription what is known of each message; forgotten when it or the weights change."""

    def apply(self, position: int, event: dict[str, Any]) -> list[dict[str, Any]]:
        before, live_before = self._results, list(self.state.live.values())
        kinds_before = self._kinds
        self.state.apply(position, event)
        subscriptions = self.state.subscriptions
        changed = self._forget(event)
        same_messages = live_before == list(self.state.live.values())

        self._kinds = {id_: subscription.kind for id_, subscription in subscriptions.items()}
        self._results = {}
        deltas: list[dict[str, Any]] = []
        for id_ in sorted(subscriptions):
            if same_messages and id_ not in changed:
                self._results[id_] = before[id_]
            else:
                self._results[id_] = self.result_set(subscriptions[id_])
                old = before.get(id_, {})
                deltas += _differences(position, id_, kinds_before.get(id_, ""), old, self._results[id_], "-")
                deltas += _differences(position, id_, self._kinds[id_], self._results[id_], old, "+")
            arrived = self.state.arrived if subscriptions[id_].kind == "within" else None
            if arrived is not None and self._concerns(subscriptions[id_], arrived):
                deltas.append(_delta(position, id_, arrived.id, "+"))
        return deltas

    def _forget(self, event: dict[str, Any]) -> set[str]:
        """The subscriptions whose result sets depend on more than the live messages at this event."""
        op = event["op"]
        if op in ("weights", "configure"):
            changed = set(self.state.subscriptions)
        elif op in ("register", "replace", "move", "remove"):
            changed = {identity(event["id"])}
        else:
            changed = set()
        for id_ in changed:
            self._memory[id_] = {}
        return changed

    def result_set(self, subscription: Subscription) -> ResultSet:
        live = self.state.live.values()
        if subscription.kind == "within":
            return {}
        known = self._memory[subscription.id]
        for message in live:
            if message.position not in known:
                known[message.position] = self._known(subscription, message)
        found = [(known[m.position], m) for m in live if known[m.position] is not None]
        if subscription.kind == "around":
            return {message.position: (message, None) for _, message in found}
        if subscription.kind == "best":
            found.sort(key=lambda pair: (-pair[0], -pair[1].position))
        else:
            found = [pair for pair in found if pair[1].position > subscription.position]
            found.sort(key=lambda pair: (pair[0], pair[1].position))
        return {message.position: (message, value) for value, message in found[: subscription.k]}

    def _known(self, subscription: Subscription, message: Message) -> Any:
        """True, a score or a distance when the message is a candidate, else None."""
        if subscription.kind == "around":
            return self._concerns(subscription, message) or None
        shared = [word for word in subscription.counts if word in message.counts]
        if not shared:
            return None
        distance = geometry.distance(self.state.space, subscription.at, message.place)
        if subscription.kind == "nearest":
            return distance
        near = max(0.0, 1.0 - distance / self.state.max_distance)
        unit_s, unit_m = self.unit_weights(subscription.counts), self.unit_weights(message.counts)
        similar = 0.0
        for word in shared:
            similar += unit_m[word] * unit_s[word]
        return subscription.alpha * near + (1.0 - subscription.alpha) * similar

    def unit_weights(self, counts: dict[str, int]) -> dict[str, float]:
        """count x idf, divided by the length of the vector; `counts` is in ascending order of the words."""
        idf, default = self.state.idf, self.state.default_weight
        weights = {word: count * float(idf.get(word, default)) for word, count in counts.items()}
        squares = 0.0
        for weight in weights.values():
            squares += weight * weight
        norm = math.sqrt(squares)
        return {word: weight / norm if norm else 0.0 for word, weight in weights.items()}

    def _concerns(self, subscription: Subscription, message: Message) -> bool:
        """Words and place of a `within` or an `around`."""
        if subscription.when is not None and not satisfies(message.counts, subscription.when):
            return False
        return geometry.meets(self.state.space, subscription.region, message.place)


def _differences(
    position: int, id_: str, kind: str, these: ResultSet, others: ResultSet, op: str
) -> list[dict[str, Any]]:
    """The messages that are in one result set and not in the other, by id."""
    gone = [these[key] for key in these if key not in others]
    gone.sort(key=lambda pair: pair[0].id)
    return [_delta(position, id_, message.id, op, kind, value) for message, value in gone]


def _delta(
    position: int, id_: str, message: str, op: str, kind: str = "", value: float | None = None
) -> dict[str, Any]:
    delta: dict[str, Any] = {"position": position, "subscription": id_, "message": message, "op": op}
    if kind in VALUE:
        delta[VALUE[kind]] = value
    return delta


def deltas_of(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The deltas of a whole log."""
    oracle = Oracle()
    return [delta for position, event in enumerate(log) for delta in oracle.apply(position, event)]
