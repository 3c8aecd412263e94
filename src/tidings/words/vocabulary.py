"""The dictionary of the words that subscriptions use: 64-bit hash to dense id, counted, so that a word leaves again.

An open-addressing table with linear probing maps a word's hash to its id; deletion shifts the entries behind the hole
back, so there are no tombstones and a probe stays short for ever. Ids are dense and the one freed last is given out
first. The strings are kept, so that two words with one hash are found when the second is acquired; the words of
messages are looked up by hash alone.

Invariants: id 0 is "any word", is in no slot and never given out; the table is at most half full; an id is in use
exactly when its reference count is positive; the arena of strings is at most four times what the words in use have
needed at their most.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.dtypes import Integer
from tidings.model.errors import InputError, LimitError, Problem, shortened
from tidings.model.limits import MAX_VOCABULARY
from tidings.words.arenas import read_only

ANY_WORD: Final = 0
"""The id that stands for "any word"."""

_N_WORDS, _N_IDS, _N_FREE, _DATA_END = 0, 1, 2, 3
_DONE, _TABLE_FULL, _IDS_FULL, _DATA_FULL, _COLLISION, _LIMIT = 0, 1, 2, 3, 4, 5


class VocabularyArrays(NamedTuple):
    """The whole state; a saved vocabulary is these arrays."""

    slot_hash: npt.NDArray[np.uint64]
    """The table, its length a power of two: the hash in each slot, 0 where it is empty."""
    slot_id: npt.NDArray[np.uint32]
    """The id in each slot."""
    hash: npt.NDArray[np.uint64]
    """Per id: its word's hash."""
    offset: npt.NDArray[np.int64]
    """Per id: where its word begins in `data`."""
    length: npt.NDArray[np.int32]
    """Per id: the bytes of its word."""
    references: npt.NDArray[np.int64]
    """Per id: how often it is in use; 0 for a free one."""
    free: npt.NDArray[np.uint32]
    """The stack of ids given back."""
    data: npt.NDArray[np.uint8]
    """UTF-8 bytes of the words, with gaps where words have left."""
    counts: npt.NDArray[np.int64]
    """Words in use, ids ever given out (with 0), ids on the stack, end of the used part of `data`."""


def _empty() -> VocabularyArrays:
    slots, ids, size = 64, 32, 512
    return VocabularyArrays(
        np.zeros(slots, np.uint64),
        np.zeros(slots, np.uint32),
        np.zeros(ids, np.uint64),
        np.zeros(ids, np.int64),
        np.zeros(ids, np.int32),
        np.zeros(ids, np.int64),
        np.zeros(ids, np.uint32),
        np.zeros(size, np.uint8),
        np.array([0, 1, 0, 0], np.int64),
    )


@njit(nogil=True, cache=True)
def _slot_of(slot_hash: npt.NDArray[np.uint64], hash_: np.uint64) -> np.int64:
    """The slot that holds this hash, or the empty one where it would go."""
    mask = len(slot_hash) - 1
    slot = np.int64(hash_ & np.uint64(mask))
    while slot_hash[slot] != hash_ and slot_hash[slot] != np.uint64(0):
        slot = (slot + 1) & mask
    return slot


@njit(nogil=True, cache=True)
def find_word(slot_hash: npt.NDArray[np.uint64], slot_id: npt.NDArray[np.uint32], hash_: np.uint64) -> Integer:
    """The id of the word with this hash, 0 when no subscription uses it; for other kernels to call."""
    return slot_id[_slot_of(slot_hash, hash_)]


@njit(nogil=True, cache=True)
def _find(
    slot_hash: npt.NDArray[np.uint64],
    slot_id: npt.NDArray[np.uint32],
    hashes: npt.NDArray[np.uint64],
    ids: npt.NDArray[np.uint32],
) -> None:
    for i in range(len(hashes)):
        ids[i] = find_word(slot_hash, slot_id, hashes[i])


@njit(nogil=True, cache=True)
def _same_bytes(
    a: npt.NDArray[np.uint8], start_a: Integer, b: npt.NDArray[np.uint8], start_b: Integer, length: Integer
) -> bool:
    for i in range(length):  # noqa: SIM110
        if a[start_a + i] != b[start_b + i]:
            return False
    return True


@njit(nogil=True, cache=True)
def _acquire(
    v: VocabularyArrays,
    limit: int,
    first: int,
    hashes: npt.NDArray[np.uint64],
    offset: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    ids: npt.NDArray[np.uint32],
) -> tuple[int, int]:
    """Acquire words from number `first` on; the number where it stopped, and why."""
    for i in range(first, len(hashes)):
        slot = _slot_of(v.slot_hash, hashes[i])
        start = offset[i]
        length = offset[i + 1] - start
        if v.slot_hash[slot] != np.uint64(0):
            word = v.slot_id[slot]
            if v.length[word] != length or not _same_bytes(v.data, v.offset[word], data, start, length):
                ids[i] = word
                return i, _COLLISION
        else:
            if v.counts[_N_WORDS] >= limit:
                return i, _LIMIT
            if 2 * (v.counts[_N_WORDS] + 1) > len(v.slot_hash):
                return i, _TABLE_FULL
            if v.counts[_N_FREE] == 0 and v.counts[_N_IDS] == len(v.hash):
                return i, _IDS_FULL
            end = v.counts[_DATA_END]
            if end + length > len(v.data):
                return i, _DATA_FULL
            if v.counts[_N_FREE] > 0:
                v.counts[_N_FREE] -= 1
                word = v.free[v.counts[_N_FREE]]
            else:
                word = np.uint32(v.counts[_N_IDS])
                v.counts[_N_IDS] += 1
            v.slot_hash[slot] = hashes[i]
            v.slot_id[slot] = word
            v.hash[word] = hashes[i]
            v.offset[word] = end
            v.length[word] = length
            for j in range(length):
                v.data[end + j] = data[start + j]
            v.counts[_DATA_END] = end + length
            v.counts[_N_WORDS] += 1
        v.references[word] += 1
        ids[i] = word
    return len(hashes), _DONE


@njit(nogil=True, cache=True)
def _release(v: VocabularyArrays, ids: npt.NDArray[np.uint32]) -> None:
    """Give words back, the last first, so that a release undoes an acquire down to the order of the free ids."""
    mask = len(v.slot_hash) - 1
    for i in range(len(ids) - 1, -1, -1):
        word = ids[i]
        if word == ANY_WORD:
            continue
        v.references[word] -= 1
        if v.references[word] > 0:
            continue
        hole = _slot_of(v.slot_hash, v.hash[word])
        slot = (hole + 1) & mask
        while v.slot_hash[slot] != np.uint64(0):
            home = np.int64(v.slot_hash[slot] & np.uint64(mask))
            if (slot - home) & mask >= (slot - hole) & mask:
                v.slot_hash[hole] = v.slot_hash[slot]
                v.slot_id[hole] = v.slot_id[slot]
                hole = slot
            slot = (slot + 1) & mask
        v.slot_hash[hole] = np.uint64(0)
        v.slot_id[hole] = np.uint32(0)
        v.free[v.counts[_N_FREE]] = word
        v.counts[_N_FREE] += 1
        v.counts[_N_WORDS] -= 1
        if v.offset[word] + v.length[word] == v.counts[_DATA_END]:
            v.counts[_DATA_END] = v.offset[word]


@njit(nogil=True, cache=True)
def _releasable(references: npt.NDArray[np.int64], ids: npt.NDArray[np.uint32]) -> bool:
    """Whether each id is in use at least as often as it occurs here."""
    checked = 0
    while checked < len(ids) and ids[checked] < len(references):
        references[ids[checked]] -= 1
        checked += 1
        if ids[checked - 1] != ANY_WORD and references[ids[checked - 1]] < 0:
            checked = -checked
            break
    good = checked == len(ids)
    for i in range(abs(checked)):
        references[ids[i]] += 1
    return good


@njit(nogil=True, cache=True)
def _rehashed(v: VocabularyArrays, slot_hash: npt.NDArray[np.uint64], slot_id: npt.NDArray[np.uint32]) -> None:
    """Enter all words into an empty table."""
    for word in range(1, v.counts[_N_IDS]):
        if v.references[word] > 0:
            slot = _slot_of(slot_hash, v.hash[word])
            slot_hash[slot] = v.hash[word]
            slot_id[slot] = word


@njit(nogil=True, cache=True)
def _copied_words(v: VocabularyArrays, data: npt.NDArray[np.uint8]) -> Integer:
    """Copy the words in use without gaps; the end of the copy."""
    end = 0
    for word in range(1, v.counts[_N_IDS]):
        if v.references[word] > 0:
            start = v.offset[word]
            v.offset[word] = end
            for i in range(v.length[word]):
                data[end + i] = v.data[start + i]
            end += v.length[word]
    return end


class Vocabulary:
    """The words in use, by hash and by dense id."""

    def __init__(self, limit: int = MAX_VOCABULARY) -> None:
        self._arrays = _empty()
        self._limit: Final = limit

    @classmethod
    def from_arrays(cls, arrays: VocabularyArrays, limit: int = MAX_VOCABULARY) -> "Vocabulary":
        """The vocabulary of saved arrays; arrays that cannot be written (a mapped file) are copied."""
        vocabulary = cls(limit)
        vocabulary._arrays = VocabularyArrays._make(np.require(array, requirements=["C", "W"]) for array in arrays)
        return vocabulary

    def arrays(self) -> VocabularyArrays:
        """The state itself, not a copy; valid until the next `acquire`."""
        return self._arrays

    def __len__(self) -> int:
        """How many words are in use."""
        return int(self._arrays.counts[_N_WORDS])

    def acquire(
        self, hashes: npt.NDArray[np.uint64], offset: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint32]:
        """The ids of these words (hash i is of `data[offset[i]:offset[i + 1]]`), each in use once more.

        All or nothing: after an error (two words with one hash, or too many words) nothing has changed.
        """
        if not hashes.all():
            raise ValueError("the hash 0 stands for no word")
        hashes, offset, data = read_only(hashes), read_only(offset), read_only(data)
        ids = np.zeros(len(hashes), np.uint32)
        done, reason = 0, -1
        while reason != _DONE:
            done, reason = _acquire(self._arrays, self._limit, done, hashes, offset, data, ids)
            if reason in (_COLLISION, _LIMIT):
                error = self._error(reason, int(ids[done]), data[offset[done] : offset[done + 1]].tobytes().decode())
                _release(self._arrays, read_only(ids[:done]))
                raise error
            if reason != _DONE:
                self._grow(reason, int(offset[done + 1] - offset[done]))
        return ids

    def release(self, ids: npt.NDArray[np.uint32]) -> None:
        """Each of these ids is in use once less; those no longer in use are free. 0 ("any word") is passed over."""
        ids = read_only(ids)
        if not _releasable(self._arrays.references, ids):
            raise ValueError("a word is released more often than it was acquired")
        _release(self._arrays, ids)

    def find(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """The ids of the words with these hashes, 0 for those that are not in use."""
        ids = np.empty(len(hashes), np.uint32)
        _find(self._arrays.slot_hash, self._arrays.slot_id, read_only(hashes), ids)
        return ids

    def word(self, word_id: int) -> str:
        """The word of an id in use."""
        v = self._arrays
        if not 0 < word_id < len(v.references) or not v.references[word_id]:
            raise KeyError(word_id)
        start = v.offset[word_id]
        return v.data[start : start + v.length[word_id]].tobytes().decode()

    def _error(self, reason: int, holder: int, word: str) -> InputError | LimitError:
        if reason == _LIMIT:
            return LimitError(Problem("limit-reached", "words", shortened(word), f"at most {self._limit} words in use"))
        found = f"{shortened(word)!r}, which has the hash of {shortened(self.word(holder))!r}"
        return InputError(Problem("word-collision", "words", found, hint="use another form of one of the two words"))

    def _grow(self, reason: int, needed: int) -> None:
        """Make room where it ran out: twice as much, except that the strings are first closed up."""
        v = self._arrays
        if reason == _TABLE_FULL:
            slots = 2 * len(v.slot_hash)
            v = v._replace(slot_hash=np.zeros(slots, np.uint64), slot_id=np.zeros(slots, np.uint32))
            _rehashed(v, v.slot_hash, v.slot_id)
        elif reason == _IDS_FULL:
            v = v._replace(
                **{
                    name: np.concatenate((getattr(v, name), np.zeros_like(getattr(v, name))))
                    for name in ("hash", "offset", "length", "references", "free")
                }
            )
        else:
            used = int(v.length[v.references > 0].sum()) + needed
            size = len(v.data)
            while size < 2 * used:
                size *= 2
            data = np.zeros(size, np.uint8)
            v.counts[_DATA_END] = _copied_words(v, data)
            v = v._replace(data=data)
        self._arrays = v
