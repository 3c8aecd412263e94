"""Who may say what when: the ids of subscriptions in force and of messages that live, as the log goes on.

A message lives until N later ones, until it is T old, until it expires or until it is retracted. Three of these follow
from two numbers that are known when it arrives: how many were published before it, and the earlier of its two ends of
time. So the ledger keeps these two per id and asks on sight; the dead are swept out whenever there may be as many of
them as of the living, which costs each message a constant share and bounds memory by twice the live ones.

A log that takes submissions whole or not at all goes `back_to` a `mark` when one is refused or cannot be written.
"""

from typing import Final, NamedTuple, TypeAlias

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
from tidings.model.subscriptions import Around, Best, Nearest, Subscription, Within

SWEEP_AT_LEAST: Final = 4096
"""So many messages are kept before the first sweep."""


_NEVER: Final = float("inf")
Life: TypeAlias = tuple[int, float]
"""How many messages were published before this one, and when it dies of time (infinity for never)."""

_KINDS: Final[dict[str, type[Subscription]]] = {kind.__name__.lower(): kind for kind in (Within, Around, Best, Nearest)}


class Mark(NamedTuple):
    """Where a ledger stood."""

    undo: int
    now: int | None
    published: int
    n_window: int | None
    ms_window: int | None


class Kept(NamedTuple):
    """All that a ledger knows, as plain data."""

    now: int | None
    published: int
    n_window: int | None
    ms_window: int | None
    kinds: list[tuple[str, str]]
    """The subscriptions in force and their kinds."""
    lives: list[tuple[str, Life]]


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
        self._lives: dict[str, Life] = {}
        self._sweep_at = SWEEP_AT_LEAST
        self._undo: list[tuple[str, Life | type[Subscription] | None, bool]] | None = None
        """What ids had before, newest last; the flag says that it is a subscription's. None while nobody marks."""

    @classmethod
    def of(cls, kept: Kept) -> "Ledger":
        """A ledger that knows what was kept."""
        ledger = cls()
        ledger.now, ledger.published, ledger._n_window, ledger._ms_window = kept[:4]
        ledger._kinds = {subscription: _KINDS[kind] for subscription, kind in kept.kinds}
        ledger._lives = dict(kept.lives)
        ledger._sweep_at = max(SWEEP_AT_LEAST, 2 * len(ledger._lives))
        return ledger

    def kept(self) -> Kept:
        """All that it knows now."""
        kinds = [(subscription, kind.__name__.lower()) for subscription, kind in self._kinds.items()]
        return Kept(self.now, self.published, self._n_window, self._ms_window, kinds, list(self._lives.items()))

    @property
    def n_ids(self) -> int:
        """How many ids it knows, of both."""
        return len(self._kinds) + len(self._lives)

    def mark(self) -> Mark:
        """From here on it can go back to here, until it `forget`s."""
        if self._undo is None:
            self._undo = []
        return Mark(len(self._undo), self.now, self.published, self._n_window, self._ms_window)

    def back_to(self, mark: Mark) -> None:
        """Undo everything since the mark."""
        undo = self._undo or []
        while len(undo) > mark.undo:
            id_, before, is_subscription = undo.pop()
            table: dict[str, object] = self._kinds if is_subscription else self._lives  # type: ignore[assignment]
            if before is None:
                table.pop(id_, None)
            else:
                table[id_] = before
        self.now, self.published, self._n_window, self._ms_window = mark[1:]

    def forget(self) -> None:
        """What was done so far stays."""
        self._undo = None
        self._sweep()

    def publish(self, message: str, ts: int | None, expires: int | None) -> bool:
        """Check and apply a message, which is what nearly every event is; False when its id is taken."""
        now = ts if self.now is None or (ts is not None and ts > self.now) else self.now
        life = self._lives.get(message)
        if life is not None and self._is_on(life, now):
            return False
        self._publish(message, ts, expires)
        return True

    def subscribe(self, subscription: str, kind: str) -> None:
        """Apply a `register` or `replace` of which only this is known."""
        self._note(subscription, self._kinds.get(subscription), True)
        self._kinds[subscription] = _KINDS[kind]

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
                self._publish(event.id, event.ts, event.expires)
            case Retract():
                self._note(event.id, self._lives.pop(event.id, None), False)
            case Register(subscription) | Replace(subscription):
                self._note(subscription.id, self._kinds.get(subscription.id), True)
                self._kinds[subscription.id] = type(subscription)
            case Remove():
                self._note(event.id, self._kinds.pop(event.id), True)
            case Tick():
                self.now = self._now_with(event.ts)
            case Configure(window=window):
                if window.messages is not None or window.ms is not None:
                    self._n_window, self._ms_window = window.messages, window.ms

    def take(self, event: Event) -> None:
        """Make an event part of the log whatever forbids it here: whoever brings it knows more than the ledger."""
        if not isinstance(event, Remove) or event.id in self._kinds:
            self.apply(event)

    def is_live(self, message: str) -> bool:
        """Whether a message with this id lives now."""
        life = self._lives.get(message)
        return life is not None and self._is_on(life, self.now)

    def kind_of(self, subscription: str) -> type[Subscription] | None:
        """The kind of the subscription in force with this id."""
        return self._kinds.get(subscription)

    def __len__(self) -> int:
        return len(self._kinds)

    def _publish(self, message: str, ts: int | None, expires: int | None) -> None:
        now = self.now
        if now is None or (ts is not None and ts > now):
            self.now = now = 0 if ts is None else ts
        ends: float = _NEVER if expires is None else expires
        if self._ms_window is not None:
            aged = (now if ts is None else ts) + self._ms_window
            ends = aged if aged < ends else ends
        lives = self._lives
        if self._undo is not None:
            self._undo.append((message, lives.get(message), False))
        # Whoever had this id is dead by now.
        if now < ends:
            lives[message] = (self.published, ends)
        else:
            lives.pop(message, None)
        self.published += 1
        if self._undo is None and len(lives) >= self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        """Drop the dead, when there may be as many as of the living. What may come back to life is kept."""
        if len(self._lives) >= self._sweep_at:
            now = self.now
            self._lives = {message: life for message, life in self._lives.items() if self._is_on(life, now)}
            self._sweep_at = max(SWEEP_AT_LEAST, 2 * len(self._lives))

    def _note(self, id_: str, before: Life | type[Subscription] | None, is_subscription: bool) -> None:
        if self._undo is not None:
            self._undo.append((id_, before, is_subscription))

    def _now_with(self, ts: int | None) -> int | None:
        if ts is None or self.now is None:
            return self.now if ts is None else ts
        return max(ts, self.now)

    def _is_on(self, life: Life, now: int | None) -> bool:
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
