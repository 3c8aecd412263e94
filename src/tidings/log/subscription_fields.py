"""The four kinds of subscription <-> their fields."""

from collections.abc import Mapping
from typing import Final, TypeVar

from tidings.log.fields import Fields
from tidings.model.errors import shortened
from tidings.model.events import Space
from tidings.model.limits import MAX_ID_CHARACTERS, MAX_K, MAX_LABELS
from tidings.model.regions import Point
from tidings.model.subscriptions import Around, Best, Disc, Nearest, Rectangle, Subscription, Within
from tidings.space.positions import read_point
from tidings.space.region_json import read_region, write_region

KIND_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "within": ("when", "where"),
    "around": ("when", "at", "shape"),
    "best": ("words", "text", "at", "k", "alpha"),
    "nearest": ("words", "text", "at", "k"),
}
"""The fields of every kind, beside those that all have."""
KIND_OWNERS: Final = {
    name: " and ".join(f"`{kind}`" for kind in KIND_FIELDS if name in KIND_FIELDS[kind])
    for names in KIND_FIELDS.values()
    for name in names
}
"""Which kinds have a field, for hints."""
SHARED_FIELDS: Final = ("op", "id", "kind", "labels")

_LARGEST: Final = 1.7976931348623157e308
_S = TypeVar("_S")


def read_subscription(fields: Fields, space: Space, owners: Mapping[str, str]) -> Subscription | None:
    """The subscription; None when something is wrong with it. `owners` says who has another field."""
    kind = fields.values.get("kind")
    if kind is None:
        fields.missing("kind", f"one of {', '.join(KIND_FIELDS)}")
        return None
    if not isinstance(kind, str):
        fields.wrong_type("kind", "a string")
        return None
    if kind not in KIND_FIELDS:
        expected = f"one of {', '.join(KIND_FIELDS)}"
        fields.wrong("kind-unknown", "kind", shortened(kind), expected, fields.nearest(kind, KIND_FIELDS))
        return None
    fields.only((*SHARED_FIELDS, *KIND_FIELDS[kind]), owners, f"`{kind}`")
    id_ = fields.identity()
    labels = fields.strings("labels", MAX_LABELS, MAX_ID_CHARACTERS) or ()
    if kind == "within":
        return _within(fields, space, id_, labels)
    at = fields.taken(read_point(fields.values["at"], fields.at("at"), space)) if fields.need("at") else None
    return _around(fields, id_, at, labels) if kind == "around" else _ranked(fields, kind, id_, at, labels)


def subscription_to_fields(subscription: Subscription) -> dict[str, object]:
    """The fields of a subscription, in the order in which they are written."""
    fields: dict[str, object] = {"id": subscription.id, "kind": type(subscription).__name__.lower()}
    match subscription:
        case Within():
            fields |= _present(when=subscription.when) | {"where": write_region(subscription.where)}
        case Around(shape=Disc(radius_m)):
            fields |= _present(when=subscription.when) | {"at": subscription.at, "shape": {"radius_m": radius_m}}
        case Around(shape=Rectangle(width, height)):
            fields |= _present(when=subscription.when)
            fields |= {"at": subscription.at, "shape": {"width": width, "height": height}}
        case Best() | Nearest():
            fields |= _present(words=subscription.words, text=subscription.text)
            fields |= {"at": subscription.at, "k": subscription.k}
    if isinstance(subscription, Best):
        fields["alpha"] = subscription.alpha
    if subscription.labels:
        fields["labels"] = subscription.labels
    return fields


def _within(fields: Fields, space: Space, id_: str, labels: tuple[str, ...]) -> Within | None:
    when = fields.string("when")
    if not fields.need("where"):
        return None
    where, problems = read_region(fields.values["where"], fields.at("where"), space)
    fields.problems.extend(problems)
    return None if where is None else Within(id_, where, when, labels)


def _around(fields: Fields, id_: str, at: Point | None, labels: tuple[str, ...]) -> Around | None:
    when = fields.string("when")
    shape = _shape(fields) if fields.need("shape") else None
    return None if at is None or shape is None else Around(id_, at, shape, when, labels)


def _shape(fields: Fields) -> Disc | Rectangle | None:
    shape = fields.inner("shape", ("radius_m", "width", "height"))
    if shape is None:
        return None
    if shape.has("radius_m") and (shape.has("width") or shape.has("height")):
        both = "`radius_m` and `width` or `height`"
        fields.wrong("field-conflict", "shape", both, 'either {"radius_m": r} or {"width": w, "height": h}')
        return None
    if not (shape.has("radius_m") or shape.has("width") or shape.has("height")):
        fields.wrong("field-missing", "shape", "nothing", '{"radius_m": r} or {"width": w, "height": h}')
        return None
    if shape.has("radius_m"):
        radius_m = shape.number("radius_m", 0.0, _LARGEST)
        return None if radius_m is None else Disc(radius_m)
    shape.need("width")
    shape.need("height")
    width, height = shape.number("width", 0.0, _LARGEST), shape.number("height", 0.0, _LARGEST)
    return None if width is None or height is None else Rectangle(width, height)


def _ranked(fields: Fields, kind: str, id_: str, at: Point | None, labels: tuple[str, ...]) -> Best | Nearest | None:
    fields.one_of("words", "text")
    words, text = fields.strings("words"), fields.string("text")
    k = fields.integer("k", 1, MAX_K) if fields.need("k") else None
    alpha = None
    if kind == "best" and fields.need("alpha"):
        alpha = fields.number("alpha", 0.0, 1.0)
    if at is None or k is None:
        return None
    if kind == "nearest":
        return Nearest(id_, at, k, words, text, labels)
    return None if alpha is None else Best(id_, at, k, alpha, words, text, labels)


def _present(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
