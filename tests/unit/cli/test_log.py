"""`tidings log` as a person or a script uses it."""

import json
import os
import subprocess
import sys
import time

import pytest

from tidings.log.store import EventLog

TIDINGS = [sys.executable, "-c", "from tidings.cli.main import main; main()"]
GOOD = '{"op":"publish","id":"m%d","at":[11.5,48.1],"text":"flood on the river"}\n'
BAD = '{"op":"publish","id":"m1","at":[11.5,148.1],"text":"flood"}\n'


def tidings(*arguments, given="", status=0):
    done = subprocess.run([*TIDINGS, "log", *map(str, arguments)], input=given, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture
def path(tmp_path):
    (tmp_path / "events.ndjson").write_text("".join(GOOD % i for i in range(25)))
    tidings("append", tmp_path / "city.log", tmp_path / "events.ndjson")
    return tmp_path / "city.log"


def test_append_and_tail(path):
    assert tidings("tail", path).stdout == "".join(GOOD % i for i in range(15, 25))
    assert tidings("tail", path, "--from", 3, "--limit", 2).stdout == GOOD % 3 + GOOD % 4
    last = json.loads(tidings("tail", path, "--from", -1, "--positions").stdout)
    assert last == {"position": 24, "event": json.loads(GOOD % 24)}
    done = json.loads(tidings("append", path, "-", "--json", given=GOOD % 99).stdout)
    assert (done["events"], done["first"], done["end"], done["rejected"]) == (1, 25, 26, 0)


def test_bad_events_name_their_lines_and_nothing_of_their_group_is_appended(path):
    given = GOOD % 30 + GOOD % 31 + BAD + GOOD % 32
    done = tidings("append", path, "-", "--group", 2, given=given, status=2)
    assert "place-outside line 3 (position 2)" in done.stderr
    assert "2 events before this were appended" in done.stderr
    assert json.loads(tidings("stat", path, "--json").stdout)["end"] == 27
    assert tidings("append", path, "-", given=GOOD % 40 + "\n" + GOOD % 41, status=2).stderr.count("line-empty") == 1


def test_rejects_take_the_bad_ones(path, tmp_path):
    bad = tmp_path / "bad.ndjson"
    given = BAD + GOOD % 50 + "x" * 70_000 + "\n" + GOOD % 50 + GOOD % 51
    done = tidings("append", path, "-", "--rejects", bad, "--json", given=given, status=3)
    assert json.loads(done.stdout)["rejected"] == 3
    rows = [json.loads(line) for line in bad.read_text().splitlines()]
    assert [(row["position"], row["problems"][0]["code"], row["problems"][0]["line"]) for row in rows] == [
        (0, "place-outside", 0),
        (2, "line-too-long", 2),
        (3, "id-taken", 3),
    ]


def test_tables_are_appended_too(path, tmp_path):
    from tidings.log.files import write_events
    from tidings.model.events import Publish

    write_events(tmp_path / "more.parquet", [Publish(f"p{i}", at=(1.0, 2.0), text="flood") for i in range(3)])
    tidings("append", path, tmp_path / "more.parquet", "--quiet")
    assert '"id":"p2"' in tidings("tail", path, "--from", -1).stdout


def test_no_new_log_where_one_must_exist(tmp_path):
    done = tidings("append", tmp_path / "typo.log", "-", "--existing", given=GOOD % 1, status=2)
    assert "file-unreadable" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_follow_goes_on(path):
    process = subprocess.Popen(
        [*TIDINGS, "log", "tail", str(path), "--from", "24", "--follow", "--limit", "3"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == GOOD % 24
    with EventLog.open(path) as log:
        for i in (70, 71, 72):
            log.append([(GOOD % i).encode()])
    assert process.communicate(timeout=30)[0] == GOOD % 70 + GOOD % 71
    assert process.returncode == 0


def test_standard_input_is_appended_as_it_comes(path):
    process = subprocess.Popen([*TIDINGS, "log", "append", str(path), "-", "-q"], stdin=subprocess.PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write(GOOD % 80)
    process.stdin.flush()
    with EventLog.open(path, read_only=True) as log:
        until = time.monotonic() + 30
        while log.end < 26 and time.monotonic() < until:
            time.sleep(0.05)
        assert log.end == 26
    process.stdin.close()
    assert process.wait(30) == 0


def test_compact_stat_verify_and_repair(path, tmp_path):
    for i in range(5):
        tidings("append", path, "-", "-q", given=GOOD % (60 + i))
    done = json.loads(tidings("compact", path, "--json").stdout)
    assert (done["frames_before"], done["frames"]) == (6, 1)
    assert "end          30" in tidings("stat", path).stdout
    assert json.loads(tidings("verify", path, "--json").stdout) == {"log": str(path), "whole": True, "problems": []}
    data = path.read_bytes()
    at = data.index((GOOD % 7).strip().encode())
    path.write_bytes(data[:at] + b"X" + data[at + 1 :])
    assert "file-corrupt" in tidings("verify", path, status=2).stderr
    told = json.loads(tidings("verify", path, "--json", status=2).stdout)
    assert told["problems"][0]["code"] == "file-corrupt"
    saved = tmp_path / "saved.log"
    repaired = json.loads(tidings("repair", path, "--to", saved, "--json", status=3).stdout)
    assert repaired["lost"] == [{"first": 7, "end": 8, "why": "damaged"}]
    assert tidings("verify", saved).stdout == ""
    assert "7 to 7: damaged" in tidings("stat", saved).stdout
    assert tidings("repair", path, "--to", saved, status=2).stderr.count("file-unreadable") == 1


def test_forgetting(path):
    tidings("append", path, "-", "-q", given=GOOD % 60)
    assert json.loads(tidings("compact", path, "--larger-than", "0k", "--json").stdout)["forgotten"] == 25
    assert "position-gone" in tidings("tail", path, "--from", 0, status=2).stderr
    assert "is not an age" in tidings("compact", path, "--older-than", "soon", status=2).stderr
    assert os.path.exists(path)
