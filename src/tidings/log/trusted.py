"""Lines that were found valid before, read again without looking for what is wrong with them.

One loose struct takes the fields of most operations, which `msgspec` fills in one go: 2 microseconds for a
registration, where reading it with all its problems takes 11. What does not fit into it is left to `decode_event`,
which every line has once passed.
"""

from typing import Final

import msgspec
from msgspec import Raw, Struct

from tidings.log.fields import normal_id
from tidings.log.wire import decode_event
from tidings.model.events import Event, Move, Register, Remove, Replace, Retract, Space, Tick
from tidings.model.regions import Bounds, Box, Circle, Everywhere, Point, Polygon, Region, Ring
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Rectangle, Subscription, Within


class _Where(Struct, forbid_unknown_fields=True):
    """The regions that are one simple form; `bbox` and `any` are not among them."""

    box: Bounds | None = None
    circle: tuple[float, float, float] | None = None
    type: str | None = None
    coordinates: Raw = Raw()


class _Shape(Struct):
    radius_m: float | None = None
    width: float | None = None
    height: float | None = None


class _Fields(Struct, gc=False):
    """The fields of all operations but `publish`, `configure` and `weights`; labels are of no use to a block."""

    op: str
    id: str = ""
    kind: str = ""
    ts: int | None = None
    when: str | None = None
    where: _Where | str | None = None
    at: Point | None = None
    shape: _Shape | None = None
    words: tuple[str, ...] | None = None
    text: str | None = None
    k: int = 0
    alpha: float = 0.0
    labels: Raw = Raw()


_decode: Final = msgspec.json.Decoder(_Fields).decode
_decode_rings: Final = msgspec.json.Decoder(tuple[Ring, ...]).decode


def trusted_event(line: bytes, space: Space) -> Event:
    """The event of a line that `decode_event` has taken before, but for labels, which may be missing."""
    try:
        event = _event(_decode(line))
    except msgspec.MsgspecError:
        event = None
    return decode_event(line, space) if event is None else event


def _event(fields: _Fields) -> Event | None:
    id_ = normal_id(fields.id)
    match fields.op:
        case "register" | "replace":
            subscription = _subscription(fields, id_)
            if subscription is None:
                return None
            return Register(subscription) if fields.op == "register" else Replace(subscription)
        case "move" if fields.at is not None:
            return Move(id_, fields.at)
        case "remove":
            return Remove(id_)
        case "retract":
            return Retract(id_)
        case "tick" if fields.ts is not None:
            return Tick(fields.ts)
    return None


def _subscription(fields: _Fields, id_: str) -> Subscription | None:
    at = fields.at
    if fields.kind == "within":
        where = _region(fields.where)
        return None if where is None else Within(id_, where, fields.when)
    if at is None:
        return None
    if fields.kind == "best":
        return Best(id_, at, fields.k, fields.alpha, fields.words, fields.text)
    if fields.kind == "nearest":
        return Nearest(id_, at, fields.k, fields.words, fields.text)
    shape = _shape(fields.shape)
    return None if shape is None else Around(id_, at, shape, fields.when)


def _region(where: _Where | str | None) -> Region | None:
    if where == "everywhere":
        return Everywhere()
    if not isinstance(where, _Where):
        return None
    if where.box is not None:
        return Box(where.box)
    if where.circle is not None:
        return Circle(where.circle[:2], where.circle[2])
    return Polygon(_decode_rings(where.coordinates)) if where.type == "Polygon" else None


def _shape(shape: _Shape | None) -> Disc | Rectangle | None:
    if shape is None:
        return None
    if shape.radius_m is not None:
        return Disc(shape.radius_m)
    return None if shape.width is None or shape.height is None else Rectangle(shape.width, shape.height)
