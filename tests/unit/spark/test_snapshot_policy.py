from tidings.spark.snapshot_policy import SnapshotPolicy


class Seconds:
    """A clock of seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def policy(clock: Seconds) -> SnapshotPolicy:
    return SnapshotPolicy(100, events=1000, seconds=60.0, share=0.05, clock=clock)


def test_due_by_events():
    due = policy(Seconds())
    assert not due.due(1099)
    assert due.due(1100)


def test_due_by_time_when_there_is_anything_new():
    clock = Seconds()
    due = policy(clock)
    clock.now = 61.0
    assert not due.due(100)
    assert due.due(101)


def test_never_for_more_than_its_share_of_the_time():
    clock = Seconds()
    due = policy(clock)
    due.taken(2000, 2.0)
    clock.now = 39.0
    assert not due.due(10_000)
    clock.now = 40.5
    assert due.due(10_000)
