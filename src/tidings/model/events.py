"""The events of a log, as plain data. What they mean is in `docs/concepts/events.md`."""

from typing import TypeAlias

from msgspec import Raw, Struct

from tidings.model.regions import Bounds, Point
from tidings.model.subscriptions import Subscription


class Globe(Struct, frozen=True, tag=True):
    """Longitude and latitude in degrees, great-circle distances in metres."""


class Plane(Struct, frozen=True, tag=True):
    """A bounded plane with Euclid's distance."""

    bounds: Bounds


Space: TypeAlias = Globe | Plane


class Window(Struct, frozen=True):
    """How long a message is live: until N later ones, until it is T old, or whichever comes first."""

    messages: int | None = None
    ms: int | None = None


class AnalyserConfiguration(Struct, frozen=True):
    """How text becomes words. Without a language nothing depends on one: no stop words, no stemming."""

    language: str | None = None
    stemming: bool = False
    stop_words: tuple[str, ...] | bool = True
    """A list of our own; True for the language's; False for none."""


class Weights(Struct, frozen=True):
    """A version of the word weights: `similar` counts a word as often as it occurs times its weight."""

    idf: dict[str, float] = {}
    default: float = 1.0


class Configure(Struct, frozen=True):
    """The configuration of a log; only at position 0."""

    space: Space = Globe()
    window: Window = Window()
    max_distance: float | None = None
    analyser: AnalyserConfiguration = AnalyserConfiguration()
    weights: Weights = Weights()


class Publish(Struct, frozen=True):
    """A message."""

    id: str
    at: Point | None = None
    box: Bounds | None = None
    text: str | None = None
    words: tuple[str, ...] | None = None
    ts: int | None = None
    expires: int | None = None
    attributes: Raw | None = None
    """A JSON object, carried along as it was written."""


class Retract(Struct, frozen=True):
    """A message is no longer live."""

    id: str


class Register(Struct, frozen=True):
    """A new subscription."""

    subscription: Subscription


class Replace(Struct, frozen=True):
    """The subscription with this id becomes this one."""

    subscription: Subscription


class Move(Struct, frozen=True):
    """The region of an `around` is now centred here."""

    id: str
    at: Point


class Remove(Struct, frozen=True):
    """A subscription is gone."""

    id: str


class Tick(Struct, frozen=True):
    """Time passes."""

    ts: int


class Reweigh(Struct, frozen=True):
    """A new version of the word weights (`weights` on the wire); everything scored is scored anew."""

    weights: Weights


Event: TypeAlias = Configure | Publish | Retract | Register | Replace | Move | Remove | Tick | Reweigh
