"""JSON as the standard has it, and no key twice: what Tidings takes for JSON everywhere.

`msgspec` already refuses NaN, Infinity, numbers out of range, lone surrogates and data after the value. It does not
look for keys that an object names twice, of which it would keep the last. `has_repeated_key` does; it first asks
whether any two keys of the whole line are the same, which is rare and takes about a microsecond to find out, and only
then looks which object they stand in. How deep brackets nest is bounded too.
"""

import json
import re
from itertools import accumulate
from typing import Final

import msgspec

from tidings.model.errors import InputError, Problem, shortened

MAX_NESTING: Final = 128
"""Brackets inside each other. It is a bound of ours so that no interpreter's stack decides what is JSON."""

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_PLAIN_STRINGS: Final = re.compile(rb'"([^"]*+)"')
"""Every string of a JSON text that has no escapes."""
_KEYS: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")[ \t\r\n]*+:|"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
"""Every string of a JSON text; the group is empty unless a colon follows, which makes it a key."""

_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _STEPS)

_decode: Final = msgspec.json.Decoder().decode
_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class _Pairs(list[tuple[str, object]]):
    """An object as `json` met it, with keys that may repeat."""


def json_value(data: bytes, place: str = "$") -> object:
    """The value of a JSON text, or an `InputError` that says why it is none."""
    try:
        data.decode()
        if is_too_deep(data):
            raise InputError(_too_deep(place))
        value = _decode(data)
    except UnicodeDecodeError as error:
        raise InputError(
            Problem("json-encoding", place, f"byte 0x{data[error.start]:02x} at {error.start}", "UTF-8")
        ) from None
    except msgspec.MsgspecError as error:
        raise InputError(_not_json(data, place, str(error))) from None
    if has_repeated_key(data):
        raise InputError(_repeated_keys(data, place))
    return value


def json_members(data: bytes) -> dict[str, msgspec.Raw]:
    """The members of an object that `json_value` has taken, each as it was written."""
    return _decode_members(data)


def has_repeated_key(data: bytes) -> bool:
    """Whether an object in a valid JSON text names a key twice."""
    escapes = b"\\" in data
    if not escapes:
        strings = _PLAIN_STRINGS.findall(data)
        if len(set(strings)) == len(strings):
            return False
    keys = [key for key in _KEYS.findall(data) if key]
    if len(set(keys)) == len(keys) and not (escapes and any(b"\\" in key for key in keys)):
        return False
    return bool(_repeated_keys(data, "$"))


def is_too_deep(data: bytes) -> bool:
    """Whether brackets nest deeper than the bound, in a text that may not be JSON at all."""
    if data.count(b"[") + data.count(b"{") <= MAX_NESTING:
        return False
    brackets = _STRINGS.sub(b"", data).translate(None, _NO_BRACKETS)
    return max(accumulate(_STEPS[bracket] for bracket in brackets), default=0) > MAX_NESTING


def _repeated_keys(data: bytes, place: str) -> list[Problem]:
    problems: list[Problem] = []

    def look(value: object, path: str) -> None:
        if isinstance(value, _Pairs):
            seen = set()
            for key, inner in value:
                if key in seen:
                    hint = "keep one of them"
                    problems.append(Problem("json-duplicate-key", f"{path}.{key}", shortened(key), hint=hint))
                seen.add(key)
                look(inner, f"{path}.{key}")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                look(inner, f"{path}[{index}]")

    look(json.loads(data, object_pairs_hook=_Pairs), place)
    return problems


def _too_deep(place: str) -> Problem:
    expected = f"at most {MAX_NESTING} brackets inside each other"
    return Problem("json-invalid", place, "brackets nested too deep", expected)


def _not_json(data: bytes, place: str, message: str) -> Problem:
    found, hint = shortened(data.decode(errors="replace")), ""
    if data.startswith(BYTE_ORDER_MARK):
        found, hint = "a byte order mark", "save the file as UTF-8 without a byte order mark"
    elif re.search(rb"\b(NaN|Infinity)\b", data):
        hint = "NaN and Infinity are not JSON; leave the field out"
    elif data.lstrip().startswith(b"{'"):
        hint = 'strings and keys stand in double quotes: {"op": …}'
    elif re.fullmatch(rb"[a-z]+", data):
        hint = f'a string of JSON stands in double quotes: "{found}"'
    reason = message.removeprefix("JSON is malformed: ")
    return Problem("json-invalid", place, f"{found} ({reason})", "one JSON value", hint)
