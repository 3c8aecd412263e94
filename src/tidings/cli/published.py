"""The published events that deltas may still ask for, for `--with message`."""

from typing import Final

import numpy as np

from tidings.columns.block import Block
from tidings.columns.encode import BlockBuilder
from tidings.columns.messages import ALIVE
from tidings.columns.window import LiveWindow
from tidings.log.wire import encode_event
from tidings.model.events import Configure, Event, Publish

SWEEP_AT_LEAST: Final = 16_384
"""So many events are kept before the first sweep."""


class PublishedEvents:
    """Events by position. A delta is about a message of its block or one that lived before it; the others go."""

    def __init__(self) -> None:
        self._events: dict[int, bytes] = {}
        self._sweep_at = SWEEP_AT_LEAST

    def builder(self, configuration: Configure) -> "_Keeping":
        """A builder of blocks that leaves every published event here."""
        return _Keeping(configuration, self._events)

    def at(self, positions: list[int]) -> list[bytes | str]:
        """The JSON of the events at these positions."""
        return [self._events[position] for position in positions]

    def forget_all_but(self, window: LiveWindow) -> None:
        """Drop the events of messages that are no longer live, once there may be as many of them as of the others."""
        if len(self._events) < self._sweep_at:
            return
        live = window.table.position[np.flatnonzero(window.table.status == ALIVE)]
        kept = {position: self._events[position] for position in live.tolist()}
        self._events.clear()
        self._events.update(kept)
        self._sweep_at = max(SWEEP_AT_LEAST, 2 * len(kept))


class _Keeping:
    def __init__(self, configuration: Configure, events: dict[int, bytes]) -> None:
        self._builder: Final = BlockBuilder(configuration)
        self._events: Final = events

    def add(self, position: int, event: Event) -> None:
        self._builder.add(position, event)
        if isinstance(event, Publish):
            self._events[position] = encode_event(event)

    def __len__(self) -> int:
        return len(self._builder)

    def build(self) -> Block:
        return self._builder.build()
