"""Reading the log in tasks. A worker process keeps its handles: opening a log and warming a decoder cost as much as a
small batch.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from tidings.columns.block import Block
from tidings.log.decoding import Decoder
from tidings.log.store import EventLog
from tidings.model.errors import FileError, Problem
from tidings.spark.work import Origin, packed, unpacked

REPLAY_EVENTS: Final = 25_000
"""The events of a block when a shard is rebuilt."""


@lru_cache(maxsize=8)
def open_for_reading(path: Path) -> EventLog:
    """The log at a path, open as long as this process lives."""
    return EventLog.open(path, read_only=True)


def reader_of(origin: Origin) -> "BlockReader":
    """The reader of a log, kept as long as this process lives."""
    return _reader(packed(origin))


@lru_cache(maxsize=8)
def _reader(origin: bytes) -> "BlockReader":
    return BlockReader(unpacked(origin, Origin))


class BlockReader:
    """Events of a log as blocks."""

    def __init__(self, origin: Origin) -> None:
        self._path: Final = Path(origin.log)
        self._decoder: Final = Decoder(origin.configuration)

    def block(self, first: int, end: int, aside: tuple[int, ...] = ()) -> Block:
        """The events of a range as one block, without those that were set aside."""
        log = open_for_reading(self._path)
        if first < log.start:
            raise FileError(
                Problem(
                    "log-behind",
                    str(self._path),
                    f"events from {log.start} on",
                    f"events from {first} on",
                    "the log has forgotten events that this state still needs; restore it, or start with a new state",
                )
            )
        return self._decoder.block(log.frames(first, end), [position for position in aside if first <= position < end])

    def blocks(self, first: int, end: int, aside: tuple[int, ...] = ()) -> Iterator[Block]:
        """The events of a range in blocks."""
        for low in range(first, end, REPLAY_EVENTS):
            yield self.block(low, min(low + REPLAY_EVENTS, end), aside)
