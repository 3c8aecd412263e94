"""Logs that are fed by a script, so that a pipeline which reads them can be tested from outside.

A pipeline knows its log and nothing of who appends to it. So whatever is to be tested, from a batch that is cut in
two to a driver that is killed between two batches, a test plays into the log and looks at the deliveries.
"""

import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tidings.log.store import EventLog
from tidings.model.events import Configure, Event
from tidings.testing.scripts import Script, Step


class ScriptedLog:
    """A log that scripts are played into; a context manager.

    An event is in the log, durable and visible to every reader, before the script goes on to its next marker: at a
    `Pause` and at `ABORT` all that stands before it can be read, and nothing of what stands behind it.
    """

    def __init__(self, path: str | Path, configuration: Configure | None = None) -> None:
        self.path: Final = Path(path)
        self.log: Final = EventLog.open(self.path, create=True)
        if configuration is not None:
            self.log.append([configuration])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def end(self) -> int:
        """The next position: a pipeline that has done this much is done."""
        return self.log.end

    def append(self, *events: Event | bytes) -> int:
        """Append events in one go; the position of the first."""
        return self.log.append(events).first

    def play(self, steps: Script | Iterable[Step], *, group: int = 1) -> int:
        """Append events up to the next marker that stops the script, `group` at a time; the log's end then.

        `ABORT` raises `Aborted` and leaves the log open, as a killed process does.
        """
        script = steps if isinstance(steps, Script) else Script(steps)
        gathered: list[Event | bytes] = []
        for event in script:
            gathered.append(event)
            if len(gathered) >= group or script.stops_next:
                self.log.append(gathered)
                gathered = []
        return self.end

    def play_later(self, steps: Script | Iterable[Step], *, group: int = 1) -> "Playing":
        """The same in a thread of its own, for a test that looks on."""
        return Playing(self, steps if isinstance(steps, Script) else Script(steps), group)

    def close(self) -> None:
        """Let go of the log."""
        self.log.close()


class Playing:
    """A script that is being played."""

    def __init__(self, log: ScriptedLog, script: Script, group: int) -> None:
        self._log = log
        self._script = script
        self._group = group
        self._stopped_by: BaseException | None = None
        self._thread = threading.Thread(target=self._play, name="script", daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float = 60.0) -> int:
        """Wait until the script stops; the log's end then. What stopped it otherwise than `END` is raised."""
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise TimeoutError(f"the script still plays after {timeout_s} s")
        if self._stopped_by is not None:
            raise self._stopped_by
        return self._log.end

    def _play(self) -> None:
        try:
            self._log.play(self._script, group=self._group)
        except BaseException as error:
            self._stopped_by = error


@contextmanager
def temporary_log(*steps: Step, configuration: Configure | None = None) -> Iterator[ScriptedLog]:
    """A log in a folder of its own, which goes when the context ends; `steps` are played into it first."""
    with tempfile.TemporaryDirectory(prefix="tidings-") as folder:
        log = ScriptedLog(Path(folder) / "test.log", configuration)
        try:
            log.play(steps, group=1000)
            yield log
        finally:
            log.close()
