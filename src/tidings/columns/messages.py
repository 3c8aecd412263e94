"""The table of messages: what is live, in flat arrays, with an index of ids and the weights of words.

`window` says when a message comes and goes; here is what is known of one.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns import block as b
from tidings.columns.pool import empty_head
from tidings.dtypes import Integer
from tidings.words.arenas import read_only
from tidings.words.hash_kernels import hash_bytes

NOW: Final = 0
"""Of `state`: the largest time so far, NO_TIME before any."""
PUBLISHED: Final = 1
"""Of `state`: messages accepted so far, also those that were never live."""
USED: Final = 2
"""Of `state`: slots 1 .. USED have been taken at some time."""
FREE_SLOT: Final = 3
"""Of `state`: the first free slot, 0 for none; the next one stands in its `position`."""
COUNT: Final = 4
"""Of `state`: slots in use."""
DUE: Final = 5
"""Of `state`: entries of the heap of deaths by time."""
LIMIT: Final = 6
"""Of `state`: the window in messages, NEVER for none."""
AGE: Final = 7
"""Of `state`: the window in milliseconds, NEVER for none."""

ALIVE: Final = 1
DEAD: Final = 2

_EMPTY: Final = np.uint64(0)
_32: Final = np.uint64(32)
_LOWER: Final = np.uint64(0xFFFFFFFF)
_UPPER: Final = np.uint64(0xFFFFFFFF00000000)


class MessageTable(NamedTuple):
    """Slot 0 is never used."""

    state: npt.NDArray[np.int64]
    status: npt.NDArray[np.uint8]
    """0 free, ALIVE, or DEAD (until the block is over)."""
    position: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    """How many messages were published before it."""
    death: npt.NDArray[np.int64]
    """The time at which it dies, NEVER for none."""
    place: npt.NDArray[np.float64]
    """(n, 4) min_lon, min_lat, max_lon, max_lat."""
    word_start: npt.NDArray[np.int64]
    n_words: npt.NDArray[np.uint32]
    id_start: npt.NDArray[np.int64]
    id_length: npt.NDArray[np.uint16]
    word_head: npt.NDArray[np.int64]
    word_hash: npt.NDArray[np.uint64]
    """In ascending code-point order of the words."""
    word_count: npt.NDArray[np.uint32]
    """Aligned with `word_hash`."""
    unit: npt.NDArray[np.float64]
    """Aligned with `word_hash`: the weights of the words as a vector of length 1, by the weights in force."""
    id_head: npt.NDArray[np.int64]
    id_data: npt.NDArray[np.uint64]
    """Ids in pieces of eight bytes."""
    slot_of: npt.NDArray[np.uint64]
    """Open addressing by the hash of the id; live messages only. The upper half of the hash, then the slot in 32 bits:
    whoever moves an entry or looks for one reads no other message."""
    due: npt.NDArray[np.int64]
    """(n, 3) a binary heap by time of the deaths to come, (time, number of the message, its slot)."""
    ring: npt.NDArray[np.int32]
    """Of a count window, by number modulo its length, a power of two: the slot that the message took; `number` and
    `status` say whether it still has it."""


class Weighting(NamedTuple):
    """The word weights in force."""

    word_hash: npt.NDArray[np.uint64]
    """Ascending."""
    weight: npt.NDArray[np.float64]
    default: npt.NDArray[np.float64]
    """One number."""


def empty_window(messages: int | None, ms: int | None) -> MessageTable:
    """A window that holds nothing yet; None for a bound that does not apply."""
    return MessageTable(
        state=np.array(
            [b.NO_TIME, 0, 0, 0, 0, 0, b.NEVER if messages is None else messages, b.NEVER if ms is None else ms],
            np.int64,
        ),
        status=np.zeros(64, np.uint8),
        position=np.zeros(64, np.int64),
        number=np.zeros(64, np.int64),
        death=np.zeros(64, np.int64),
        place=np.zeros((64, 4), np.float64),
        word_start=np.zeros(64, np.int64),
        n_words=np.zeros(64, np.uint32),
        id_start=np.zeros(64, np.int64),
        id_length=np.zeros(64, np.uint16),
        word_head=empty_head(),
        word_hash=np.zeros(256, np.uint64),
        word_count=np.zeros(256, np.uint32),
        unit=np.zeros(256, np.float64),
        id_head=empty_head(),
        id_data=np.zeros(256, np.uint64),
        slot_of=np.zeros(64, np.uint64),
        due=np.zeros((64, 3), np.int64),
        ring=np.zeros(64, np.int32),
    )


@njit(nogil=True, cache=True)
def weight_of(weighting: Weighting, word_hash: np.uint64) -> float:
    """The weight of a word by the weights in force."""
    place = np.searchsorted(weighting.word_hash, word_hash)
    known = place < len(weighting.word_hash) and weighting.word_hash[place] == word_hash
    weight: float = weighting.weight[place] if known else weighting.default[0]
    return weight


@njit(nogil=True, cache=True)
def weigh(
    weighting: Weighting,
    starts: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    word_hash: npt.NDArray[np.uint64],
    word_count: npt.NDArray[np.uint32],
    unit: npt.NDArray[np.float64],
) -> None:
    """Of each message the words' counts times weights as a vector of length 1; sums run in code-point order."""
    known, default = len(weighting.word_hash) > 0, weighting.default[0]
    for message in range(len(starts)):
        start = starts[message]
        end = start + sizes[message]
        squares = 0.0
        for i in range(start, end):
            weight = np.float64(word_count[i]) * (weight_of(weighting, word_hash[i]) if known else default)
            unit[i] = weight
            squares += weight * weight
        norm = math.sqrt(squares)
        for i in range(start, end):
            unit[i] = unit[i] / norm if norm > 0.0 else 0.0


def weigh_anew(window: MessageTable, weighting: Weighting) -> None:
    """Weigh every message by a new version of the weights."""
    slots = np.flatnonzero(window.status)
    starts, sizes = read_only(window.word_start[slots]), window.n_words[slots].astype(np.int64)
    weigh(weighting, starts, sizes, read_only(window.word_hash), read_only(window.word_count), window.unit)


@njit(nogil=True, cache=True)
def hash_of_slot(
    id_start: npt.NDArray[np.int64], id_length: npt.NDArray[np.uint16], id_data: npt.NDArray[np.uint64], slot: Integer
) -> np.uint64:
    """The hash of a message's id."""
    start = 8 * id_start[slot]
    return hash_bytes(id_data.view(np.uint8), start, start + np.int64(id_length[slot]))


@njit(nogil=True, cache=True)
def entry_of(hash_: np.uint64, slot: Integer) -> np.uint64:
    """What stands in the index of ids for a slot whose id has this hash."""
    return hash_ & _UPPER | np.uint64(slot)


@njit(nogil=True, cache=True)
def home_of(entry: np.uint64, mask: Integer) -> Integer:
    """Where in the index of ids, whose length is a mask plus one, an entry belongs."""
    return np.int64(entry >> _32) & mask


@njit(nogil=True, cache=True)
def enter(slot_of: npt.NDArray[np.uint64], entry: np.uint64) -> None:
    """Put an entry into the index of ids."""
    mask = len(slot_of) - 1
    place = home_of(entry, mask)
    while slot_of[place] != _EMPTY:
        place = (place + 1) & mask
    slot_of[place] = entry


@njit(nogil=True, cache=True)
def leave(slot_of: npt.NDArray[np.uint64], entry: np.uint64) -> None:
    """Take an entry out of the index of ids; what stands behind it moves up."""
    mask = len(slot_of) - 1
    hole = home_of(entry, mask)
    while slot_of[hole] != entry:
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        other = slot_of[place]
        if other == _EMPTY:
            break
        if ((place - home_of(other, mask)) & mask) >= ((place - hole) & mask):
            slot_of[hole] = other
            hole = place
    slot_of[hole] = _EMPTY


@njit(nogil=True, cache=True)
def find_live(
    slot_of: npt.NDArray[np.uint64],
    id_start: npt.NDArray[np.int64],
    id_length: npt.NDArray[np.uint16],
    id_bytes: npt.NDArray[np.uint8],
    data: npt.NDArray[np.uint8],
    hash_: np.uint64,
    start: Integer,
    stop: Integer,
) -> np.int64:
    """The slot of the live message with this id, which has this hash, or 0. `id_bytes` is `id_data` as bytes."""
    mask, wanted = len(slot_of) - 1, hash_ & _UPPER
    place = home_of(wanted, mask)
    while slot_of[place] != _EMPTY:
        slot = np.int64(slot_of[place] & _LOWER)
        if slot_of[place] & _UPPER == wanted and np.int64(id_length[slot]) == stop - start:
            same = True
            for i in range(stop - start):
                if id_bytes[8 * id_start[slot] + i] != data[start + i]:
                    same = False
                    break
            if same:
                return slot
        place = (place + 1) & mask
    return np.int64(0)


@njit(nogil=True, cache=True)
def reindex(window: MessageTable, slot_of: npt.NDArray[np.uint64]) -> None:
    """Fill an empty index of ids."""
    status, id_start, id_length, id_data = window.status, window.id_start, window.id_length, window.id_data
    for slot in range(1, window.state[USED] + 1):
        if status[slot] == ALIVE:
            enter(slot_of, entry_of(hash_of_slot(id_start, id_length, id_data, slot), slot))
