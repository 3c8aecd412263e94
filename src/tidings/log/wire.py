"""One event <-> one JSON object on one line: the wire format.

Nearly every line of a log is a plain message. It is decoded and checked by `msgspec` in one go (2 to 4 microseconds);
whatever that does not take, because it is another event or because something is wrong with it, is read field by field
with all its problems. Both give the same event.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from tidings.log.event_fields import event_from_fields, event_to_fields
from tidings.log.fields import described, normal_id
from tidings.log.strict_json import has_repeated_key, is_too_deep, json_members, json_value
from tidings.model.errors import InputError, Problem
from tidings.model.events import Event, Globe, Publish, Space
from tidings.model.limits import MAX_ATTRIBUTES_BYTES, MAX_ID_CHARACTERS, MAX_LINE_BYTES, MAX_TIME_MS
from tidings.model.regions import Bounds, Point

_Time = Annotated[int, Meta(ge=-MAX_TIME_MS, le=MAX_TIME_MS)]


class _PlainMessage(Struct, tag_field="op", tag="publish", forbid_unknown_fields=True):
    """A `publish`, as far as types go."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS)]
    at: Point | None = None
    box: Bounds | None = None
    text: str | None = None
    words: tuple[Annotated[str, Meta(min_length=1)], ...] | None = None
    ts: _Time | None = None
    expires: _Time | None = None
    attributes: Raw = Raw()
    """Empty when absent; `msgspec` has no union with Raw."""


_decode_plain: Final = msgspec.json.Decoder(_PlainMessage).decode
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


def decode_event(line: bytes | memoryview, space: Space) -> Event:
    """The event of one line, without its line end, or an `InputError` with all problems that the line shows."""
    data = bytes(line)
    if b'"publish"' in data:
        message = _plain_message(data, space)
        if message is not None:
            return message
    return event_from_fields(fields_of(data), space)


def _plain_message(data: bytes, space: Space) -> Publish | None:
    """The message, when nothing at all is wrong with it; None to have a closer look."""
    try:
        found = _decode_plain(data)
        attributes = bytes(found.attributes)
        if attributes and not _is_small_object(attributes):
            return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    at, box, text, words = found.at, found.box, found.text, found.words
    if (at is None) == (box is None) or (text is None) == (words is None) or len(data) > MAX_LINE_BYTES:
        return None
    id_ = normal_id(found.id)
    placed = _lies_in(at, space) if at is not None else box is not None and _box_lies_in(box, space)
    if not placed or len(id_) > MAX_ID_CHARACTERS or has_repeated_key(data):
        return None
    return Publish(id_, at, box, text, words, found.ts, found.expires, Raw(attributes) if attributes else None)


def encode_event(event: Event) -> bytes:
    """The event as canonical JSON: fields in the order of the reference, without those that are absent."""
    return _encode(event_to_fields(event))


def fields_of(line: bytes) -> dict[str, object]:
    """The fields of the object on a line; its `attributes` as they were written."""
    if len(line) > MAX_LINE_BYTES:
        raise InputError(line_too_long(len(line)))
    value = json_value(line)
    if not isinstance(value, dict):
        raise InputError(Problem("field-type", "$", described(value), "an object: one event"))
    if "attributes" in value:
        value["attributes"] = json_members(line)["attributes"]
    return value


def line_too_long(n_bytes: int | None = None) -> Problem:
    """The problem of a line over the bound; None for a length that nobody counted."""
    found = f"more than {MAX_LINE_BYTES} bytes" if n_bytes is None else f"{n_bytes} bytes"
    hint = "a long list of words or a large region can be split over several events"
    return Problem("line-too-long", "$", found, f"at most {MAX_LINE_BYTES} bytes", hint)


def as_it_stood(line: bytes) -> Raw | str:
    """What a rejected line says in a file of rejects: its JSON, or its text when it is none."""
    try:
        if len(line) <= MAX_LINE_BYTES:
            json_value(line)
            return Raw(msgspec.json.format(line, indent=-1) if b"\n" in line else line)
    except InputError:
        pass
    return line.decode(errors="replace")


def _is_small_object(data: bytes) -> bool:
    plain = data.startswith(b"{") and len(data) <= MAX_ATTRIBUTES_BYTES and b"\r" not in data and b"\n" not in data
    if not plain or is_too_deep(data):
        return False
    data.decode()
    _decode(data)
    return True


def _box_lies_in(box: Bounds, space: Space) -> bool:
    low, high = (box[0], box[1]), (box[2], box[3])
    upright = box[1] <= box[3] and (box[0] <= box[2] or isinstance(space, Globe))
    return upright and _lies_in(low, space) and _lies_in(high, space)


def _lies_in(at: Point, space: Space) -> bool:
    if isinstance(space, Globe):
        return -180.0 <= at[0] <= 180.0 and -90.0 <= at[1] <= 90.0
    min_x, min_y, max_x, max_y = space.bounds
    return min_x <= at[0] <= max_x and min_y <= at[1] <= max_y
