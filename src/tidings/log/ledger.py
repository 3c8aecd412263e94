"""Who may say what when: the ids of subscriptions in force and of messages that live, as the log goes on.

A message lives until N later ones, until it is T old, until it expires or until it is retracted. Three of these follow
from two numbers that are known when it arrives: how many were published before it, and the earlier of its two ends of
time. So the ledger keeps these two per id and asks on sight; the dead are swept out whenever there may be as many of
them as of the living, which costs each message a constant share and bounds memory by twice the live ones.
"""

from typing import Final, TypeAlias

from tidings.model.errors import Problem, shortened
from tidings.model.events import (
    Configure,
    Event,
    Move,
    Publish,
    Register,
    Remove,
    Replace,
    Retract,
    Tick,
)
from tidings.model.limits import DEFAULT_WINDOW_MESSAGES, MAX_SUBSCRIPTIONS
from tidings.model.subscriptions import Around, Subscription

SWEEP_AT_LEAST: Final = 4096
"""So many messages are kept before the first sweep."""


_NEVER: Final = float("inf")
_Life: TypeAlias = tuple[int, float]
"""How many messages were published before this one, and when it dies of time (infinity for never)."""


class Ledger:
    """What is in force and what lives, after every event that was applied."""

    def __init__(self) -> None:
        self.now: int | None = None
        """The largest time so far; None before any."""
        self.published: int = 0
        """Accepted messages, also those that never lived."""
        self._n_window: int | None = DEFAULT_WINDOW_MESSAGES
        self._ms_window: int | None = None
        self._kinds: dict[str, type[Subscription]] = {}
        self._lives: dict[str, _Life] = {}
        self._sweep_at = SWEEP_AT_LEAST

    def check(self, position: int, event: Event) -> list[Problem]:
        """What forbids this event here; nothing changes."""
        match event:
            case Publish():
                life = self._lives.get(event.id)
                if life is not None and self._is_on(life, self._now_with(event.ts)):
                    hint = "retract the message first, or choose another id"
                    return [Problem("id-taken", "$.id", f"{_id(event.id)}, a message that is live", "a free id", hint)]
            case Register(subscription):
                return self._check_register(subscription.id)
            case Replace(subscription):
                return self._check_known(subscription.id, "`register` makes a new subscription")
            case Remove():
                return self._check_known(event.id)
            case Move():
                return self._check_known(event.id) or self._check_moves(event.id)
            case Configure() if position != 0:
                hint = "a log keeps its configuration; start a new one"
                return [Problem("configure-late", "$.op", f"configure at position {position}", "position 0", hint)]
        return []

    def apply(self, event: Event) -> None:
        """Make the event part of the log; `check` must have found nothing."""
        match event:
            case Publish():
                self._publish(event)
            case Retract():
                self._lives.pop(event.id, None)
            case Register(subscription) | Replace(subscription):
                self._kinds[subscription.id] = type(subscription)
            case Remove():
                del self._kinds[event.id]
            case Tick():
                self.now = self._now_with(event.ts)
            case Configure(window=window):
                if window.messages is not None or window.ms is not None:
                    self._n_window, self._ms_window = window.messages, window.ms

    def is_live(self, message: str) -> bool:
        """Whether a message with this id lives now."""
        life = self._lives.get(message)
        return life is not None and self._is_on(life, self.now)

    def kind_of(self, subscription: str) -> type[Subscription] | None:
        """The kind of the subscription in force with this id."""
        return self._kinds.get(subscription)

    def __len__(self) -> int:
        return len(self._kinds)

    def _publish(self, event: Publish) -> None:
        now = self._now_with(event.ts)
        self.now = now = 0 if now is None else now
        ends: float = _NEVER if event.expires is None else event.expires
        if self._ms_window is not None:
            aged = (now if event.ts is None else event.ts) + self._ms_window
            ends = aged if aged < ends else ends
        # Whoever had this id is dead by now.
        if now < ends:
            self._lives[event.id] = (self.published, ends)
        else:
            self._lives.pop(event.id, None)
        self.published += 1
        if len(self._lives) >= self._sweep_at:
            self._lives = {message: life for message, life in self._lives.items() if self._is_on(life, now)}
            self._sweep_at = max(SWEEP_AT_LEAST, 2 * len(self._lives))

    def _now_with(self, ts: int | None) -> int | None:
        if ts is None or self.now is None:
            return self.now if ts is None else ts
        return max(ts, self.now)

    def _is_on(self, life: _Life, now: int | None) -> bool:
        number, ends = life
        within = self._n_window is None or self.published - number <= self._n_window
        return within and (now is None or now < ends)

    def _check_register(self, subscription: str) -> list[Problem]:
        if subscription in self._kinds:
            found = f"{_id(subscription)}, a subscription in force"
            return [Problem("id-taken", "$.id", found, "a free id", "`replace` puts another in its place")]
        if len(self._kinds) >= MAX_SUBSCRIPTIONS:
            found = f"{len(self._kinds)} subscriptions in force"
            return [Problem("limit-reached", "$", found, f"at most {MAX_SUBSCRIPTIONS}", "remove some first")]
        return []

    def _check_known(self, subscription: str, hint: str = "") -> list[Problem]:
        if subscription in self._kinds:
            return []
        return [Problem("id-unknown", "$.id", _id(subscription), "the id of a subscription in force", hint)]

    def _check_moves(self, subscription: str) -> list[Problem]:
        kind = self._kinds[subscription]
        if issubclass(kind, Around):
            return []
        found = f"{_id(subscription)}, which is `{kind.__name__.lower()}`"
        hint = "`replace` puts a subscription at another place in its place"
        return [Problem("move-kind", "$.id", found, "a subscription of kind `around`", hint)]


def _id(value: str) -> str:
    return f'"{shortened(value)}"'
