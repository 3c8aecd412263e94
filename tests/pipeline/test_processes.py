"""The same through the command line, in processes of their own: a cluster of executors, and a file `--on spark`."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.oracle.logs import as_ndjson
from tests.pipeline.pipelines import (
    append_all,
    assert_same,
    exported,
    lively_log,
    settings_for,
    table_of,
    wanted,
    with_,
)

EVENTS = 1200


def tidings(*arguments: str) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tidings")), *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


@pytest.mark.parametrize("store", ["segments", "parquet"])
def test_executors_that_are_processes_of_their_own(tmp_path: Path, random: Random, seed: int, store: str):
    log = lively_log(seed, EVENTS, "mixed", subscriptions=50)
    settings = with_(settings_for(tmp_path, shards=3, store=store), local=None, state=str(tmp_path / "state"))
    append_all(Path(settings.log), log, random)
    sink = ("--to", f"parquet:{settings.state}") if store == "parquet" else ("--state", settings.state)
    command = ("pipeline", "--log", settings.log, "--master", "local-cluster[2,1,1024]", "--shards", "3", "--quiet")
    tidings(*command, *sink, "--once", "--batch-events", "300", "--snapshot-events", "400")
    right = wanted(log)
    assert_same(exported(settings, tmp_path / "out.ndjson"), right)
    if store == "parquet":
        assert table_of(settings).num_rows == right.count(b"\n")


def test_a_file_on_spark(tmp_path: Path, seed: int):
    log = lively_log(seed + 1, EVENTS, "mixed", subscriptions=50)
    given, out = tmp_path / "given.ndjson", tmp_path / "out.ndjson"
    given.write_bytes(as_ndjson(log))
    tidings("run", str(given), "--on", "spark", "--master", "local[2]", "--shards", "3", "--out", str(out))
    assert_same(out.read_bytes(), wanted(log))
