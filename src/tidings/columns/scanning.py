"""Plain messages from their JSON straight into columns, without a Python object on the way.

A line is plain when it is a valid `publish` written as programs write it: no escapes in keys, an ASCII id, numbers of
up to 19 digits. The order of the fields, white space, nulls, escapes in strings and any attributes do not matter. It is
scanned on trust: somebody has found the line valid before. What is not plain is marked and left to somebody else, so
the scanner may give up on anything; what it takes, it takes exactly.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.block import NEVER, NO_TIME
from tidings.columns.json_values import (
    CLOSE,
    COLON,
    COMMA,
    FAILED,
    OPEN,
    QUOTE,
    Bytes,
    Int64s,
    after_object,
    after_space,
    is_ascii,
    packed,
    read_integer,
    write_numbers,
    write_string,
    write_strings,
)
from tidings.dtypes import Integer
from tidings.words.arenas import Arena, read_only


class PlainMessages(NamedTuple):
    """The plain messages among some lines."""

    plain: npt.NDArray[np.bool_]
    """Per line: whether it is one."""
    time: Int64s
    """Per message, as all that follows."""
    id: Arena
    place: npt.NDArray[np.float64]
    expires: Int64s
    is_text: npt.NDArray[np.bool_]
    """Whether the message has a text or a list of words."""
    text: Arena
    """Of those with a text."""
    list_start: Int64s
    """Of those with a list: n + 1 offsets into `word`."""
    word: Arena


_OP, _ID, _AT, _BOX, _TEXT, _WORDS, _TIME, _EXPIRES, _ATTRIBUTES = (1 << n for n in range(9))
_PLACE, _SAID = _AT | _BOX, _TEXT | _WORDS
_NEITHER = 0


def _packed(key: str) -> np.uint64:
    return np.uint64(int.from_bytes(key.encode()[:8], "little"))


_K_OP, _K_ID, _K_AT, _K_BOX, _K_TEXT, _K_WORDS, _K_TS, _K_EXPIRES, _K_ATTRIBUTES, _K_PUBLISH, _K_NULL = (
    _packed(key) for key in ("op", "id", "at", "box", "text", "words", "ts", "expires", "attributes", "publish", "null")
)
_ATTRIBUTES_LENGTH: Final = len("attributes")


@njit(nogil=True, cache=True)
def _field(data: Bytes, start: Integer, end: Integer) -> Integer:
    """Which field of a message has this name."""
    key = packed(data, start, end)
    if end - start == _ATTRIBUTES_LENGTH:
        ending = data[end - 2] == ord("e") and data[end - 1] == ord("s")
        return _ATTRIBUTES if key == _K_ATTRIBUTES and ending else _NEITHER
    if end - start > 7:
        return _NEITHER
    if key == _K_OP:
        return _OP
    if key == _K_ID:
        return _ID
    if key == _K_AT:
        return _AT
    if key == _K_TEXT:
        return _TEXT
    if key == _K_TS:
        return _TIME
    if key == _K_BOX:
        return _BOX
    if key == _K_WORDS:
        return _WORDS
    return _EXPIRES if key == _K_EXPIRES else _NEITHER


@njit(nogil=True, cache=True)
def _scan(
    data: Bytes,
    line_start: Int64s,
    line_end: Int64s,
    plain: npt.NDArray[np.bool_],
    time: Int64s,
    id_offset: Int64s,
    id_data: Bytes,
    place: npt.NDArray[np.float64],
    expires: Int64s,
    is_text: npt.NDArray[np.bool_],
    text_offset: Int64s,
    text_data: Bytes,
    list_start: Int64s,
    word_offset: Int64s,
    word_data: Bytes,
) -> tuple[int, int, int]:
    """Scan lines. What a line has written before it turns out not to be plain is written over by the next."""
    n, n_texts, n_lists = 0, 0, 0
    for line in range(len(plain)):
        end = line_end[line]
        i = after_space(data, line_start[line], end)
        seen, given = 0, 0
        n_words, text_end, id_end = list_start[n_lists], text_offset[n_texts], id_offset[n]
        time[n], expires[n] = NO_TIME, NEVER
        closed = False
        while not closed and i < end and data[i] == (OPEN if seen == 0 else COMMA):
            i = after_space(data, i + 1, end)
            if i >= end or data[i] != QUOTE:
                break
            first = i + 1
            i = first
            while i < end and data[i] != QUOTE:
                i += 1
            field = _field(data, first, i)
            i = after_space(data, i + 1, end)
            if field == _NEITHER or seen & field != 0 or i >= end or data[i] != COLON:
                break
            seen |= field
            i = after_space(data, i + 1, end)
            if i >= end:
                break
            if packed(data, i, min(i + 4, end)) == _K_NULL:
                i += 4
            else:
                given |= field
                if field == _OP:
                    is_publish = i + 9 < end and data[i + 8] == QUOTE and packed(data, i + 1, i + 8) == _K_PUBLISH
                    i = i + 9 if is_publish else FAILED
                elif field == _ID:
                    i, id_end = write_string(data, i, end, id_data, id_offset[n])
                    if not is_ascii(id_data, id_offset[n], id_end):
                        break
                elif field == _AT:
                    i = write_numbers(data, i, end, 2, place, 4 * n)
                    place[4 * n + 2], place[4 * n + 3] = place[4 * n], place[4 * n + 1]
                elif field == _TEXT:
                    i, text_end = write_string(data, i, end, text_data, text_offset[n_texts])
                elif field == _TIME:
                    i, time[n] = read_integer(data, i, end)
                elif field == _BOX:
                    i = write_numbers(data, i, end, 4, place, 4 * n)
                elif field == _WORDS:
                    i, n_words = write_strings(data, i, end, word_offset, word_data, n_words)
                elif field == _EXPIRES:
                    i, expires[n] = read_integer(data, i, end)
                else:
                    i = after_object(data, i, end)
                if i == FAILED:
                    break
            i = after_space(data, i, end)
            if i < end and data[i] == CLOSE:
                closed = after_space(data, i + 1, end) == end
                break
        where, said = given & _PLACE, given & _SAID
        if not closed or given & _OP == 0 or given & _ID == 0 or where == _PLACE or where == 0:
            continue
        if said == _TEXT:
            n_texts += 1
            text_offset[n_texts] = text_end
        elif said == _WORDS:
            n_lists += 1
            list_start[n_lists] = n_words
        else:
            continue
        is_text[n] = said == _TEXT
        plain[line] = True
        n += 1
        id_offset[n] = id_end
    return n, n_texts, n_lists


def scan_messages(data: Bytes, line_start: Int64s, line_end: Int64s) -> PlainMessages:
    """The plain messages among the lines that stand in these spans of `data`."""
    n, size = len(line_start), len(data)
    # Memory that is never touched costs nothing. A word takes three bytes at least, and strings never get longer.
    plain = np.zeros(n, np.bool_)
    time, expires, place = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(4 * n + 4)
    is_text = np.empty(n, np.bool_)
    id_offset, text_offset, list_start = (np.zeros(n + 1, np.int64) for _ in range(3))
    word_offset = np.zeros(size // 3 + 2, np.int64)
    id_data, text_data, word_data = (np.empty(size, np.uint8) for _ in range(3))
    outputs: tuple[npt.NDArray[Any], ...] = (
        plain,
        time,
        id_offset,
        id_data,
        place,
        expires,
        is_text,
        text_offset,
        text_data,
        list_start,
        word_offset,
        word_data,
    )
    found, n_texts, n_lists = _scan(read_only(data), read_only(line_start), read_only(line_end), *outputs)
    n_words = int(list_start[n_lists])
    return PlainMessages(
        plain=plain,
        time=time[:found],
        id=Arena(id_offset[: found + 1], id_data[: id_offset[found]]),
        place=place[: 4 * found].reshape(-1, 4),
        expires=expires[:found],
        is_text=is_text[:found],
        text=Arena(text_offset[: n_texts + 1], text_data[: text_offset[n_texts]]),
        list_start=list_start[: n_lists + 1],
        word=Arena(word_offset[: n_words + 1], word_data[: word_offset[n_words]]),
    )
