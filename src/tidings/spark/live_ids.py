"""Whether the id of a message is taken by one that is live: what the ledger of a log asks event by event, for blocks.

Ids repeat seldom. So a block's ids are looked up all at once, and only those that were seen before are judged one by
one, by the same rule as in a log: how many messages were published since, and whether the time of the former is over.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.columns.block import NO_TIME, Block
from tidings.model.events import Window
from tidings.model.limits import DEFAULT_WINDOW_MESSAGES

SWEEP_AT_LEAST: Final = 100_000
"""So many ids are kept before those of the dead are forgotten."""


class _Lives(NamedTuple):
    """When the messages of a block die, and how late it is when each arrives."""

    now: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


class LiveIds:
    """The ids of the messages that may be live."""

    def __init__(self, window: Window) -> None:
        both_absent = window.messages is None and window.ms is None
        self._limit: Final = DEFAULT_WINDOW_MESSAGES if both_absent else window.messages
        self._age: Final = window.ms
        self._now = NO_TIME
        self._published = 0
        self._seen: dict[str, tuple[int, int]] = {}
        self._sweep_at = SWEEP_AT_LEAST

    def taken(self, block: Block) -> list[int]:
        """The rows of a block of publications whose ids are taken; the others are published from now on."""
        ids = block.messages.id.strings()
        rows: list[int] = []
        first = 0
        while first < len(ids):
            row = self._publish(ids, block, first)
            if row is None:
                break
            # The rest is judged anew, as if this message had never been.
            rows.append(row)
            first = row + 1
        return rows

    def _publish(self, ids: list[str], block: Block, first: int) -> int | None:
        """Publish the messages from a row on; the first whose id is taken ends it and is answered."""
        lives = self._lives(block, first)
        row = self._first_taken(ids, first, lives)
        last = len(ids) if row is None else row
        n = last - first
        if n:
            numbers = range(self._published, self._published + n)
            self._seen.update(zip(ids[first:last], zip(numbers, lives.end[:n].tolist(), strict=True), strict=True))
            self._published += n
            self._now = int(lives.now[n - 1])
            if len(self._seen) >= self._sweep_at:
                self._sweep()
        return row

    def _lives(self, block: Block, first: int) -> _Lives:
        times = block.time[first:]
        now = np.maximum(np.maximum.accumulate(times), self._now)
        # Where nothing has said the time yet, a message without one makes it 0.
        untold = now == NO_TIME
        if untold.any():
            now = np.where(untold, 0, np.maximum(now, 0))
        own = np.where(times == NO_TIME, now, times)
        end = block.messages.expires[first:]
        if self._age is not None:
            end = np.minimum(end, own + self._age)
        return _Lives(now, np.where(end > now, end, NO_TIME))

    def _first_taken(self, ids: list[str], first: int, lives: _Lives) -> int | None:
        """The first row whose id a live message has, of this block or an earlier one."""
        rest = ids[first:]
        distinct = set(rest)
        if len(distinct) == len(rest) and self._seen.keys().isdisjoint(distinct):
            return None
        here: dict[str, int] = {}
        for i, id_ in enumerate(rest):
            number, now = self._published + i, int(lives.now[i])
            before = self._seen.get(id_)
            if id_ in here:
                before = (self._published + here[id_], int(lives.end[here[id_]]))
            if before is not None and now < before[1] and (self._limit is None or number - before[0] <= self._limit):
                return first + i
            here[id_] = i
        return None

    def _sweep(self) -> None:
        oldest = -1 if self._limit is None else self._published - self._limit
        self._seen = {id_: life for id_, life in self._seen.items() if life[0] >= oldest and life[1] > self._now}
        self._sweep_at = max(SWEEP_AT_LEAST, 2 * len(self._seen))
