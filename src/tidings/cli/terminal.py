"""What a terminal gets and a pipe does not: colour, and a line that says how far long work is."""

import os
import sys
import time
from types import TracebackType
from typing import Final, Self, TextIO

FIRST_AFTER_S: Final = 0.5
"""Work that is quicker than this shows no progress."""
EVERY_S: Final = 0.1

_STYLES: Final = {"bad": "1;31", "good": "32", "name": "36", "faint": "2", "strong": "1", "warn": "33"}


def has_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose owner wants colour."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Paint:
    """Text in the colours of a stream, or as it is where there are none, or no stream."""

    def __init__(self, stream: TextIO | None) -> None:
        self._on: Final = stream is not None and has_colour(stream)

    def __call__(self, text: str, style: str) -> str:
        """The text in this style."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._on else text


class Progress:
    """A line on standard error that is written over and over while work goes on, and is gone at its end.

    Only a terminal gets it. A context manager; call it with what there is to say as often as you like.
    """

    def __init__(self, quiet: bool = False, steps: bool = False) -> None:
        """`steps`: each text is a step that may take long, and is shown at once."""
        self._on: Final = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._every_s: Final = 0.0 if steps else EVERY_S
        self._next = 0.0 if steps else time.monotonic() + FIRST_AFTER_S
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def __call__(self, text: str) -> None:
        """Say this, unless something was said a moment ago."""
        if self._on and time.monotonic() >= self._next:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            sys.stderr.write("\r" + text[: width - 1] + "\x1b[K")
            sys.stderr.flush()
            self._shown = True
            self._next = time.monotonic() + self._every_s

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def counted(n: int, what: str) -> str:
    """A number with its noun: `1 event`, `12,000 events`."""
    return f"{n:,} {what if n == 1 else what + 's'}"


def lasted(seconds: float) -> str:
    """How long something took."""
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"
