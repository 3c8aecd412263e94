"""The columns that messages and subscriptions have as DataFrames, and what may stand for them.

Columns of other names are not looked at, so a DataFrame can be given as it is. Only a column whose name is nearly that
of one which is missing is an error: `wehn` would otherwise mean any words.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from pyspark.sql import types as t

from tidings.model.errors import Problem

PAIR_SCHEMA: Final = t.StructType(
    [
        t.StructField("position", t.LongType()),
        t.StructField("subscription", t.StringType(), nullable=False),
        t.StructField("message", t.StringType(), nullable=False),
        t.StructField("op", t.StringType(), nullable=False),
        t.StructField("score", t.DoubleType()),
        t.StructField("distance", t.DoubleType()),
    ]
)
"""What `match` answers: deltas."""

PROBLEM_SCHEMA: Final = "table string, id string, code string, place string, found string, expected string, hint string"
"""What `problems` answers."""


class Column(NamedTuple):
    """One column that is known."""

    name: str
    types: str
    """What is expected, in words."""
    fits: Callable[[t.DataType], bool]


def _is_string(found: t.DataType) -> bool:
    return isinstance(found, t.StringType | t.CharType | t.VarcharType)


def _is_number(found: t.DataType) -> bool:
    return isinstance(found, t.NumericType)


def _is_whole(found: t.DataType) -> bool:
    return isinstance(found, t.IntegralType)


def _is_time(found: t.DataType) -> bool:
    return isinstance(found, t.LongType | t.IntegerType | t.TimestampType | t.TimestampNTZType)


def _is_point(found: t.DataType) -> bool:
    if isinstance(found, t.StructType):
        return found.names in (["lon", "lat"], ["x", "y"]) and all(_is_number(field.dataType) for field in found)
    return isinstance(found, t.ArrayType) and _is_number(found.elementType)


def _is_box(found: t.DataType) -> bool:
    if isinstance(found, t.StructType):
        return found.names in BOX_FIELDS and all(_is_number(field.dataType) for field in found)
    return isinstance(found, t.ArrayType) and _is_number(found.elementType)


def _are_words(found: t.DataType) -> bool:
    return isinstance(found, t.ArrayType) and _is_string(found.elementType)


def _is_json(found: t.DataType) -> bool:
    return _is_string(found) or isinstance(found, t.StructType)


BOX_FIELDS: Final = (["min_lon", "min_lat", "max_lon", "max_lat"], ["min_x", "min_y", "max_x", "max_y"])
"""The fields of a box that is a struct."""

_ID: Final = Column("id", "string", _is_string)
_PLACE: Final = (
    Column("lon", "double, or another number", _is_number),
    Column("lat", "double, or another number", _is_number),
    Column("at", "array<double> or struct<lon: double, lat: double>", _is_point),
)
_TERMS: Final = (Column("text", "string", _is_string), Column("words", "array<string>", _are_words))
_MILLISECONDS: Final = "bigint (milliseconds since 1970) or timestamp"

MESSAGES: Final = {
    column.name: column
    for column in (
        _ID,
        *_PLACE,
        Column("box", "array<double> or struct<min_lon, min_lat, max_lon, max_lat>", _is_box),
        *_TERMS,
        Column("ts", _MILLISECONDS, _is_time),
        Column("expires", _MILLISECONDS, _is_time),
        Column("position", "bigint, or another integer", _is_whole),
    )
}
"""The columns of messages."""

SUBSCRIPTIONS: Final = {
    column.name: column
    for column in (
        _ID,
        Column("kind", "string", _is_string),
        Column("when", "string", _is_string),
        Column("where", "string of JSON, or a struct of the same fields", _is_json),
        *_PLACE,
        Column("shape", "string of JSON, or a struct of the same fields", _is_json),
        Column("radius_m", "double, or another number", _is_number),
        Column("width", "double, or another number", _is_number),
        Column("height", "double, or another number", _is_number),
        *_TERMS,
        Column("k", "int, or another integer", _is_whole),
        Column("alpha", "double, or another number", _is_number),
        Column("labels", "array<string>", _are_words),
    )
}
"""The columns of subscriptions."""


def message_problems(schema: t.StructType) -> list[Problem]:
    """What is wrong with the columns of messages."""
    names = set(schema.names)
    problems = _column_problems(schema, MESSAGES, "messages")
    problems += _together(names, "messages")
    if not names & {"lon", "lat", "at", "box"}:
        problems.append(_missing("messages", "at", "a place: `lon` and `lat`, or `at`, or `box`"))
    if not names & {"text", "words"}:
        problems.append(_missing("messages", "text", "`text` or `words`"))
    return problems


def subscription_problems(schema: t.StructType, kinds: Iterable[str]) -> list[Problem]:
    """What is wrong with the columns of subscriptions, when these kinds are among them."""
    names = set(schema.names)
    problems = _column_problems(schema, SUBSCRIPTIONS, "subscriptions")
    problems += _together(names, "subscriptions")
    for kind in kinds:
        for needed in _NEEDED[kind]:
            if not names & needed:
                first, *others = sorted(needed, key=list(SUBSCRIPTIONS).index)
                wanted = " or ".join(f"`{name}`" for name in (first, *others))
                problems.append(_missing("subscriptions", first, f"{wanted}, which `{kind}` needs"))
    return problems


_NEEDED: Final[Mapping[str, tuple[set[str], ...]]] = {
    "within": ({"where"},),
    "around": ({"at", "lon"}, {"shape", "radius_m", "width"}),
    "best": ({"at", "lon"}, {"text", "words"}, {"k"}, {"alpha"}),
    "nearest": ({"at", "lon"}, {"text", "words"}, {"k"}),
}


def _column_problems(schema: t.StructType, known: Mapping[str, Column], table: str) -> list[Problem]:
    problems = []
    names = schema.names
    for name, column in known.items():
        found = [field.dataType for field in schema if field.name == name]
        if len(found) > 1:
            problems.append(Problem("file-schema", f"{table}.{name}", f"{len(found)} columns", "one column"))
        elif found and not column.fits(found[0]):
            hint = _HINTS.get(name, "")
            problems.append(Problem("file-schema", f"{table}.{name}", found[0].simpleString(), column.types, hint))
    if "id" not in names:
        problems.append(_missing(table, "id", "the column `id`, a string"))
    absent = [name for name in known if name not in names]
    for name in names:
        near = [] if name in known else get_close_matches(name.lower(), absent, 1, _NEARLY)
        if near:
            hint = f"rename it to `{near[0]}`, or leave it out"
            problems.append(Problem("file-schema", f"{table}.{name}", f"`{name}`, and no `{near[0]}`", "", hint))
    return problems


_NEARLY: Final = 0.74
"""`wehn` and `When` are nearly `when`, `word` is nearly `words`; `owner` is not nearly `when`."""
_HINTS: Final = {
    "id": 'cast it: df.withColumn("id", df.id.cast("string"))',
    "words": "a text goes into the column `text`",
    "at": "the order is lon, lat",
}


def _together(names: set[str], table: str) -> list[Problem]:
    problems = []
    for one, other in (("lon", "lat"), ("lat", "lon"), ("width", "height"), ("height", "width")):
        if one in names and other not in names and (table, one) not in (("messages", "width"), ("messages", "height")):
            problems.append(_missing(table, other, f"`{other}` beside `{one}`"))
    if "at" in names and "lon" in names:
        problems.append(Problem("file-schema", f"{table}.at", "`at` and `lon`", "one of both"))
    if table == "subscriptions" and "shape" in names and names & {"radius_m", "width"}:
        problems.append(Problem("file-schema", f"{table}.shape", "`shape` and its parts", "one of both"))
    return problems


def _missing(table: str, name: str, expected: str) -> Problem:
    return Problem("file-schema", f"{table}.{name}", "no such column", expected)
