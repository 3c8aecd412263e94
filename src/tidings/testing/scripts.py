"""Scripted sources: events with markers that end, abort or pause them.

    script = Script([register, message, ABORT, another, END])

Iterating over a script gives its events up to the next marker that stops it. A marker acts once. Iterating again goes
on behind it, as a program does that is started again after it was killed; whatever the killed run did not keep, it has
to find again by itself.

`END`       the iteration is over, as if the input were. What comes after is for the next iteration.
`ABORT`     raises `Aborted`, which no `except Exception` catches: nothing that follows is given, nobody cleans up.
`Pause(s)`  waits so many seconds, or with `Pause()` until somebody calls `release` on it.
"""

import threading
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, TypeAlias

from tidings.model.events import Event


class Aborted(BaseException):
    """A script reached `ABORT`: the process is to be thought of as killed here."""


class Marker(Enum):
    """Where a script stops."""

    END = "end"
    ABORT = "abort"

    def __repr__(self) -> str:
        return self.name


END: Final = Marker.END
ABORT: Final = Marker.ABORT


class Pause:
    """A script waits here."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds: Final = seconds
        """How long; None for until `release`."""
        self._reached = threading.Event()
        self._released = threading.Event()

    def __repr__(self) -> str:
        return f"Pause({'' if self.seconds is None else self.seconds})"

    def wait_until_reached(self, timeout_s: float = 30.0) -> None:
        """Return once a script has come here; everything before it was given."""
        if not self._reached.wait(timeout_s):
            raise TimeoutError(f"no script has come to {self!r} within {timeout_s} s")

    def release(self) -> None:
        """Let the script go on, also when it has not come here yet."""
        self._released.set()

    def pass_through(self) -> None:
        """What the script does here."""
        self._reached.set()
        self._released.wait(self.seconds)


Step: TypeAlias = Event | bytes | Marker | Pause
"""An event, also as a line of JSON, or a marker."""


class Script:
    """A source of events; for one thread at a time."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps: Final = tuple(steps)
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Whether everything was given and every marker has acted."""
        return self._next == len(self._steps)

    @property
    def stops_next(self) -> bool:
        """Whether what comes next is a marker, or nothing."""
        return self.is_over or isinstance(self._steps[self._next], Marker | Pause)

    @property
    def events(self) -> list[Event | bytes]:
        """All events, markers left out: what a run sees that nothing stops."""
        return [step for step in self._steps if not isinstance(step, Marker | Pause)]

    def __iter__(self) -> Iterator[Event | bytes]:
        while self._next < len(self._steps):
            step = self._steps[self._next]
            self._next += 1
            match step:
                case Marker.END:
                    return
                case Marker.ABORT:
                    raise Aborted(f"step {self._next - 1}")
                case Pause():
                    step.pass_through()
                case _:
                    yield step
