"""An evening in the city, replayed through an engine: what happens, and who is told."""

import time
from collections.abc import Iterator
from statistics import median
from typing import Final, NamedTuple

from tidings.lab.city import START_MS, city_configuration, city_events, city_subscriptions
from tidings.matching.engine import Engine
from tidings.matching.explain import Explanation, Published, explain
from tidings.model.deltas import Delta
from tidings.model.events import Event, Publish, Register
from tidings.model.subscriptions import Subscription, Within

EXPLAINED_AFTER_MS: Final = 200 * 60_000
"""The first match of a `within` after so much of the evening is explained."""


class Moment(NamedTuple):
    """One event and what came of it."""

    ms: int
    """Since the evening began."""
    event: Event
    deltas: list[Delta]
    us: float
    """What the engine took."""


class Evening:
    """The engine, the wishes, and the messages so far."""

    def __init__(self, seed: int) -> None:
        self.subscriptions: Final[list[Subscription]] = city_subscriptions()
        self.engine: Final = Engine(city_configuration())
        self.messages: Final[dict[str, Publish]] = {}
        self.explanation: Explanation | None = None
        """Of one match, once there was one late enough."""
        self.n_deltas = 0
        self._us: Final[list[float]] = []
        self._events: Final = list(city_events(seed))
        for subscription in self.subscriptions:
            self.engine.apply(Register(subscription))

    @property
    def median_us(self) -> float:
        """What half of the events took at most."""
        return median(self._us) if self._us else 0.0

    def __iter__(self) -> Iterator[Moment]:
        """The events, each applied when it is asked for."""
        explained = {subscription.id for subscription in self.subscriptions if isinstance(subscription, Within)}
        ms = 0
        for event in self._events:
            if isinstance(event, Publish):
                self.messages[event.id] = event
                ms = max(ms, (event.ts or START_MS) - START_MS)
            position = self.engine.position
            start = time.perf_counter()
            deltas = self.engine.apply(event)
            us = 1e6 * (time.perf_counter() - start)
            if isinstance(event, Publish) and self.explanation is None and ms >= EXPLAINED_AFTER_MS:
                for delta in deltas:
                    if delta.subscription in explained:
                        published = Published(event, position, len(self.messages) - 1, event.ts or START_MS)
                        self.explanation = explain(self.engine.shard, delta.subscription, published, position)
                        break
            self._us.append(us)
            self.n_deltas += len(deltas)
            yield Moment(ms, event, deltas, us)


def wish_of(subscription: Subscription) -> str:
    """What a subscription asks for, in plain words."""
    return subscription.labels[0] if subscription.labels else subscription.id


def kind_of(subscription: Subscription) -> str:
    """Its kind as a log names it."""
    return type(subscription).__name__.lower()


def clock(ms: int) -> str:
    """The time of the evening, which begins at six."""
    minutes = 18 * 60 + ms // 60_000
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"
