"""Lines of a binary stream, with a bound on what one line may be, in memory that does not depend on the input."""

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, NamedTuple

from tidings.log.wire import line_too_long
from tidings.model.errors import Problem
from tidings.model.limits import MAX_LINE_BYTES

CHUNK_BYTES: Final = 1 << 18
SHOWN_BYTES: Final = 1024
"""So much of a line that is too long is kept, to show it."""


class Line(NamedTuple):
    """One line, without its end."""

    position: int
    """The line number from 0."""
    data: bytes
    problem: Problem | None = None
    """Why this is no line of an event file; `data` is then what there is to show."""


def read_lines(file: BinaryIO) -> Iterator[Line]:
    """The lines of a stream, from where it stands.

    Lines end in LF or CRLF; the last one may lack its end. An empty line is a problem when others follow it: the
    position of an event is the number of its line. The bound does not count the line's end. A line without an end in
    sight is dropped as it arrives, so that not even one of gigabytes is ever held.
    """
    position, empty = 0, 0
    for data, too_long in _pieces(file):
        if not data.strip():
            empty += 1
            continue
        for missed in range(empty):
            hint = "leave the line out, or give it an event; a `tick` does no harm"
            yield Line(position + missed, b"", Problem("line-empty", "$", "an empty line", "one JSON object", hint))
        position, empty = position + empty, 0
        yield Line(position, data, line_too_long() if too_long else None)
        position += 1


def _pieces(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Every line, and whether it was cut because it is too long."""
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    rest, dropping = b"", False
    while chunk := read(CHUNK_BYTES):
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            lines[0] = rest if dropping else rest + lines[0]
            rest = lines.pop()
            yield from map(_piece, lines) if not dropping else _after_drop(lines)
            dropping = False
        elif not dropping:
            rest += lines[0]
        if len(rest) > MAX_LINE_BYTES + 1:
            rest, dropping = rest[:SHOWN_BYTES], True
    if rest:
        yield (rest, True) if dropping else _piece(rest)


def _after_drop(lines: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    yield lines[0], True
    yield from map(_piece, lines[1:])


def _piece(line: bytes) -> tuple[bytes, bool]:
    line = line.removesuffix(b"\r")
    return (line[:SHOWN_BYTES], True) if len(line) > MAX_LINE_BYTES else (line, False)
