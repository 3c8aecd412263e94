"""Files of events in every format: which one a file is of, and its events in order.

| suffix | format |
|---|---|
| `.ndjson`, `.jsonl`, also with `.gz` or `.zst` | one JSON object a line |
| `.geojson` | a GeoJSON FeatureCollection |
| `.json` | whichever of the two it is |
| `.arrow`, `.feather`, `.arrows` | Arrow IPC, file or stream |
| `.parquet` | Parquet |

Any other name is judged by the first bytes of the file. `-` is standard input, lines.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, NamedTuple, Self, cast

import msgspec
import pyarrow as pa

from tidings.log.event_fields import event_from_fields, space_of_fields
from tidings.log.geojson import read_geojson, write_geojson
from tidings.log.ndjson import Line, read_lines
from tidings.log.output import STANDARD, suffix_of, whole_file
from tidings.log.tables import Row, read_arrow, read_parquet, write_arrow, write_parquet
from tidings.log.wire import decode_event, encode_event, fields_of, line_too_long
from tidings.model.errors import FileError, InputError, LimitError, Problem
from tidings.model.events import Configure, Event, Globe, Publish, Space
from tidings.model.limits import MAX_LINE_BYTES

MAX_GEOJSON_BYTES: Final = 1 << 30
"""A FeatureCollection is one JSON value, which is read as a whole."""

LINES: Final = "lines"
GEOJSON: Final = "geojson"
ARROW_FILE: Final = "arrow-file"
ARROW_STREAM: Final = "arrow-stream"
PARQUET: Final = "parquet"

_SUFFIXES: Final = {
    ".ndjson": LINES, ".jsonl": LINES, ".geojson": GEOJSON, ".json": "", ".arrow": ARROW_FILE, ".feather": ARROW_FILE,
    ".arrows": ARROW_STREAM, ".parquet": PARQUET,
}  # fmt: skip
_MAGIC: Final = {b"ARROW1": ARROW_FILE, b"\xff\xff\xff\xff": ARROW_STREAM, b"PAR1": PARQUET}
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PEEK_BYTES: Final = 4096
_SMALL: Final = 8192
"""A message of fewer characters fits a line however they are escaped."""


class Entry(NamedTuple):
    """One event of a file, or what is wrong with it."""

    position: int
    """The number of its line, row or feature, from 0."""
    event: Event | InputError
    raw: bytes | None
    """It, as it stood; None for an event of a table, which `encode_event` says."""


class EventFile:
    """The events of an open file, in order; a context manager.

    Places are judged in the `space` of the log, which the file's own `configure` sets when there is one.
    """

    def __init__(self, path: str | Path, space: Space = Globe()) -> None:  # noqa: B008
        self.path: Final = str(path)
        self.space = space
        self._closing = ExitStack()
        with ExitStack() as stack:
            self.format, self._file = _opened(self.path, stack)
            self._closing = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def __iter__(self) -> Iterator[Entry]:
        for entry in self._lines() if self.format == LINES else self._rows():
            if entry.position == 0 and isinstance(entry.event, Configure):
                self.space = entry.event.space
            yield entry

    def lines(self) -> Iterator[Line]:
        """The lines of a file of lines, as they are; instead of iterating over its events."""
        try:
            yield from read_lines(self._file)
        except (OSError, pa.ArrowInvalid) as error:
            raise FileError(Problem("file-corrupt", self.path, str(error), "a file that can be read")) from None

    def _lines(self) -> Iterator[Entry]:
        for position, data, problem in self.lines():
            yield Entry(position, InputError(problem) if problem else self._decoded(data), data)

    def _decoded(self, line: bytes) -> Event | InputError:
        try:
            return decode_event(line, self.space)
        except InputError as error:
            return error

    def _rows(self) -> Iterator[Entry]:
        for position, (row, raw) in enumerate(self._row_source()):
            event = self._taken(row)
            if raw is None and isinstance(event, InputError):
                raw = msgspec.json.encode(row.fields)
            yield Entry(position, event, raw)

    def _row_source(self) -> Iterator[tuple[Row, bytes | None]]:
        if self.format == GEOJSON:
            data = self._file.read(MAX_GEOJSON_BYTES + 1)
            if len(data) > MAX_GEOJSON_BYTES:
                found, hint = f"over {MAX_GEOJSON_BYTES} bytes", "write it as lines, which have no bound"
                raise LimitError(Problem("limit-reached", self.path, found, "a FeatureCollection below that", hint))
            yield from read_geojson(data, self.path)
            return
        rows = (
            read_parquet(self._file, self.path)
            if self.format == PARQUET
            else read_arrow(self._file, self.path, stream=self.format == ARROW_STREAM)
        )
        for row in rows:
            yield row, None

    def _taken(self, row: Row) -> Event | InputError:
        problems = list(row.problems)
        if row.fields:
            try:
                event = event_from_fields(row.fields, self.space)
            except InputError as error:
                # A field whose text is no JSON is of the wrong type too, which needs no saying.
                seen = [f"{problem.place}." for problem in problems]
                problems += [p for p in error.problems if not any(place.startswith(f"{p.place}.") for place in seen)]
            else:
                if not problems and _fits_a_line(event):
                    return event
                problems = problems or [line_too_long()]
        elif not problems:
            problems = [Problem("field-missing", "$.op", "nothing", "the field `op`")]
        return InputError(problems)


def open_events(path: str | Path, space: Space = Globe()) -> EventFile:  # noqa: B008
    """Open a file of events of any format; iterate over it for an `Entry` each."""
    return EventFile(path, space)


def write_events(path: str | Path, events: Iterable[Event]) -> int:
    """Write events in the format of the path's suffix, whole or not at all; answers how many."""
    suffix, compression = suffix_of(path)
    kind = LINES if str(path) == STANDARD or suffix == ".json" else _SUFFIXES.get(suffix)
    if kind is None:
        raise FileError(Problem("file-format", str(path), suffix or "no suffix", f"one of {', '.join(_SUFFIXES)}"))
    if compression is not None and kind not in (LINES, GEOJSON):
        raise FileError(_inside(path))
    with whole_file(path) as file:
        return _WRITERS[kind, suffix == ".arrows"](file, events)


def configured_space(raw: bytes) -> Space | None:
    """The space that the `configure` on a line names, even when something else is wrong with the line."""
    try:
        return space_of_fields(fields_of(raw))
    except InputError:
        return None


def _write_lines(file: BinaryIO, events: Iterable[Event]) -> int:
    count = 0
    for event in events:
        line = encode_event(event)
        if len(line) > MAX_LINE_BYTES:
            raise LimitError(line_too_long(len(line)))
        file.write(line + b"\n")
        count += 1
    return count


_WRITERS: Final[dict[tuple[str, bool], Callable[[BinaryIO, Iterable[Event]], int]]] = {
    (LINES, False): _write_lines,
    (GEOJSON, False): write_geojson,
    (ARROW_FILE, False): lambda file, events: write_arrow(file, events, stream=False),
    (ARROW_STREAM, True): lambda file, events: write_arrow(file, events, stream=True),
    (PARQUET, False): write_parquet,
}


def _opened(path: str, stack: ExitStack) -> tuple[str, BinaryIO]:
    if path == STANDARD:
        return LINES, sys.stdin.buffer
    try:
        file: BinaryIO = stack.enter_context(open(path, "rb"))  # noqa: SIM115
        start = _peeked(file)
        compression = next((name for magic, name in _COMPRESSED.items() if start.startswith(magic)), None)
        if compression is not None:
            file = cast(BinaryIO, stack.enter_context(pa.input_stream(file, compression=compression)))
            start = b""
    except OSError as error:
        raise FileError(Problem("file-unreadable", path, error.strerror or str(error), "a file to read")) from None
    named = _SUFFIXES.get(suffix_of(path)[0], "")
    found = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    if found is None and named in ("", GEOJSON, LINES):
        kind = named or (GEOJSON if b'"FeatureCollection"' in start else LINES)
    elif compression is not None:
        raise FileError(_inside(path))
    else:
        kind = found or ""
    if named and kind != named and {kind, named} != {ARROW_FILE, ARROW_STREAM}:
        raise FileError(
            Problem("file-format", path, f"{kind or 'something else'} inside", f"{named}, as its name says")
        )
    return kind, file


def _peeked(file: BinaryIO) -> bytes:
    """The first bytes, which stay there to be read."""
    peek: Callable[[int], bytes] = getattr(file, "peek")  # noqa: B009
    return peek(_PEEK_BYTES)


def _inside(path: str | Path) -> Problem:
    return Problem("file-format", str(path), "a compressed table", "a table that is compressed inside or not at all")


def _fits_a_line(event: Event) -> bool:
    if isinstance(event, Publish):
        n_characters = len(event.text or "") + sum(len(word) + 1 for word in event.words or ())
        if n_characters < _SMALL:
            return True
    return len(encode_event(event)) <= MAX_LINE_BYTES
