"""Where something stands in the text of an expression, said so that a person sees it: line, column, a caret."""

import unicodedata
from typing import Final

from tidings.model.errors import InputError, Problem, shortened

_BEFORE: Final = 40
"""So many characters of a long line are shown before the place,"""
_AFTER: Final = 30
"""and so many from it on."""


def error_at(text: str, offset: int, code: str, *, found: str = "", expected: str = "", advice: str = "") -> InputError:
    """The error for what is wrong at this offset of the text; its hint is the caret and below it the advice."""
    hint = pointed(text, offset)
    if advice:
        hint += "\n" + advice
    found = "".join(map(_shown, shortened(found)))
    return InputError(Problem(code=code, place=place_of(text, offset), found=found, expected=expected, hint=hint))


def place_of(text: str, offset: int) -> str:
    """Line and column, both from 1, in code points: `1:7`."""
    return f"{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"


def pointed(text: str, offset: int) -> str:
    """The line of the text around the offset, and below it a caret under the place."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    left, right = max(start, offset - _BEFORE), min(end, offset + _AFTER)
    before = ("…" if left > start else "") + "".join(map(_shown, text[left:offset]))
    after = "".join(map(_shown, text[offset:right])) + ("…" if right < end else "")
    return f"{before}{after}".rstrip() + "\n" + " " * sum(map(_cells, before)) + "^"


def _shown(character: str) -> str:
    """One character for one character; what a terminal would obey or hide is shown as a space or a box."""
    if character.isprintable():
        return character
    return " " if character.isspace() else "□"


def _cells(character: str) -> int:
    """The width of a character in a terminal, so that the caret stands under its place in any script."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
