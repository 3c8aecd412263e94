"""`python -m tests.crash.victim ORDERS`: a pipeline in a process of its own, to be killed; at a moment it is told, by
its own hand.
"""

import errno
import os
import random
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Final

import msgspec

DONE: Final = 0
FAILED: Final = 70
FULL: Final = 74
STALE: Final = 75


class Strike(msgspec.Struct):
    """A call of the driver at which it dies, or finds its disk full."""

    what: str
    """`plan` or `commit`,"""
    call: int
    """the n-th,"""
    when: str
    """`before`, `during` or `after`."""
    microseconds: int = 0
    """How far into it."""
    full: bool = False
    """Not to die but to fail, for want of room."""


class Orders(msgspec.Struct):
    """What a victim does."""

    log: str
    state: str
    store: str
    local: str | None
    master: str
    shards: int
    max_events: int
    snapshot_events: int
    methods: dict[str, str]
    until: int
    conf: dict[str, str]
    scratch: str
    strike: Strike | None = None


class Struck:
    """Deliveries that strike at a call, and are themselves at all others."""

    def __init__(self, deliveries: Any, strike: Strike) -> None:
        self._deliveries = deliveries
        self._strike = strike
        self._calls = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._deliveries, name)
        return self._struck(found) if name == self._strike.what else found

    def _struck(self, call: Any) -> Any:
        def made(*arguments: Any) -> None:
            self._calls += 1
            strike = self._strike
            if self._calls != strike.call:
                call(*arguments)
                return
            print(f"strikes {strike.when} {strike.what}", flush=True)
            if strike.full:
                from tidings.log.durable_files import file_errors

                with file_errors("deliveries"):
                    raise OSError(errno.ENOSPC, "as ordered")
            if strike.when == "during":
                threading.Thread(target=_die_later, args=(strike.microseconds / 1e6,), daemon=True).start()
            elif strike.when == "before":
                _die()
            call(*arguments)
            if strike.when == "after":
                _die()
            # It was faster than its death, which comes all the same.
            time.sleep(1.0)

        return made


def _die_later(seconds: float) -> None:
    time.sleep(seconds)
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(orders: Orders) -> int:
    """Run the pipeline until all is done."""
    os.environ["TMPDIR"] = orders.scratch
    from tidings.model.errors import StaleEpochError, TidingsError
    from tidings.spark import pipeline
    from tidings.spark.metrics import BatchReport, Metrics
    from tidings.spark.running import running
    from tidings.spark.settings import PipelineSettings

    if orders.strike is not None:
        opened = pipeline.open_deliveries

        def open_struck(*arguments: Any, **more: Any) -> Any:
            return Struck(opened(*arguments, **more), orders.strike)  # type: ignore[arg-type]

        pipeline.open_deliveries = open_struck
    settings = PipelineSettings(
        log=orders.log,
        state=orders.state,
        store=orders.store,
        local=orders.local,
        shards=orders.shards,
        max_events=orders.max_events,
        snapshot_events=orders.snapshot_events,
        snapshot_share=1.0,
        methods=orders.methods,
    )
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.set())

    def on_commit(report: BatchReport) -> None:
        print(f"{time.time():.3f} done {report.end} , tries {report.tries}, rebuilt {report.rebuilt}", flush=True)
        if report.end >= orders.until:
            stopping.set()

    try:
        metrics = Metrics()
        running(settings, orders.master, metrics=metrics, stopping=stopping, conf=orders.conf, on_commit=on_commit)
    except TidingsError as error:
        traceback.print_exc()
        code = error.problems[0].code
        return STALE if isinstance(error, StaleEpochError) else FULL if code == "disk-full" else FAILED
    except Exception:
        traceback.print_exc()
        return FAILED
    return DONE


if __name__ == "__main__":
    random.seed()
    status = main(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Orders))
    sys.stdout.flush()
    sys.stderr.flush()
    # Java may be gone or stuck, and nobody waits for that.
    os._exit(status)
