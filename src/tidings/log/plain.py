"""Plain messages, judged fast: what the ledger wants to know of them, at a quarter of what decoding them costs.

Nearly every line of a log is a message without attributes, escapes or letters beyond ASCII in its id. Whether it is
right can be seen without looking for repeated keys: a line without escapes has two quotation marks for each key and
each string that it was decoded to, and more when it says something twice or says `null`. Whatever is not plain, or
not right, is left to `wire.decode_event`, which has the last word.
"""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from tidings.model.events import Globe, Space
from tidings.model.limits import MAX_ID_CHARACTERS, MAX_LINE_BYTES, MAX_TIME_MS
from tidings.model.regions import Point

_Time = Annotated[int, Meta(ge=-MAX_TIME_MS, le=MAX_TIME_MS)]


class PlainMessage(Struct, tag_field="op", tag="publish", forbid_unknown_fields=True, gc=False):
    """A message at a point."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]
    at: Point
    text: str | None = None
    words: tuple[Annotated[str, Meta(min_length=1)], ...] | None = None
    ts: _Time | None = None
    expires: _Time | None = None


_OP: Final = b'{"op":"publish"'
_QUOTES: Final = 12
"""Of `"op":"publish"`, `"id":"…"`, `"at"`, and the key of the text or the words."""

_decode: Final = msgspec.json.Decoder(PlainMessage).decode


def plain_messages(lines: Sequence[bytes], space: Space) -> list[PlainMessage | None]:
    """The message of each line; None for lines that want a closer look."""
    bounds = (-180.0, -90.0, 180.0, 90.0) if isinstance(space, Globe) else space.bounds
    min_x, min_y, max_x, max_y = bounds
    found: list[PlainMessage | None] = []
    append = found.append
    for line in lines:
        if line[:15] != _OP or b"\\" in line or b"\n" in line or b"\r" in line:
            append(None)
            continue
        try:
            message = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            append(None)
            continue
        quotes, words = _QUOTES, message.words
        if message.text is not None:
            quotes = _QUOTES + 2 if words is None else 0
        elif words is not None:
            quotes = _QUOTES + 2 * len(words)
        if message.ts is not None:
            quotes += 2
        if message.expires is not None:
            quotes += 2
        x, y = message.at
        plain = line.count(b'"') == quotes and message.id.isascii() and len(line) <= MAX_LINE_BYTES
        append(message if plain and min_x <= x <= max_x and min_y <= y <= max_y else None)
    return found
