"""Scripts in logs, and what is expected of them."""

from pathlib import Path

import pytest

from tidings import Box, Configure, Publish, Register, Tick, Window, Within
from tidings.model.errors import InputError
from tidings.testing import (
    ABORT,
    END,
    Aborted,
    Clock,
    Crash,
    Crashing,
    Pause,
    Script,
    ScriptedLog,
    assert_exactly,
    crashing_index,
    expect_deltas,
    temporary_log,
)

SUBSCRIPTION = Register(Within("s", Box((0.0, 0.0, 9.0, 9.0)), when="flood"))


def message(name: str, **fields) -> Publish:
    return Publish(name, at=(1.0, 1.0), text="Flood", **fields)


def test_a_script_is_in_the_log_up_to_its_marker(tmp_path: Path):
    script = Script([SUBSCRIPTION, message("a"), ABORT, message("b"), END, message("c")])
    log = ScriptedLog(tmp_path / "x.log")
    with pytest.raises(Aborted):
        log.play(script, group=10)
    assert log.end == 2
    with ScriptedLog(tmp_path / "x.log") as again:
        assert again.play(script) == 3
        assert again.play(script) == 4
        deltas = expect_deltas(again)
    assert [(delta.position, delta.message) for delta in deltas] == [(1, "a"), (2, "b"), (3, "c")]
    assert expect_deltas(tmp_path / "x.log") == deltas == expect_deltas(script)
    assert [delta.message for delta in expect_deltas(tmp_path / "x.log", skip={2}, within="brute")] == ["a", "c"]


def test_a_pause_lets_others_read(tmp_path: Path):
    pause = Pause()
    with ScriptedLog(tmp_path / "x.log") as log:
        playing = log.play_later([SUBSCRIPTION, message("a"), pause, message("b")], group=100)
        pause.wait_until_reached()
        assert log.end == 2
        pause.release()
        assert playing.wait() == 3
        with pytest.raises(Aborted):
            log.play_later([ABORT]).wait()


def test_a_log_for_a_moment():
    with temporary_log(SUBSCRIPTION, message("a"), configuration=Configure(window=Window(messages=1))) as log:
        path = log.path
        assert [delta.position for delta in expect_deltas(log)] == [2]
    assert not path.exists()


def test_a_clock_is_set_by_hand():
    clock = Clock(1000)
    assert (clock(), clock.time()) == (1000, 1.0)
    clock.sleep(2)
    assert clock.advance(5, minutes=1) == 63_005
    assert clock.tick(5) == Tick(63_010)
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


def test_what_is_wrong_is_told():
    deltas = expect_deltas([SUBSCRIPTION, message("a"), message("b"), message("c")])
    assert_exactly(deltas, deltas)
    with pytest.raises(AssertionError, match=r"1 lost.*message='b'.*1 doubled.*message='c'"):
        assert_exactly([deltas[0], deltas[2], deltas[2]], deltas)
    with pytest.raises(AssertionError, match="order"):
        assert_exactly(deltas[::-1], deltas)
    with pytest.raises(AssertionError, match="proves nothing"):
        assert_exactly([], [])
    with pytest.raises(AssertionError, match="1 unasked for"):
        assert_exactly(deltas, deltas[:2])


def test_events_that_cannot_be_are_told():
    with pytest.raises(InputError, match="id-taken"):
        expect_deltas([SUBSCRIPTION, SUBSCRIPTION])


def test_a_function_fails_when_it_is_told_to():
    double = Crashing(lambda x: 2 * x, at=2, times=2, error=OSError)
    answers = []
    for _ in range(4):
        try:
            answers.append(double(4))
        except OSError as error:
            answers.append(str(error))
    assert answers == [8, "call 2", "call 3", 8]
    assert double.calls == 4


def test_an_index_is_poisoned_or_fails_for_a_while(tmp_path: Path):
    events = [SUBSCRIPTION, message("a"), message("b")]
    with pytest.raises(Crash, match="position 2"):
        expect_deltas(events, within=crashing_index(2))
    assert len(expect_deltas(events, within=crashing_index(2), skip={2})) == 1
    name = crashing_index(2, times=2, folder=tmp_path, of="brute")
    for _ in range(2):
        with pytest.raises(Crash):
            expect_deltas(events, within=name)
    assert len(expect_deltas(events, within=name)) == 2
    with pytest.raises(ValueError, match="folder"):
        crashing_index(2, times=2)
    with pytest.raises(InputError, match="method-unknown"):
        expect_deltas(events, within="tidings.testing.crashing:Nothing")
