"""What `tidings run` did, on whichever engine."""

from typing import NamedTuple


class Replayed(NamedTuple):
    """What came of a log."""

    events: int
    deltas: int
    rejected: int
    problems: int
    seconds: float
