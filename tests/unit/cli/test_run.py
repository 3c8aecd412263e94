"""`tidings run`: files, pipes, problems and statuses."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.ipc
import pyarrow.parquet
import pytest
from tests.unit.cli.conftest import COMMAND, EVENTS, deltas_of, environment, lines

from tidings.log.files import open_events
from tidings.matching.engine import Engine

BAD = [
    {"op": "publish", "id": "b1", "at": [200, 48], "text": "off the globe"},
    {"op": "register", "id": "b2", "kind": "within", "when": "flood AND (", "where": "everywhere"},
    {"op": "remove", "id": "nobody"},
]


def expected(log: Path) -> list[tuple[int, str, str, str]]:
    with open_events(log) as events:
        configure, *others = [entry.event for entry in events]
        deltas = Engine(configure).run(others)
        return [(delta.position + 1, delta.subscription, delta.message, delta.op) for delta in deltas]


def told(text: str) -> list[tuple[int, str, str, str]]:
    return [(line["position"], line["subscription"], line["message"], line["op"]) for line in deltas_of(text)]


def test_the_deltas_are_those_of_the_engine(tidings, log, tmp_path):
    ran = tidings("run", log, "--out", "deltas.ndjson")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "10 events, 16 deltas" in ran.stderr
    answer = (tmp_path / "deltas.ndjson").read_text()
    assert len(expected(log)) == 16
    assert told(answer) == expected(log)
    first, scored = deltas_of(answer)[0], deltas_of(answer)[2]
    assert list(first) == ["position", "subscription", "message", "op"]
    assert list(scored) == ["position", "subscription", "message", "op", "score"]


def test_pipes_in_and_out(tidings, log):
    ran = tidings("run", "-", "--out", "-", "--quiet", stdin=log.read_text())
    assert (ran.returncode, ran.stderr) == (0, "")
    assert told(ran.stdout) == expected(log)
    assert tidings("run", log).stdout == ran.stdout


def test_parquet_in_and_arrow_out(tidings, log, tmp_path):
    assert tidings("convert", log, "events.parquet").returncode == 0
    assert tidings("run", "events.parquet", "--out", "deltas.arrow", "--quiet").returncode == 0
    with pyarrow.ipc.open_file(tmp_path / "deltas.arrow") as file:
        table = file.read_all()
    columns = zip(*(table[name].to_pylist() for name in ("position", "subscription", "message", "op")), strict=True)
    assert list(columns) == expected(log)


@pytest.mark.parametrize("kind", ["within", "around", "best", "nearest"])
def test_every_kind_takes_a_method_and_refuses_an_unknown_one(tidings, log, kind):
    assert told(tidings("run", log, f"--{kind}", "brute").stdout) == expected(log)
    ran = tidings("run", log, f"--{kind}", "nonsense")
    assert ran.returncode == 2
    assert "method-unknown" in ran.stderr
    assert "brute" in ran.stderr


def test_with_message_each_delta_carries_its_event(tidings, log):
    rows = deltas_of(tidings("run", log, "--with", "message").stdout)
    assert len(rows) == 16
    published = {event["id"]: event for event in EVENTS if event["op"] == "publish"}
    assert all(row["message_event"] == published[row["message"]] for row in rows)


def test_with_message_forgets_the_dead_and_nothing_else(tidings, tmp_path):
    events = [{"op": "configure", "window": {"messages": 3}}]
    events.append({"op": "register", "id": "a", "kind": "around", "at": [0, 0], "shape": {"radius_m": 10}})
    events += [{"op": "publish", "id": f"m{number}", "at": [0, 0], "words": ["w"]} for number in range(40_000)]
    (tmp_path / "long.ndjson").write_text(lines(events))
    ran = tidings("run", "long.ndjson", "--with", "message")
    rows = deltas_of(ran.stdout)
    assert len(rows) == 40_000 + 40_000 - 3
    assert all(row["message"] == row["message_event"]["id"] for row in rows)


def test_with_problems_nothing_is_written_and_all_are_told(tidings, tmp_path):
    (tmp_path / "bad.ndjson").write_text(lines([*EVENTS, *BAD]))
    ran = tidings("run", "bad.ndjson", "--out", "deltas.ndjson")
    assert ran.returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.ndjson"]
    for part in ("place-outside", "expression-syntax", "id-unknown", "line 11 (position 10)", "line 13", "nobody"):
        assert part in ran.stderr
    assert "\x1b" not in ran.stderr
    caret = [line for line in ran.stderr.splitlines() if line.strip() == "^"]
    written = [line for line in ran.stderr.splitlines() if line.endswith("flood AND (")]
    assert len(caret) == len(written) == 1
    assert written[0][caret[0].index("^") - 1 : caret[0].index("^") + 1].strip() == "("


def test_problems_as_json(tidings, tmp_path):
    (tmp_path / "bad.ndjson").write_text(lines([*EVENTS, *BAD]) + "{\n" * 150)
    ran = tidings("run", "bad.ndjson", "--json")
    assert (ran.returncode, ran.stdout) == (2, "")
    error = json.loads(ran.stderr)["error"]
    assert error["total"] == 153
    assert len(error["problems"]) == 100
    assert [problem["line"] for problem in error["problems"][:4]] == [10, 11, 12, 13]


def test_rejects_apply_the_good_part(tidings, log, tmp_path):
    mixed = [event for pair in zip(BAD, EVENTS[5:], strict=False) for event in pair]
    (tmp_path / "mixed.ndjson").write_text(lines([*EVENTS[:5], *mixed, *EVENTS[8:]]))
    ran = tidings("run", "mixed.ndjson", "--out", "deltas.ndjson", "--rejects", "bad.ndjson", "--json")
    assert ran.returncode == 3
    summary = json.loads(ran.stdout)
    assert (summary["rejected"], summary["deltas"]) == (3, 16)
    rows = deltas_of((tmp_path / "bad.ndjson").read_text())
    assert [row["position"] for row in rows] == [5, 7, 9]
    assert [row["event"] for row in rows] == BAD
    assert {problem["code"] for row in rows for problem in row["problems"]} == {
        "place-outside", "expression-syntax", "id-unknown",
    }  # fmt: skip
    answered = [row[1:] for row in told((tmp_path / "deltas.ndjson").read_text())]
    assert answered == [row[1:] for row in expected(log)]


def test_rejects_of_a_good_log_are_none_and_the_status_is_0(tidings, log, tmp_path):
    ran = tidings("run", log, "--out", "deltas.ndjson", "--rejects", "bad.ndjson")
    assert ran.returncode == 0
    assert (tmp_path / "bad.ndjson").read_text() == ""


@pytest.mark.parametrize("name", ["nothing-here.ndjson", "."])
def test_what_is_no_file_is_told(tidings, name):
    ran = tidings("run", name)
    assert ran.returncode == 2
    assert "file-unreadable" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_empty_log_has_no_deltas(tidings, tmp_path):
    (tmp_path / "empty.ndjson").touch()
    ran = tidings("run", "empty.ndjson")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "0 events, 0 deltas" in ran.stderr


@pytest.mark.parametrize("out", ["here/there.ndjson", "deltas.csv", "."])
def test_an_answer_that_cannot_be_written_is_told(tidings, log, out):
    ran = tidings("run", log, "--out", out)
    assert ran.returncode == 2
    assert out in ran.stderr
    assert "Traceback" not in ran.stderr


def test_no_file_has_two_roles(tidings, log):
    before = log.read_bytes()
    for arguments in (
        ["--out", log],
        ["--out", "x.ndjson", "--rejects", "x.ndjson"],
        ["--rejects", log],
        ["--rejects", "-"],
    ):
        ran = tidings("run", log, *arguments)
        assert ran.returncode == 2, arguments
        assert "option-invalid" in ran.stderr
    assert log.read_bytes() == before


def test_json_summary_goes_where_the_answer_does_not(tidings, log):
    assert json.loads(tidings("run", log, "--out", "x.ndjson", "--json").stdout)["events"] == 10
    ran = tidings("run", log, "--json")
    assert json.loads(ran.stderr)["deltas"] == 16
    assert len(deltas_of(ran.stdout)) == 16


def test_usage_errors_as_json(tidings):
    ran = tidings("run", "--json")
    assert ran.returncode == 2
    assert json.loads(ran.stderr)["error"]["problems"][0]["code"] == "option-invalid"


def started(*arguments: str, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(),
    )  # fmt: skip


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path, number, status):
    with started("run", "-", "--out", "deltas.ndjson", cwd=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(lines(EVENTS).encode())
        process.stdin.flush()
        until = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        assert list(tmp_path.iterdir()), "the answer was never begun"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == status
    assert stderr == b""
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_is_no_error(tmp_path):
    events = [{"op": "register", "id": f"s{number}", "kind": "within", "where": "everywhere"} for number in range(100)]
    events += [{"op": "publish", "id": f"m{number}", "at": [0, 0], "words": ["w"]} for number in range(300)]
    (tmp_path / "log.ndjson").write_text(lines(events))
    with started("run", "log.ndjson", "--quiet", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b'{"position": 100')
        process.stdout.close()
        process.stdout = None
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 141
    assert stderr == b""


def test_a_full_device_is_told(tidings, log):
    if not os.path.exists("/dev/full"):
        pytest.skip("no such device here")
    ran = tidings("run", log, "--out", "/dev/full")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
