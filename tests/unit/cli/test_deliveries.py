"""`tidings deliveries`: what it shows, and how it takes deltas out."""

import json
import random

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.unit.log.deltas_at_random import columns, plain, rows_at_random

from tidings.cli.deliveries import command
from tidings.log.deliveries import STORES, Batch, open_deliveries, write_segment
from tidings.log.deltas_file import lines_of
from tidings.log.segments import segment_bytes
from tidings.model.errors import FileError, InputError


@pytest.fixture(params=STORES)
def state(request, tmp_path, seed):
    """Two batches of ten positions, of one shard."""
    path = tmp_path / "city.log.state"
    deliveries = open_deliveries(path, store=request.param, create=True)
    epoch = deliveries.claim()
    for first in (0, 10):
        (rows,) = rows_at_random(random.Random(f"{seed}{first}"), first, first + 10, 1, "mixed")
        data = segment_bytes(0, epoch, first, first + 10, [columns(rows)])
        deliveries.commit(epoch, Batch(first, first + 10), [write_segment(path, epoch, 0, first, first + 10, data)])
    return path


def lines(state, first=0, end=None, subscription=None):
    return b"".join(lines_of(part) for part in open_deliveries(state).read(first, end, subscription)).decode()


def said(*arguments):
    result = CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_tail(state):
    assert lines(state).count("\n") > 20
    assert said("tail", state) == lines(state)
    assert said("tail", state, "--from", 4, "--until", 12) == lines(state, 4, 12)
    (first, *_) = open_deliveries(state).read(0)
    subscription = plain(first)[0].subscription
    assert said("tail", state, "--subscription", subscription) == lines(state, 0, None, subscription) != ""
    with pytest.raises(InputError):
        said("tail", state, "--from", 21)


def test_tail_with_a_cursor(state):
    assert said("tail", state, "--cursor", "mail", "--until", 7) == lines(state, 0, 7)
    assert open_deliveries(state).cursor("mail") == 7
    assert said("tail", state, "--cursor", "mail") == lines(state, 7)
    assert said("tail", state, "--cursor", "mail", "--follow", "--until", 20) == ""
    assert open_deliveries(state).cursor("mail") == 20
    assert said("tail", state, "--cursor", "mail", "--from", 15, "-f", "--until", 18) == lines(state, 15, 18)


def test_cursors(state):
    assert said("cursor", state) == ""
    assert said("cursor", state, "mail", "--at", 5) == "5\n"
    assert said("cursor", state) == "mail\t5\n"
    assert "mail: 5, 15 behind" in said("stat", state)
    assert said("cursor", state, "mail", "--drop") == ""
    with pytest.raises(InputError):
        said("cursor", state, "mail")


def test_export(state, tmp_path):
    said("export", state, tmp_path / "all.ndjson")
    assert (tmp_path / "all.ndjson").read_text() == lines(state)
    said("export", state, tmp_path / "some.parquet", "--from", 10, "--quiet")
    assert len(pq.read_table(tmp_path / "some.parquet")) == lines(state, 10).count("\n")


def test_stat_and_verify(state):
    found = json.loads(said("stat", state, "--json"))
    assert (found["done"], found["n_batches"], found["n_deltas"]) == (20, 2, lines(state).count("\n"))
    assert "everything before position 20" in said("stat", state)
    assert "all is whole" in said("verify", state)
    assert json.loads(said("verify", state, "--json"))["deltas"] == found["n_deltas"]
    files = list((state / "deltas").glob("*")) if found["store"] != "sqlite" else []
    for path in files:
        path.write_bytes(path.read_bytes()[:-1])
    if files:
        with pytest.raises(FileError) as caught:
            said("verify", state)
        assert caught.value.total == 2


def test_the_log_stands_for_its_state(state, tmp_path):
    (tmp_path / "city.log").write_bytes(b"")
    assert said("tail", tmp_path / "city.log") == lines(state)
    with pytest.raises(FileError):
        said("stat", tmp_path / "other.log")
