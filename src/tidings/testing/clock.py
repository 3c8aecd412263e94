"""A clock that a test sets by hand."""

from tidings.model.events import Tick


class Clock:
    """Milliseconds since 1970 that go on only when somebody says so.

    In Tidings time is data, so a test needs no patience: give events `ts=clock()`, or append `clock.tick()` to say that
    time has passed and nothing else has happened. What asks for a function of time or for one that sleeps gets
    `clock.time` and `clock.sleep`.

    >>> clock = Clock(1_780_000_000_000)
    >>> clock.advance(hours=1)
    1780003600000
    >>> clock.tick()
    Tick(ts=1780003600000)

    """

    def __init__(self, ms: int = 0) -> None:
        self._ms = ms

    def __call__(self) -> int:
        """What time it is, in milliseconds."""
        return self._ms

    def advance(self, ms: int = 0, *, seconds: float = 0, minutes: float = 0, hours: float = 0) -> int:
        """Let time pass, and answer what time it is then. Back is an error: a log's time never goes back."""
        by = ms + round(1000 * (seconds + 60 * minutes + 3600 * hours))
        if by < 0:
            raise ValueError(f"time does not go back by {-by} ms; make another clock")
        self._ms += by
        return self._ms

    def tick(self, ms: int = 0) -> Tick:
        """The event that says what time it is, after so many milliseconds more."""
        return Tick(self.advance(ms))

    def time(self) -> float:
        """Seconds, as `time.time` says them."""
        return self._ms / 1000

    def sleep(self, seconds: float) -> None:
        """Time passes at once, as if somebody had slept."""
        self.advance(seconds=seconds)
