"""After `doctor --warm` no command compiles."""

import json
import random
import shutil
from pathlib import Path

import pytest
from tests.unit.cli.conftest import lines

from tidings import kernels
from tidings.cli.specimens import GLOBE, PLANE, all_kinds


def compiled(directory: Path) -> dict[Path, int]:
    """Every file of compiled code with its time."""
    return {path: path.stat().st_mtime_ns for path in directory.rglob("*.nb?")}


@pytest.fixture(scope="module")
def warmed(tmp_path_factory) -> Path:
    """A copy of the warmed cache: other tests go on compiling into the one that all share."""
    from click.testing import CliRunner

    from tidings.cli.main import cli

    result = CliRunner().invoke(cli, ["doctor", "--warm", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["warmed_s"] > 0
    copy = tmp_path_factory.mktemp("warmed") / "kernels"
    shutil.copytree(kernels.cache_directory(), copy)
    assert len(compiled(copy)) > 200
    return copy


@pytest.fixture
def warm(warmed, monkeypatch) -> Path:
    """The copy, as the place where commands look for kernels."""
    monkeypatch.setenv(kernels.VARIABLE, str(warmed))
    monkeypatch.delenv(kernels.OURS, raising=False)
    return warmed


@pytest.mark.timeout(900)  # where nothing was compiled yet
@pytest.mark.parametrize("configure", [GLOBE, PLANE], ids=["globe", "plane"])
@pytest.mark.parametrize("method", ["pyramid", "brute"])
def test_a_run_after_warming_writes_nothing_into_the_cache(warm, tidings, log, tmp_path, seed, configure, method):
    before = compiled(warm)
    events = [configure, *all_kinds(random.Random(seed), wraps=configure is GLOBE)]
    (tmp_path / "all.ndjson").write_text(lines(events))
    for name in (log, "all.ndjson"):
        ran = tidings("run", name, "--out", "deltas.ndjson", "--within", method)
        assert ran.returncode == 0, ran.stderr
        assert (tmp_path / "deltas.ndjson").stat().st_size > 500
    assert compiled(warm) == before


@pytest.mark.timeout(900)
def test_the_other_commands_find_their_kernels_too(warm, tidings, log):
    before = compiled(warm)
    for arguments in (
        ["run", log, "--with", "message", "--out", "deltas.arrow"],
        ["explain", log, "--subscription", "s1", "--message", "m1"],
        ["explain", log, "--subscription", "s3", "--message", "m4"],
        ["try", "flood OR road", "--where", "11.5,48.1,900", "--on", log],
        ["convert", log, "events.parquet"],
        ["run", "events.parquet", "--out", "deltas.parquet"],
        ["bench", "within", "--subscriptions", "2000", "--messages", "100", "--repetitions", "1"],
        ["demo"],
    ):
        ran = tidings(*arguments)
        assert ran.returncode == 0, ran.stderr
    assert compiled(warm) == before
