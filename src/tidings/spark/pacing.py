"""How many events the next batch takes: what can be done in the time that a batch should take, within bounds.

Little lag gives small batches and low latency by itself, since a batch takes what is there. With a lag, larger batches
are cheaper per event, but nothing of a batch is delivered before all of it is. So the rate of the batches so far says
how many events fit into the target time.
"""

from typing import Final

SMALLEST: Final = 1_000
"""The fewest events that a batch may be held to."""
SMOOTHING: Final = 0.3
"""How much the last batch counts for the rate."""


class Pace:
    """Learns from each batch how large the next may be."""

    def __init__(self, max_events: int, target_s: float) -> None:
        self._max_events = max_events
        self._target_s = target_s
        self._rate: float | None = None

    def observe(self, events: int, seconds: float) -> None:
        """A batch of so many events took so long."""
        if events < SMALLEST or seconds <= 0.0:
            # Its time is that of any batch, and says nothing of events.
            return
        rate = events / seconds
        # A larger batch is better paid for, so the estimate may at most double per batch.
        self._rate = rate if self._rate is None else self._rate + SMOOTHING * (rate - self._rate)

    @property
    def limit(self) -> int:
        """The most events of the next batch."""
        if self._rate is None:
            return min(self._max_events, 16 * SMALLEST)
        return max(min(SMALLEST, self._max_events), min(self._max_events, int(self._rate * self._target_s)))
