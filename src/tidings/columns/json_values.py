"""Values of JSON read from bytes, compiled. The JSON is taken on trust: what is wrong is not looked for.

Each reader begins at a value and says where the scan goes on, which is `FAILED` when it gives up. It may give up on
anything, but never reads beyond the end it was given.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tidings.columns.floats import MAX_DIGITS, MAX_EXPONENT, nearest_float
from tidings.dtypes import Integer

Bytes = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]

FAILED: Final = -1
"""Where a scan goes on when it cannot."""

QUOTE, COMMA, COLON, OPEN, CLOSE = (ord(c) for c in '",:{}')
_BACKSLASH, _MINUS, _PLUS, _DOT, _OPEN_LIST, _CLOSE_LIST, _ZERO, _NINE = (ord(c) for c in "\\-+.[]09")
_SMALL_E, _LARGE_E, _U, _SPACE = (ord(c) for c in "eEu ")
_ESCAPES: Final = np.zeros(256, np.uint8)
for _letter, _meant in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True):
    _ESCAPES[ord(_letter)] = ord(_meant)


@njit(nogil=True, cache=True)
def after_space(data: Bytes, i: Integer, end: Integer) -> Integer:
    """Where white space ends. Bytes up to the space that are none cannot stand between values."""
    while i < end and data[i] <= _SPACE:
        i += 1
    return i


@njit(nogil=True, cache=True)
def packed(data: Bytes, start: Integer, end: Integer) -> np.uint64:
    """Up to eight bytes as a number."""
    number = np.uint64(0)
    for i in range(min(end - start, 8)):
        number |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return number


@njit(nogil=True, cache=True)
def _hexadecimal(data: Bytes, i: Integer, end: Integer) -> Integer:
    """The number of four hexadecimal digits, or `FAILED`."""
    if i + 4 > end:
        return FAILED
    number: Integer = 0
    for j in range(i, i + 4):
        byte = np.int64(data[j])
        if _ZERO <= byte <= _NINE:
            number = 16 * number + byte - _ZERO
        elif 97 <= byte | 32 <= 102:
            number = 16 * number + (byte | 32) - 87
        else:
            return FAILED
    return number


@njit(nogil=True, cache=True)
def _escaped(data: Bytes, i: Integer, end: Integer, out: Bytes, at: Integer) -> tuple[Integer, Integer]:
    """Write down what stands behind a backslash at i; where the scan and the writing go on."""
    if i >= end:
        return FAILED, at
    if data[i] != _U:
        out[at] = _ESCAPES[data[i]]
        return (i + 1 if out[at] != 0 else FAILED), at + 1
    code = _hexadecimal(data, i + 1, end)
    i += 5
    if 0xD800 <= code < 0xE000:
        low = FAILED
        if code < 0xDC00 and i + 1 < end and data[i] == _BACKSLASH and data[i + 1] == _U:
            low = _hexadecimal(data, i + 2, end)
        if not 0xDC00 <= low < 0xE000:
            return FAILED, at
        code = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
        i += 6
    if code < 0:
        return FAILED, at
    if code < 0x80:
        out[at] = code
        return i, at + 1
    # UTF-8 is never longer than the escape.
    n = 1 if code < 0x800 else 2 if code < 0x10000 else 3
    out[at] = ((0xFF00 >> (n + 1)) & 0xFF) | (code >> 6 * n)
    for j in range(n):
        out[at + 1 + j] = 0x80 | ((code >> 6 * (n - 1 - j)) & 0x3F)
    return i, at + 1 + n


@njit(nogil=True, cache=True)
def write_string(data: Bytes, i: Integer, end: Integer, out: Bytes, at: Integer) -> tuple[Integer, Integer]:
    """Write down the string that opens at i; where the scan goes on, and where the writing ended."""
    if data[i] != QUOTE:
        return FAILED, at
    i += 1
    while i < end:
        byte = data[i]
        if byte == QUOTE:
            return i + 1, at
        if byte == _BACKSLASH:
            i, at = _escaped(data, i + 1, end, out, at)
            if i == FAILED:
                return FAILED, at
        else:
            out[at] = byte
            at += 1
            i += 1
    return FAILED, at


@njit(nogil=True, cache=True)
def _number(data: Bytes, i: Integer, end: Integer) -> tuple[Integer, float]:
    """The number that begins at i, and where the scan goes on."""
    negative = i < end and data[i] == _MINUS
    i += negative
    digits, n_digits, exponent = np.uint64(0), 0, 0
    first, fraction = i, FAILED
    while i < end:
        byte = data[i]
        if _ZERO <= byte <= _NINE:
            digits = digits * np.uint64(10) + np.uint64(byte - _ZERO)
            n_digits += digits != np.uint64(0)
        elif byte == _DOT and fraction == FAILED:
            fraction = i + 1
        else:
            break
        i += 1
    if i == first or n_digits > MAX_DIGITS or (negative and digits == np.uint64(0)):
        return FAILED, 0.0
    if fraction != FAILED:
        exponent = fraction - i
    if i < end and (data[i] == _SMALL_E or data[i] == _LARGE_E):
        i += 1
        down = i < end and data[i] == _MINUS
        i += i < end and (data[i] == _MINUS or data[i] == _PLUS)
        first = i
        given: Integer = 0
        while i < end and _ZERO <= data[i] <= _NINE and given <= MAX_EXPONENT:
            given = 10 * given + np.int64(data[i]) - _ZERO
            i += 1
        if i == first:
            return FAILED, 0.0
        exponent += -given if down else given
    if not -MAX_EXPONENT <= exponent <= MAX_EXPONENT:
        return FAILED, 0.0
    number = nearest_float(digits, exponent)
    return i, -number if negative else number


@njit(nogil=True, cache=True)
def read_integer(data: Bytes, i: Integer, end: Integer) -> tuple[Integer, Integer]:
    """The integer that begins at i, and where the scan goes on."""
    negative = data[i] == _MINUS
    i += negative
    first, number = i, np.int64(0)
    while i < end and _ZERO <= data[i] <= _NINE and i - first < 18:
        number = 10 * number + np.int64(data[i]) - _ZERO
        i += 1
    if i == first or i >= end or data[i] == _DOT or data[i] == _SMALL_E or data[i] == _LARGE_E:
        return FAILED, number
    return i, -number if negative else number


@njit(nogil=True, cache=True)
def write_numbers(
    data: Bytes, i: Integer, end: Integer, n: int, place: npt.NDArray[np.float64], first: Integer
) -> Integer:
    """Write down the list of n numbers that opens at i; where the scan goes on."""
    if data[i] != _OPEN_LIST:
        return FAILED
    for j in range(n):
        i, number = _number(data, after_space(data, i + 1, end), end)
        if i == FAILED:
            return FAILED
        place[first + j] = number
        i = after_space(data, i, end)
        if i >= end or data[i] != (COMMA if j + 1 < n else _CLOSE_LIST):
            return FAILED
    return i + 1


@njit(nogil=True, cache=True)
def write_strings(
    data: Bytes, i: Integer, end: Integer, offset: Int64s, out: Bytes, n: Integer
) -> tuple[Integer, Integer]:
    """Write down the list of strings that opens at i, from string n on; where the scan goes on, and their number."""
    if data[i] != _OPEN_LIST:
        return FAILED, n
    i = after_space(data, i + 1, end)
    if i < end and data[i] == _CLOSE_LIST:
        return i + 1, n
    while i < end:
        i, at = write_string(data, i, end, out, offset[n])
        if i == FAILED:
            return FAILED, n
        n += 1
        offset[n] = at
        i = after_space(data, i, end)
        if i < end and data[i] == _CLOSE_LIST:
            return i + 1, n
        if i >= end or data[i] != COMMA:
            return FAILED, n
        i = after_space(data, i + 1, end)
    return FAILED, n


@njit(nogil=True, cache=True)
def after_object(data: Bytes, i: Integer, end: Integer) -> Integer:
    """Where the object that opens at i has closed."""
    depth = 0
    while i < end:
        byte = data[i]
        i += 1
        if byte == OPEN:
            depth += 1
        elif byte == CLOSE:
            depth -= 1
            if depth == 0:
                return i
        elif byte == QUOTE:
            while i < end and data[i] != QUOTE:
                i += 1 + (data[i] == _BACKSLASH)
            i += 1
        if depth == 0:
            break
    return FAILED


@njit(nogil=True, cache=True)
def is_ascii(data: Bytes, start: Integer, end: Integer) -> bool:
    """Whether these bytes are all ASCII."""
    every = np.uint8(0)
    for i in range(start, end):
        every |= data[i]
    return bool(every < 128)
