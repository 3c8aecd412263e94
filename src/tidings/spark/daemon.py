"""The process that Spark forks its Python workers from, with everything imported that they need.

Without it each new worker imports NumPy, pandas, PyArrow, Numba and Tidings by itself (0.6 s of processor time). And
after each task PySpark has the worker look for garbage among all objects that there are: with these packages that is
60 ms of processor time per task, and none once the objects of the packages are set apart. Together: 353 -> 232 ms of
processor time per small micro-batch on two cores.

No kernel is run here: where none is compiled yet, that would keep Spark waiting for minutes. A worker loads those that
it needs in 0.3 s.

Where anything goes wrong here, workers start as they always did.
"""

import gc
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, Final

WORKER: Final = "pyspark.worker"
"""The only kind of worker that matches; the others plan and end, so nothing is prepared for them."""

GONE: Final = 1
"""What a worker returns whose other end is gone: anything but 0, after which it would be asked for more."""

NEEDED: Final = (
    "pandas",
    "pyarrow",
    "pyspark.worker",
    "tidings.spark.shard_task",
    "tidings.spark.block_source",
)
"""What the workers of a pipeline import, directly or not."""


def prepare() -> None:
    """Import what workers need, and keep it out of their search for garbage."""
    # OpenBLAS would start threads, which a forked process does not have.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except Exception as error:  # a worker that needs it will say so again, where it is seen
            print(f"tidings: {name} could not be imported ahead: {error}", file=sys.stderr)
    gc.collect()
    gc.freeze()


def main() -> None:
    """Prepare, then be the daemon that PySpark would have started."""
    if sys.argv[1:2] in ([], [WORKER]):
        prepare()
    from pyspark import daemon

    daemon.worker = quiet(daemon.worker)
    daemon.manager()


def quiet(worker: Callable[..., int]) -> Callable[..., int]:
    """A worker that ends in silence when nobody listens any more: Spark has stopped, and that is no error."""

    def work(*given: Any) -> int:
        try:
            return worker(*given)
        except (BrokenPipeError, ConnectionResetError):
            return GONE

    return work


if __name__ == "__main__":
    main()
