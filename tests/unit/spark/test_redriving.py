"""An event that was set aside goes to the log again, once, whatever the log thinks of its id."""

import json
from pathlib import Path

import pytest

from tidings.log.deliveries import open_deliveries
from tidings.log.store import EventLog
from tidings.model.errors import InputError, Problem
from tidings.spark.redriving import redriven

REGISTER = b'{"op":"register","id":"s1","kind":"within","when":"flood","where":"everywhere"}'
PUBLISH = b'{"op":"publish","id":"m1","at":[1.0,2.0],"text":"flood"}'


@pytest.fixture
def state(tmp_path: Path) -> str:
    """A log of two events that were both set aside, and one that was refused."""
    with EventLog.open(tmp_path / "log", create=True) as log:
        log.append([REGISTER, PUBLISH])
    state = str(tmp_path / "log.state")
    deliveries = open_deliveries(state, create=True)
    epoch = deliveries.claim()
    for position, event in enumerate((REGISTER, PUBLISH)):
        deliveries.set_aside(epoch, position, event, Problem("poison", "$", "IndexError: 7", "an event"), 3)
    deliveries.set_aside(epoch, 2, b"junk", Problem("json-invalid", "$", "junk", "JSON"), 0)
    deliveries.close()
    return state


def events_of(path: Path) -> list[dict[str, object]]:
    with EventLog.open(path, read_only=True) as log:
        return [json.loads(line) for frame in log.frames(0, log.end) for line in frame.lines()]


def test_all_that_waits_is_given_again_once(state: str, tmp_path: Path):
    done = redriven(str(tmp_path / "log"), state)
    assert [(one.position, one.again) for one in done] == [(0, 2), (1, 3)]
    assert "IndexError: 7" in done[0].reason
    assert [event["op"] for event in events_of(tmp_path / "log")] == ["register", "publish"] * 2
    assert redriven(str(tmp_path / "log"), state) == []
    # The log goes on judging as if the ids had been taken once.
    with EventLog.open(tmp_path / "log") as log, pytest.raises(InputError):
        log.append([REGISTER])


def test_one_that_ended_between_its_two_steps_is_not_given_twice(state: str, tmp_path: Path, monkeypatch):
    from tidings.log.deliveries_sqlite import SqliteDeliveries

    def ends(self, position):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SqliteDeliveries, "redriven", ends)
        with pytest.raises(KeyboardInterrupt):
            redriven(str(tmp_path / "log"), state, [1])
    assert [one.again for one in redriven(str(tmp_path / "log"), state, [1])] == [2]
    assert len(events_of(tmp_path / "log")) == 3


def test_what_does_not_wait_is_an_error(state: str, tmp_path: Path):
    with pytest.raises(InputError) as raised:
        redriven(str(tmp_path / "log"), state, [0, 2, 77])
    assert [problem.found for problem in raised.value.problems] == ["2", "77"]
    assert len(events_of(tmp_path / "log")) == 2
