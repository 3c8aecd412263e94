"""What a matcher is, which there are, and how it says what it found."""

from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tidings.columns.block import Block
from tidings.columns.growing import grown
from tidings.columns.messages import MessageTable, Weighting
from tidings.columns.standing import Changes, Subscriptions
from tidings.columns.window import Timeline
from tidings.model.events import Configure


class Found(NamedTuple):
    """What a matcher found, by slots, in order of event. Ids come later, for all matchers at once."""

    event: npt.NDArray[np.int32]
    subscription: npt.NDArray[np.int32]
    message: npt.NDArray[np.int32]
    """A slot of the message table, or for `within` the row of the block's messages."""
    sign: npt.NDArray[np.int8]
    value: npt.NDArray[np.float64]
    """The score or distance; NaN where there is none."""


def empty_found(room: int) -> Found:
    """Room for so many rows."""
    return Found(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int8),
        np.empty(room, np.float64),
    )


NOTHING: Final = empty_found(0)
"""What three of four matchers find in most blocks."""


def longer_found(found: Found, room: int) -> Found:
    """The same rows with room for at least so many."""
    return Found._make(grown(column, max(room, 2 * len(column))) for column in found)


class Matcher(Protocol):
    """A matcher of one kind with a live window: `around`, `best` or `nearest`."""

    def __init__(self, configuration: Configure) -> None: ...

    def step(
        self,
        block: Block,
        subscriptions: Subscriptions,
        changes: Changes,
        window: MessageTable,
        timeline: Timeline,
        weighting: Weighting,
    ) -> Found:
        """Replay a sealed block, event by event, and say what came and went.

        The table already holds the versions that the block begins and still those that it ends, the window the
        messages of the block and still its dead: `changes` and `timeline` say at which event each begins and ends.
        A `weights` event is the first of its block, and `weighting` and the window's units are already by it.
        """

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All state, by name."""

    @classmethod
    def from_arrays(cls, configuration: Configure, arrays: dict[str, npt.NDArray[Any]]) -> "Matcher":
        """The matcher of these arrays."""


AROUND: Final[dict[str, str]] = {"brute": "tidings.matching.brute_around:BruteAround"}
BEST: Final[dict[str, str]] = {"brute": "tidings.matching.brute_ranked:BruteBest"}
NEAREST: Final[dict[str, str]] = {"brute": "tidings.matching.brute_ranked:BruteNearest"}
"""By name: where the class is. It is imported when it is asked for."""
