"""A block: events in order of position, as columns. It is what matching steps over and what travels between processes.

Words are 64-bit hashes here, so that a block means the same everywhere: each shard turns the hashes that its own
subscriptions know into dense ids. All words of one message or scored subscription stand in ascending code-point
order of their strings, which is the order in which scores are summed.
"""

from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tidings.words.arenas import Arena, read_only

Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]

PUBLISH: Final = 1
RETRACT: Final = 2
REGISTER: Final = 3
REPLACE: Final = 4
MOVE: Final = 5
REMOVE: Final = 6
TICK: Final = 7
REWEIGH: Final = 8

FREE: Final = 0
WITHIN: Final = 1
AROUND: Final = 2
BEST: Final = 3
NEAREST: Final = 4

NO_TIME: Final = np.iinfo(np.int64).min
"""An event that brings no time, and *now* before any did."""
NEVER: Final = np.iinfo(np.int64).max
"""A position or a time that does not come."""

MORE_CLAUSES: Final = 1 << 31
"""In the header of a clause: another one follows."""
EXCLUDED_SHIFT: Final = 16
"""A clause's header is its positive words, plus its excluded words shifted by this."""


class MessageColumns(NamedTuple):
    """The messages of a block."""

    id: Arena
    place: Float64s
    """(n, 4) min_lon, min_lat, max_lon, max_lat; a point is a box without extent."""
    expires: Int64s
    """NEVER where there is none."""
    word_start: Int64s
    """n + 1 offsets into the two arrays below."""
    word_hash: npt.NDArray[np.uint64]
    word_count: npt.NDArray[np.uint32]


class SubscriptionColumns(NamedTuple):
    """The subscriptions that a block registers or puts in the place of others."""

    id: Arena
    kind: npt.NDArray[np.uint8]
    shape: npt.NDArray[np.uint8]
    """Of `within` the shape of its region, of `around` that of what moves with it; 0 for the others."""
    geometry_start: Int64s
    """n + 1 offsets into `geometry`."""
    geometry: Float64s
    """`within`: the encoded region; `around`: lon, lat and two measures; `best`: lon, lat, k, alpha; `nearest`:
    lon, lat, k."""
    term_start: Int64s
    """n + 1 offsets into `term`."""
    term: npt.NDArray[np.uint32]
    """`within`, `around`: clauses, each a header, its positive words, its excluded words. `best`, `nearest`: pairs
    of word and count, preceded by their number. A word is a row of `word_hash`."""
    word_hash: npt.NDArray[np.uint64]
    word: Arena
    """The distinct words of all subscriptions of the block; a dictionary keeps them to find collisions."""


class WeightColumns(NamedTuple):
    """The versions of the word weights that a block brings."""

    start: Int64s
    """n + 1 offsets into the two arrays below."""
    word_hash: npt.NDArray[np.uint64]
    """Ascending within a version."""
    weight: Float64s
    default: Float64s
    """One per version: the weight of all other words."""


class Block(NamedTuple):
    """Events as columns."""

    position: Int64s
    """Ascending; rejected lines leave gaps."""
    op: npt.NDArray[np.uint8]
    time: Int64s
    """What the event says the time is, or NO_TIME."""
    row: npt.NDArray[np.int64]
    """The event's row in `messages` (publish), `subscriptions` (register, replace), `names` (retract, move, remove)
    or `weights`."""
    messages: MessageColumns
    subscriptions: SubscriptionColumns
    names: Arena
    moved_to: Float64s
    """(n, 2) of each name: where to, for a move."""
    weights: WeightColumns


Columns = TypeVar("Columns", bound=tuple[Any, ...])


def sealed(columns: Columns) -> Columns:
    """The same columns (a named tuple), contiguous and not writable: the one form in which kernels take them."""
    parts = [sealed(part) if isinstance(part, tuple) else read_only(part) for part in columns]
    return type(columns)(*parts)
