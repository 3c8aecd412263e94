"""What a worker need not look at when it looks for garbage.

PySpark has a worker do that after each task, among all objects that there are. Kernels, what Numba keeps of them, and
the expressions that a decoder remembers come with the first tasks, so the daemon could not set them apart: looking at
them took a third of a worker's time.
"""

import gc
import time
from typing import Any, Final

MOST_S: Final = 0.003
"""A search that takes longer has found many objects that live."""
_WHOLE: Final = 2
_began = 0.0


def set_apart() -> None:
    """From now on, what a search has found alive at some cost is not searched again."""
    if _searched not in gc.callbacks:
        gc.callbacks.append(_searched)


def _searched(phase: str, info: dict[str, Any]) -> None:
    global _began
    if info["generation"] != _WHOLE:
        return
    if phase == "start":
        _began = time.perf_counter()
    elif time.perf_counter() - _began > MOST_S:
        # What was garbage has just gone, so everything that there is lives.
        gc.freeze()
