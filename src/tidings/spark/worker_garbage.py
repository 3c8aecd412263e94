"""What a worker need not look at when it looks for garbage.

PySpark has a worker do that after each task, among all objects that there are. Kernels, and what Numba keeps of them,
are loaded by the first tasks, so the daemon could not set them apart: looking at them took a third of a worker's time.
"""

import gc

_tasks = 0


def set_apart() -> None:
    """At the end of a task: now and then, set what lives apart from what will be looked at. Each time after twice as
    many tasks, so that little is kept that would have become garbage later.
    """
    global _tasks
    _tasks += 1
    if _tasks & (_tasks - 1) == 0:
        gc.collect()
        gc.freeze()
