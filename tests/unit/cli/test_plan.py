"""`tidings plan` and what `tidings pipeline` refuses, without Spark."""

import json

import pytest
from click.testing import CliRunner

from tidings.cli.main import cli
from tidings.log.store import EventLog
from tidings.model.errors import InputError


def run(*arguments: str):
    return CliRunner().invoke(cli, arguments, catch_exceptions=True)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "city.log"
    with EventLog.open(path, create=True) as made:
        made.append(
            [
                *(
                    f'{{"op":"register","id":"s{i}","kind":"within","when":"flood","where":"everywhere"}}'.encode()
                    for i in range(40)
                ),
                b'{"op":"remove","id":"s0"}',
                b'{"op":"publish","id":"m1","at":[1.0,2.0],"text":"flood"}',
            ]
        )
    return str(path)


def test_the_picture_counts_what_each_shard_has(log):
    told = json.loads(run("plan", "--log", log, "--shards", "4", "--json").output)
    assert sum(shard["subscriptions"] for shard in told["shards"]) == 39
    assert sum(shard["subscriptions"] > 0 for shard in told["shards"]) == 4
    assert (told["first"], told["end"], told["done"], told["live_messages"]) == (0, 42, 0, 1)
    text = run("plan", "--log", log, "--shards", "4").output
    assert "42 events to do" in text
    assert text.count("  shard ") == 4


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ((), "--log"),
        (("--log", "kafka://127.0.0.1:1/topic"), "--state"),
        (("--log", "LOG", "--plan", "alphabet"), "--plan"),
        (("--log", "LOG", "--shards", "0"), "--shards"),
        (("--log", "LOG", "--batch-events", "0"), "--batch-events"),
        (("--log", "LOG", "--to", "pigeon"), "--to"),
        (("--log", "LOG", "--to", "kafka"), "--to"),
        (("--log", "LOG", "--conf", "novalue"), "--conf"),
        (("--log", "LOG", "--within", "nothing"), "--within"),
    ],
)
def test_what_a_pipeline_cannot_be_told(log, arguments, place):
    ran = run("pipeline", *(log if argument == "LOG" else argument for argument in arguments))
    assert isinstance(ran.exception, InputError)
    assert ran.exception.problems[0].place == place


def test_a_log_that_is_not_there(tmp_path):
    ran = run("pipeline", "--log", str(tmp_path / "no.log"), "--once")
    assert getattr(ran.exception, "code", None) == "file-unreadable"
