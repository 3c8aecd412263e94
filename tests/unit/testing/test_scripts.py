"""Scripts stop, abort and pause where they say, and go on behind that."""

import threading

import pytest

from tidings import Publish
from tidings.testing import ABORT, END, Aborted, Pause, Script

A, B, C = (Publish(name, at=(0.0, 0.0), text="flood") for name in "abc")


def test_end_is_the_end_of_one_run():
    script = Script([A, END, B, C])
    assert list(script) == [A]
    assert not script.is_over
    assert list(script) == [B, C]
    assert script.is_over
    assert list(script) == []
    assert script.events == [A, B, C]


def test_abort_is_not_caught_by_accident():
    script, given = Script([A, ABORT, B]), []

    def run() -> None:
        try:
            given.extend(script)
        except Exception:
            given.append("cleaned up")

    with pytest.raises(Aborted):
        run()
    assert given == [A]
    assert list(script) == [B]


def test_a_pause_waits_to_be_released():
    pause, given = Pause(), []
    thread = threading.Thread(target=lambda: given.extend(Script([A, pause, B])))
    thread.start()
    pause.wait_until_reached()
    assert thread.is_alive()
    pause.release()
    thread.join(10)
    assert given == [A, B]


def test_a_pause_of_some_seconds_passes():
    assert list(Script([A, Pause(0.01), B])) == [A, B]


def test_a_pause_that_nobody_comes_to():
    with pytest.raises(TimeoutError, match="Pause"):
        Pause().wait_until_reached(0.01)
