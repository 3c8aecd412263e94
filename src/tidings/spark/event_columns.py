"""Events of a log as rows: the columns that `spark.read.format("tidings")` gives, and how lines become them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Raw
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from tidings.log.frames import Frame
from tidings.model.errors import InputError, Problem

_NUMBERS: Final = t.ArrayType(t.DoubleType())
_STRINGS: Final = t.ArrayType(t.StringType())

EVENT_COLUMNS: Final = t.StructType(
    [
        t.StructField("position", t.LongType(), nullable=False),
        t.StructField("op", t.StringType()),
        t.StructField("id", t.StringType()),
        t.StructField("ts", t.LongType()),
        t.StructField("lon", t.DoubleType()),
        t.StructField("lat", t.DoubleType()),
        t.StructField("box", _NUMBERS),
        t.StructField("text", t.StringType()),
        t.StructField("words", _STRINGS),
        t.StructField("expires", t.LongType()),
        t.StructField("attributes", t.StringType()),
        t.StructField("kind", t.StringType()),
        t.StructField("when", t.StringType()),
        t.StructField("where", t.StringType()),
        t.StructField("shape", t.StringType()),
        t.StructField("k", t.LongType()),
        t.StructField("alpha", t.DoubleType()),
        t.StructField("labels", _STRINGS),
        t.StructField("event", t.StringType(), nullable=False),
    ]
)
"""The columns of a log. `event` is the whole event, as JSON; the fields that only `configure` and `weights` have are
nowhere else."""

DELTA_COLUMNS: Final = t.StructType(
    [
        t.StructField("position", t.LongType(), nullable=False),
        t.StructField("subscription", t.StringType(), nullable=False),
        t.StructField("message", t.StringType(), nullable=False),
        t.StructField("op", t.StringType(), nullable=False),
        t.StructField("score", t.DoubleType()),
        t.StructField("distance", t.DoubleType()),
    ]
)
"""The columns of deliveries."""

_FIELDS: Final[dict[str, tuple[str, Any]]] = {
    **{name: (name, str | None) for name in ("op", "id", "text", "kind", "when")},
    **{name: (name, int | None) for name in ("ts", "expires", "k")},
    "alpha": ("alpha", float | None),
    "words": ("words", list[str] | None),
    "labels": ("labels", list[str] | None),
    "box": ("box", list[float] | None),
    "lon": ("at", tuple[float, float] | None),
    "lat": ("at", tuple[float, float] | None),
    **{name: (name, Raw) for name in ("where", "shape", "attributes")},
}
"""By column: the field of the event that it is read from, and its type."""


def check_columns(asked: t.StructType, known: t.StructType) -> None:
    """Raise an `InputError` unless the columns that are asked for are known ones, of their types."""
    types = {field.name: field.dataType for field in known}
    wrong = []
    for field in asked:
        if field.name not in types:
            expected = f"some of {', '.join(types)}"
            wrong.append(Problem("file-schema", f"schema.{field.name}", "an unknown column", expected))
        elif types[field.name] != field.dataType:
            found, expected = field.dataType.simpleString(), types[field.name].simpleString()
            wrong.append(Problem("file-schema", f"schema.{field.name}", found, expected))
    if wrong:
        raise InputError(wrong)


class LineReader:
    """Frames of a log -> record batches of these columns; only their fields are looked at."""

    def __init__(self, columns: t.StructType) -> None:
        self._schema: Final = to_arrow_schema(columns, timezone="UTC")
        fields = dict(_FIELDS[name] for name in columns.names if name in _FIELDS)
        row = msgspec.defstruct(
            "Row", [(name, type_, Raw() if type_ is Raw else None) for name, type_ in fields.items()], gc=False
        )
        self._decode: Final[Callable[[bytes], list[Any]]] = msgspec.json.Decoder(row).decode_lines
        self._has_fields: Final = bool(fields)

    def batches(self, frames: Iterable[Frame]) -> Iterator[pa.RecordBatch]:
        """A batch for each frame."""
        for frame in frames:
            rows = self._decode(frame.payload) if self._has_fields else []
            columns = [pa.array(self._values(field.name, frame, rows), field.type) for field in self._schema]
            yield pa.record_batch(columns, schema=self._schema)

    def _values(self, column: str, frame: Frame, rows: list[Any]) -> Any:
        match column:
            case "position":
                return range(frame.first, frame.end)
            case "event":
                return [line.decode() for line in frame.lines()]
            case "lon" | "lat":
                axis = column == "lat"
                return [None if row.at is None else row.at[axis] for row in rows]
            case "where" | "shape" | "attributes":
                return [bytes(value).decode() or None for value in (getattr(row, column) for row in rows)]
            case _:
                return [getattr(row, column) for row in rows]
