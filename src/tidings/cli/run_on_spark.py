"""`tidings run --on spark`: a file goes through the pipeline, by a log that lives as long as the run.

Positions of the answer are line numbers of the file. The log has no gaps where lines were rejected, so the two are
translated into each other.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

from tidings.cli.replayed import Replayed
from tidings.columns.encode import BlockBuilder
from tidings.log.deliveries import open_deliveries
from tidings.log.deltas_file import DeltasFile
from tidings.log.files import open_events
from tidings.log.intake import Intake
from tidings.log.output import whole_file
from tidings.log.store import EventLog
from tidings.log.wire import encode_event
from tidings.model.events import Configure, Event, Publish
from tidings.spark.metrics import Metrics
from tidings.spark.running import running
from tidings.spark.settings import DEFAULT_METHODS, PipelineSettings

Int64s = npt.NDArray[np.int64]


class Lines:
    """Makes lines of events, with all checks that a block would bring."""

    def __init__(self, configuration: Configure) -> None:
        self._checks: Final = BlockBuilder(configuration)
        self._positions: list[int] = []
        self._lines: list[bytes] = []

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, position: int, event: Event) -> None:
        """Add an event that can be."""
        if not isinstance(event, Publish):
            self._checks.add(position, event)
        self._positions.append(position)
        self._lines.append(encode_event(event))

    def build(self) -> tuple[list[int], list[bytes]]:
        """The lines and their positions, and start anew."""
        built = self._positions, self._lines
        self._checks.build()
        self._positions, self._lines = [], []
        return built


def replay_on_spark(
    log: str,
    out: str,
    *,
    methods: dict[str, str],
    master: str,
    plan: str,
    shards: int,
    with_message: bool = False,
    rejects: str | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> Replayed:
    """Replay a file of events on Spark and write its deltas."""
    start = time.perf_counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidings-run-")))
        events = stack.enter_context(open_events(log))
        bad: BinaryIO | None = None if rejects is None else stack.enter_context(whole_file(rejects))
        intake: Intake[tuple[list[int], list[bytes]]] = Intake(events, Lines, rejects=bad)
        positions = _append_all(folder / "log", intake, told)
        if rejects is None:
            intake.raise_problems()
        told("starting Spark")
        settings = PipelineSettings(
            log=str(folder / "log"), plan=plan, shards=shards, methods=DEFAULT_METHODS | methods, target_s=10.0
        )
        running(
            settings,
            master,
            metrics=Metrics(),
            stopping=threading.Event(),
            once=True,
            on_commit=lambda report: told(f"{report.end:,} of {len(positions):,} events"),
        )
        n_written = _export(settings, folder / "log", out, positions, with_message)
    return Replayed(intake.n_events, n_written, intake.n_rejected, intake.n_problems, time.perf_counter() - start)


def _append_all(path: Path, intake: Intake[tuple[list[int], list[bytes]]], told: Callable[[str], None]) -> Int64s:
    """Append the good events; by position in the log, the line of the file."""
    with EventLog.open(path, create=True) as log:
        numbers: list[Int64s] = [np.zeros(0, np.int64)]
        for positions, lines in intake:
            log.append(lines)
            numbers.append(np.array(positions, np.int64))
            told(f"{intake.n_events:,} events read")
        return np.concatenate(numbers)


def _export(settings: PipelineSettings, path: Path, out: str, positions: Int64s, with_message: bool) -> int:
    with EventLog.open(path, read_only=True) as log:

        def published(lines: list[int]) -> list[bytes | str]:
            at = np.searchsorted(positions, np.array(lines, np.int64)).tolist()
            return [next(log.frames(position, position + 1)).payload for position in at]

        with DeltasFile(out, message_events=published if with_message else None) as file:
            if len(positions):
                deliveries = open_deliveries(settings.state_folder)
                for deltas in deliveries.read(0):
                    file.write(
                        deltas._replace(
                            position=positions[deltas.position], message_position=positions[deltas.message_position]
                        )
                    )
                deliveries.close()
            return file.n_written
