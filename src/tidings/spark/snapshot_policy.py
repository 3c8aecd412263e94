"""When a snapshot is due: often enough that restarting is quick, rarely enough that it costs little."""

import time
from collections.abc import Callable


class SnapshotPolicy:
    """Counts events and seconds since the last snapshot."""

    def __init__(
        self,
        position: int,
        *,
        events: int,
        seconds: float,
        share: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events, self._seconds, self._share = events, seconds, share
        self._clock = clock
        self._position = position
        self._taken_at = clock()
        self._cost_s = 0.0

    def due(self, end: int) -> bool:
        """Whether the batch up to `end` should take one."""
        elapsed = self._clock() - self._taken_at
        new = end - self._position
        wanted = new >= self._events or (new > 0 and elapsed >= self._seconds)
        return wanted and elapsed * self._share >= self._cost_s

    def taken(self, position: int, cost_s: float) -> None:
        """A snapshot was committed, and this is how much longer its batch took."""
        self._position, self._taken_at, self._cost_s = position, self._clock(), cost_s
