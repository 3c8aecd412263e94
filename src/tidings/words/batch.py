"""Many texts at once: each becomes its bag of words, as the analyser gives them, at the speed of compiled code.

Rows that are not ASCII (or all rows, when the configuration stems) go through `Analyser.words`. Then every row's words
are written down in order, ASCII rows by the same word boundaries as `segmentation` has for ASCII. Then they are sorted
and counted. All of it is arenas, so Arrow columns come in and go out without a Python object per row.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.dtypes import Integer
from tidings.words.analyser import Analyser
from tidings.words.arenas import Arena, read_only
from tidings.words.counting import distinct_words
from tidings.words.hash_kernels import hash_bytes, hash_strings
from tidings.words.vocabulary import Vocabulary, find_word

if TYPE_CHECKING:
    import pyarrow as pa


class BagOfWords(NamedTuple):
    """The bags of n texts with m entries together; each bag in ascending code-point order of its words."""

    start: npt.NDArray[np.int64]
    """n + 1: the bag of text i is the entries from start[i] to start[i + 1]."""
    hash: npt.NDArray[np.uint64]
    """m: the hash of the word."""
    occurrences: npt.NDArray[np.uint32]
    """m: how often it occurs in the text; 1 in words taken as they are."""
    offset: npt.NDArray[np.int64]
    """m + 1: the word of entry j is data[offset[j]:offset[j + 1]]."""
    data: npt.NDArray[np.uint8]
    """The words in UTF-8."""

    def words(self) -> list[list[tuple[str, int]]]:
        """The bags as Python objects; for the edges, not for hot paths."""
        strings, start, count = Arena(self.offset, self.data).strings(), self.start.tolist(), self.occurrences.tolist()
        entries = list(zip(strings, count, strict=True))
        return [entries[a:b] for a, b in pairwise(start)]


@njit(nogil=True, cache=True)
def _mark_ascii(offset: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], ascii_: npt.NDArray[np.bool_]) -> None:
    """Which rows are ASCII."""
    for row in range(len(ascii_)):
        every = np.uint8(0)
        for i in range(offset[row], offset[row + 1]):
            every |= data[i]
        ascii_[row] = every < 128


@njit(nogil=True, cache=True)
def _is_stop_word(
    slot_hash: npt.NDArray[np.uint64],
    slot_id: npt.NDArray[np.uint32],
    stop_offset: npt.NDArray[np.int64],
    stop_length: npt.NDArray[np.int32],
    stop_data: npt.NDArray[np.uint8],
    data: npt.NDArray[np.uint8],
    start: Integer,
    end: Integer,
) -> bool:
    word = find_word(slot_hash, slot_id, hash_bytes(data, start, end))
    if word == 0 or stop_length[word] != end - start:
        return False
    for i in range(end - start):  # noqa: SIM110
        if stop_data[stop_offset[word] + i] != data[start + i]:
            return False
    return True


# The classes of ASCII characters under the word rules. A character between two letters joins them when it has the bit
# of a letter shifted by three, between two digits likewise: `:` is MidLetter, `,` and `;` MidNum, `.` and `'` are both.
_LETTER, _DIGIT, _UNDERSCORE, _BETWEEN_LETTERS, _BETWEEN_DIGITS = 1, 2, 4, 8, 16


def _classes() -> npt.NDArray[np.uint8]:
    classes = np.zeros(128, np.uint8)
    for characters, bits in (
        ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _LETTER),
        ("0123456789", _DIGIT),
        ("_", _UNDERSCORE),
        (":", _BETWEEN_LETTERS),
        (",;", _BETWEEN_DIGITS),
        (".'", _BETWEEN_LETTERS | _BETWEEN_DIGITS),
    ):
        classes[[ord(character) for character in characters]] = bits
    return classes


_CLASSES = _classes()


@njit(nogil=True, cache=True)
def _ascii_words(
    data: npt.NDArray[np.uint8],
    start: Integer,
    end: Integer,
    n_stop_words: int,
    stop: tuple[npt.NDArray[Any], ...],
    out: npt.NDArray[np.uint8],
    out_offset: npt.NDArray[np.int64],
    n: Integer,
    at: Integer,
) -> tuple[Integer, Integer]:
    """Write down the words of one ASCII text from word n and byte `at` on; both afterwards."""
    i = start
    while i < end:
        first = at
        spoken = False
        before = 0
        while i < end:
            byte = data[i]
            kind: Integer = _CLASSES[byte]
            if kind & (_LETTER | _DIGIT | _UNDERSCORE):
                spoken |= kind != _UNDERSCORE
                before = kind
            elif i + 1 < end and kind & (before << 3) & (_CLASSES[data[i + 1]] << 3):
                before = 0
            else:
                break
            out[at] = byte + 32 if 65 <= byte <= 90 else byte
            at += 1
            i += 1
        i += 1
        if at > first:
            if spoken and not (
                n_stop_words > 0 and _is_stop_word(stop[0], stop[1], stop[2], stop[3], stop[4], out, first, at)
            ):
                n += 1
                out_offset[n] = at
            else:
                at = first
    return n, at


@njit(nogil=True, cache=True)
def _write_words(
    offset: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8],
    ascii_: npt.NDArray[np.bool_],
    other: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]],
    n_stop_words: int,
    stop: tuple[npt.NDArray[Any], ...],
    row_start: npt.NDArray[np.int64],
    out_offset: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> None:
    """Every row's words in order; those of rows that are not ASCII are in `other`, row after row."""
    other_start, other_offset, other_data = other
    n = 0
    at = 0
    other_row = 0
    for row in range(len(ascii_)):
        if ascii_[row]:
            n, at = _ascii_words(data, offset[row], offset[row + 1], n_stop_words, stop, out, out_offset, n, at)
        else:
            for word in range(other_start[other_row], other_start[other_row + 1]):
                for i in range(other_offset[word], other_offset[word + 1]):
                    out[at] = other_data[i]
                    at += 1
                n += 1
                out_offset[n] = at
            other_row += 1
        row_start[row + 1] = n


def _rows(lists: Sequence[Sequence[str]]) -> tuple[npt.NDArray[np.int64], Arena]:
    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lists), np.int64, len(lists)), out=start[1:])
    return start, Arena.of(word for words in lists for word in words)


def _bags(row_start: npt.NDArray[np.int64], words: Arena, once: bool) -> BagOfWords:
    start, occurrences, distinct = distinct_words(row_start, words, once)
    return BagOfWords(start, hash_strings(*distinct), occurrences, *distinct)


@lru_cache(16)
def _stop_table(words: frozenset[str]) -> tuple[npt.NDArray[Any], ...]:
    arena = Arena.of(sorted(words))
    vocabulary = Vocabulary()
    vocabulary.acquire(hash_strings(arena.offset, arena.data), arena.offset, arena.data)
    v = vocabulary.arrays()
    return v.slot_hash, v.slot_id, v.offset, v.length, v.data


def analyse_batch(analyser: Analyser, texts: Arena) -> BagOfWords:
    """The bag of words of each text."""
    offset, data = read_only(texts.offset), read_only(texts.data)
    ascii_ = np.zeros(len(offset) - 1, np.bool_)
    if not analyser.stems:
        _mark_ascii(offset, data, ascii_)
    others = [analyser.words(data[offset[row] : offset[row + 1]].tobytes().decode()) for row in np.flatnonzero(~ascii_)]
    other_start, other = _rows(others)
    # Words are at least one byte apart, and folding ASCII keeps its length; untouched memory costs nothing.
    n_bytes = int(offset[-1] - offset[0])
    row_start = np.zeros(len(offset), np.int64)
    out_offset = np.zeros((n_bytes + len(ascii_)) // 2 + len(other.offset), np.int64)
    out = np.empty(n_bytes + len(other.data), np.uint8)
    _write_words(
        offset,
        data,
        ascii_,
        (other_start, read_only(other.offset), read_only(other.data)),
        len(analyser.stop_words),
        _stop_table(analyser.stop_words),
        row_start,
        out_offset,
        out,
    )
    n = int(row_start[-1])
    return _bags(row_start, Arena(out_offset[: n + 1], out[: out_offset[n]]), once=False)


def bags_of_lists(lists: Sequence[Sequence[str]]) -> BagOfWords:
    """The bags of lists of words taken as they are: nothing is folded or split, each word counts once."""
    return _bags(*_rows(lists), once=True)


def bags_of_arrow_lists(lists: "pa.Array") -> BagOfWords:
    """The same of an Arrow array of lists of strings; a list that is null is empty, a string may not be."""
    import pyarrow.compute as pc

    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False), out=start[1:])
    return _bags(start, Arena.of_arrow(lists.flatten()), once=True)
