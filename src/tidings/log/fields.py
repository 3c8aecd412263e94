"""Taking the fields of an object one by one, and remembering everything that is wrong with them.

A reader asks for each field in turn and goes on after a problem with a stand-in of None, so that one look at an object
finds all its problems. Nothing is read out of a `Fields` that has problems.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, TypeVar

import msgspec

from tidings.log.strict_json import json_value
from tidings.model.errors import InputError, Problem, shortened
from tidings.model.limits import MAX_ATTRIBUTES_BYTES, MAX_ID_CHARACTERS, MAX_TIME_MS

_T = TypeVar("_T")
_NAMES: Final = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


class Fields:
    """An object of JSON values, the path where it stands, and the problems found so far."""

    def __init__(self, values: Mapping[str, object], place: str, problems: list[Problem]) -> None:
        self.values = values
        self.place = place
        self.problems = problems

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.place}.{name}"

    def has(self, name: str) -> bool:
        """Whether the field is there; null is the same as absent."""
        return self.values.get(name) is not None

    def wrong(self, code: str, name: str, found: str = "", expected: str = "", hint: str = "") -> None:
        """Remember that a field is wrong."""
        self.problems.append(Problem(code, self.at(name), found, expected, hint))

    def wrong_type(self, name: str, expected: str, hint: str = "") -> None:
        """Remember that a field is of another type."""
        value = self.values[name]
        self.wrong("field-type", name, described(value), expected, hint)

    def missing(self, name: str, hint: str = "") -> None:
        """Remember that a field that must be there is not."""
        self.wrong("field-missing", name, "nothing", f"the field `{name}`", hint)

    def need(self, name: str) -> bool:
        """Whether a field is there that must be."""
        if not self.has(name):
            self.missing(name)
        return self.has(name)

    def only(self, known: Iterable[str], elsewhere: Mapping[str, str], owner: str) -> None:
        """Refuse fields that the owner does not have; `elsewhere` says to whom else a field belongs."""
        names = tuple(known)
        for name in self.values:
            if name not in names:
                hint = f"`{name}` belongs to {elsewhere[name]}" if name in elsewhere else self.nearest(name, names)
                expected = f"the fields of {owner}: {', '.join(names)}" if names else f"no more fields in {owner}"
                self.wrong("field-unknown", shortened(name), f"the field `{shortened(name)}`", expected, hint)

    def nearest(self, name: str, known: Iterable[str]) -> str:
        """The hint for a name that is not among those known."""
        near = get_close_matches(name.lower(), list(known), 1, 0.6)
        return f"did you mean `{near[0]}`?" if near else ""

    def taken(self, read: tuple[_T | None, list[Problem]]) -> _T | None:
        """What another reader answers: the value, and problems to remember."""
        value, problems = read
        self.problems.extend(problems)
        return value

    def one_of(self, first: str, second: str) -> bool:
        """Whether exactly one of two fields is there."""
        if self.has(first) and self.has(second):
            self.wrong("field-conflict", second, f"`{first}` and `{second}`", f"one of `{first}` and `{second}`")
            return False
        if not self.has(first) and not self.has(second):
            self.wrong("field-missing", first, "nothing", f"one of `{first}` and `{second}`")
            return False
        return True

    def string(self, name: str) -> str | None:
        """A string."""
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        self.wrong_type(name, "a string")
        return None

    def strings(self, name: str, most: int | None = None, longest: int | None = None) -> tuple[str, ...] | None:
        """A list of strings that are not empty."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            hint = f'write ["{shortened(value)}"]' if isinstance(value, str) else ""
            self.wrong_type(name, "a list of strings", hint)
            return None
        if most is not None and len(value) > most:
            self.wrong("field-value", name, f"{len(value)} strings", f"at most {most}")
        for index, item in enumerate(value):
            place = f"{name}[{index}]"
            if not isinstance(item, str):
                self.wrong("field-type", place, described(item), "a string")
            elif not item:
                self.wrong("field-value", place, '""', "a string that is not empty")
            elif longest is not None and len(item) > longest:
                self.wrong("field-value", place, f"{len(item)} characters", f"at most {longest}")
        return tuple(value)

    def identity(self, name: str = "id") -> str:
        """An id in its normal form; the empty string when there is none that can be used."""
        value = self.values.get(name)
        if value is None:
            self.missing(name)
        elif not isinstance(value, str):
            hint = f'write "{value}"' if type(value) is int else ""
            self.wrong("id-invalid", name, described(value), f"a string of 1 to {MAX_ID_CHARACTERS} characters", hint)
        else:
            value = normal_id(value)
            if 1 <= len(value) <= MAX_ID_CHARACTERS:
                return value
            self.wrong("id-invalid", name, f"{len(value)} characters", f"1 to {MAX_ID_CHARACTERS} characters")
        return ""

    def integer(self, name: str, low: int, high: int) -> int | None:
        """An integer in a range. `1.0` is none."""
        value = self.values.get(name)
        if value is None:
            return None
        if type(value) is not int:
            hint = f"write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
            self.wrong_type(name, "an integer", hint)
            return None
        if not low <= value <= high:
            self.wrong("field-value", name, shortened(value), f"{low} to {high}")
            return None
        return value

    def time(self, name: str) -> int | None:
        """Milliseconds since 1970."""
        return self.integer(name, -MAX_TIME_MS, MAX_TIME_MS)

    def number(self, name: str, low: float, high: float, *, above: bool = False) -> float | None:
        """A finite number in a range; with `above` the lower end does not belong to it."""
        value = self.values.get(name)
        if value is None:
            return None
        number = finite(value)
        if number is None:
            self.wrong_type(name, "a number")
            return None
        if not low <= number <= high or (above and number == low):
            upper = "" if math.isinf(high) or high >= 1e308 else f" and at most {high:g}"
            expected = f"a number {'above' if above else 'from'} {low:g}{upper}"
            self.wrong("field-value", name, shortened(value), expected)
            return None
        return number

    def boolean(self, name: str) -> bool | None:
        """True or false."""
        value = self.values.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.wrong_type(name, "true or false")
        return None

    def inner(self, name: str, known: Sequence[str]) -> "Fields | None":
        """The fields of an object inside this one."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.wrong_type(name, "an object")
            return None
        fields = Fields(value, self.at(name), self.problems)
        fields.only(known, {}, f"`{name}`")
        return fields

    def raw_object(self, name: str) -> msgspec.Raw | None:
        """A JSON object of a bounded size, kept as it was written."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, msgspec.Raw):
            raw = bytes(value)
            try:
                value = json_value(raw, self.at(name))
            except InputError as error:
                self.problems.extend(error.problems)
                return None
            if value is None:
                return None
        else:
            raw = msgspec.json.encode(value)
        if not isinstance(value, dict):
            self.wrong("field-type", name, described(value), "an object")
            return None
        if b"\n" in raw or b"\r" in raw:
            raw = msgspec.json.format(raw, indent=-1)
        if len(raw) > MAX_ATTRIBUTES_BYTES:
            self.wrong("field-value", name, f"{len(raw)} bytes", f"at most {MAX_ATTRIBUTES_BYTES} bytes of JSON")
            return None
        return msgspec.Raw(raw)


def described(value: object) -> str:
    """A JSON value as a problem names it."""
    kind = _NAMES.get(type(value), "null" if value is None else type(value).__name__)
    return kind if value is None or isinstance(value, list | dict) else f"{kind}, {shortened(value)}"


def finite(value: object) -> float | None:
    """The number that a JSON value is, or None; true and false are no numbers."""
    if type(value) is not float and type(value) is not int:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def normal_id(value: str) -> str:
    """An id in the form in which ids are compared."""
    return value if value.isascii() else unicodedata.normalize("NFKC", value)
