"""One event <-> the fields of one JSON object: which fields each operation and each kind has, and what they may be.

Files of lines, tables and maps differ only in how they come by the fields. `event_from_fields` reports all problems
of an event at once; `event_to_fields` leaves out what is absent or the default, and reading its answer gives the same
event back.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tidings.log.configuration_fields import (
    configuration_to_fields,
    read_configuration,
    read_weights,
    weights_to_fields,
)
from tidings.log.fields import Fields
from tidings.log.subscription_fields import KIND_OWNERS, read_subscription, subscription_to_fields
from tidings.model.errors import InputError, shortened
from tidings.model.events import (
    Configure,
    Event,
    Move,
    Publish,
    Register,
    Remove,
    Replace,
    Retract,
    Reweigh,
    Space,
    Tick,
)
from tidings.model.regions import Bounds, Point
from tidings.space.positions import read_bounds, read_point

OP_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "configure": ("space", "window", "max_distance", "analyser", "weights"),
    "publish": ("id", "ts", "at", "box", "text", "words", "expires", "attributes"),
    "retract": ("id",),
    "register": (),
    "replace": (),
    "move": ("id", "at"),
    "remove": ("id",),
    "tick": ("ts",),
    "weights": ("idf", "default"),
}
"""The fields of every operation; those of `register` and `replace` are their kind's."""

_OP_OWNERS: Final = {name: f"`{op}`" for op, names in reversed(OP_FIELDS.items()) for name in names}
"""Which operation has a field, for hints."""
_OWNERS: Final = {**KIND_OWNERS, **_OP_OWNERS}
_OWNERS_FOR_KINDS: Final = {**_OP_OWNERS, **KIND_OWNERS}


def event_from_fields(values: Mapping[str, object], space: Space, place: str = "$") -> Event:
    """The event that these fields are, or an `InputError` with everything that is wrong with them.

    Values are as JSON has them; `attributes` may also be `msgspec.Raw`. A field that is null is absent.
    """
    fields = Fields(values, place, [])
    op = fields.values.get("op")
    if op is None:
        fields.missing("op", f"one of {', '.join(OP_FIELDS)}")
        raise InputError(fields.problems)
    if not isinstance(op, str):
        fields.wrong_type("op", "a string")
        raise InputError(fields.problems)
    if op not in OP_FIELDS:
        fields.wrong("op-unknown", "op", shortened(op), f"one of {', '.join(OP_FIELDS)}", fields.nearest(op, OP_FIELDS))
        raise InputError(fields.problems)
    if OP_FIELDS[op]:
        fields.only(("op", *OP_FIELDS[op]), _OWNERS, f"`{op}`")
    event = _READERS[op](fields, space)
    if fields.problems or event is None:
        raise InputError(fields.problems)
    return event


def event_to_fields(event: Event) -> dict[str, object]:
    """The fields of an event, in the order in which they are written."""
    match event:
        case Configure():
            return {"op": "configure", **configuration_to_fields(event)}
        case Publish():
            return {
                "op": "publish",
                **{name: value for name in OP_FIELDS["publish"] if (value := getattr(event, name)) is not None},
            }
        case Retract():
            return {"op": "retract", "id": event.id}
        case Register():
            return {"op": "register", **subscription_to_fields(event.subscription)}
        case Replace():
            return {"op": "replace", **subscription_to_fields(event.subscription)}
        case Move():
            return {"op": "move", "id": event.id, "at": event.at}
        case Remove():
            return {"op": "remove", "id": event.id}
        case Tick():
            return {"op": "tick", "ts": event.ts}
        case Reweigh():
            return {"op": "weights", **weights_to_fields(event.weights)}


def space_of_fields(values: Mapping[str, object]) -> Space | None:
    """The space that a `configure` names, whatever else is wrong with it; None when that is wrong too.

    With it the events after a broken `configure` are judged on the globe or plane that was meant.
    """
    fields = Fields({"space": values.get("space")}, "$", [])
    configuration = read_configuration(fields)
    return configuration.space if values.get("op") == "configure" and configuration is not None else None


def _publish(fields: Fields, space: Space) -> Event | None:
    at: Point | None = None
    box: Bounds | None = None
    id_ = fields.identity()
    if fields.one_of("at", "box"):
        if fields.has("at"):
            at = fields.taken(read_point(fields.values["at"], fields.at("at"), space))
        else:
            box = fields.taken(read_bounds(fields.values["box"], fields.at("box"), space))
    fields.one_of("text", "words")
    text, words = fields.string("text"), fields.strings("words")
    ts, expires = fields.time("ts"), fields.time("expires")
    attributes = fields.raw_object("attributes")
    return None if fields.problems else Publish(id_, at, box, text, words, ts, expires, attributes)


def _retract(fields: Fields, space: Space) -> Event | None:
    return Retract(fields.identity())


def _register(fields: Fields, space: Space) -> Event | None:
    subscription = read_subscription(fields, space, _OWNERS_FOR_KINDS)
    return None if subscription is None else Register(subscription)


def _replace(fields: Fields, space: Space) -> Event | None:
    subscription = read_subscription(fields, space, _OWNERS_FOR_KINDS)
    return None if subscription is None else Replace(subscription)


def _move(fields: Fields, space: Space) -> Event | None:
    id_ = fields.identity()
    at = fields.taken(read_point(fields.values["at"], fields.at("at"), space)) if fields.need("at") else None
    return None if at is None else Move(id_, at)


def _remove(fields: Fields, space: Space) -> Event | None:
    return Remove(fields.identity())


def _tick(fields: Fields, space: Space) -> Event | None:
    ts = fields.time("ts") if fields.need("ts") else None
    return None if ts is None else Tick(ts)


def _configure(fields: Fields, space: Space) -> Event | None:
    return read_configuration(fields)


def _weights(fields: Fields, space: Space) -> Event | None:
    return Reweigh(read_weights(fields))


_READERS: Final[dict[str, Callable[[Fields, Space], Event | None]]] = {
    "configure": _configure,
    "publish": _publish,
    "retract": _retract,
    "register": _register,
    "replace": _replace,
    "move": _move,
    "remove": _remove,
    "tick": _tick,
    "weights": _weights,
}
