"""The other commands, through click's runner: what they say and how they answer in JSON."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.cli.conftest import EVENTS, lines

from tidings import kernels
from tidings.cli.main import cli
from tidings.model.errors import TidingsError

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Result:
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


REGIONS = {
    "11,48,12,48.5": 3,
    "11.51,48.11,900": 2,
    "everywhere": 4,
    '{"any": [{"circle": [11.51, 48.11, 10]}, {"box": [2, 48, 3, 49]}]}': 2,
    "@square.geojson": 3,
    "@feature.geojson": 3,
    "@collection.geojson": 3,
}


@pytest.mark.parametrize(("where", "matches"), REGIONS.items())
def test_try_takes_every_form_of_a_region(invoke, log, tmp_path, where, matches):
    ring = [[11, 48], [12, 48], [12, 48.5], [11, 48.5], [11, 48]]
    square = {"type": "Polygon", "coordinates": [ring]}
    feature = {"type": "Feature", "geometry": square, "properties": {}}
    collection = {"type": "FeatureCollection", "features": [feature]}
    for name, value in (("square", square), ("feature", feature), ("collection", collection)):
        (tmp_path / f"{name}.geojson").write_text(json.dumps(value))
    answer = json.loads(invoke("try", "flood", "--where", where, "--on", log, "--json").output)
    assert (answer["messages"], answer["matches"]) == (4, matches)
    assert len(answer["sample"]) == matches
    assert answer["us_per_message"] > 0


@pytest.mark.parametrize("within", ["pyramid", "brute"])
def test_try_shows_a_sample_and_the_cost(invoke, log, within):
    said = invoke("try", "flood AND (bridge OR road)", "--on", log, "--sample", 2, "--within", within).output
    assert "3 of 4 messages match (75.00%)" in said
    assert "and 1 more" in said
    assert "µs per message" in said
    assert invoke("try", "", "--on", log, "--json").output.count('"id"') == 4


def test_try_reads_more_than_one_batch(invoke, tmp_path):
    events = [
        {"op": "publish", "id": f"m{i}", "at": [0, 0], "words": ["odd" if i % 2 else "even"]} for i in range(20_001)
    ]
    (tmp_path / "many.ndjson").write_text(lines(events))
    answer = json.loads(invoke("try", "odd", "--on", "many.ndjson", "--sample", 50, "--json").output)
    assert (answer["messages"], answer["matches"]) == (20_001, 10_000)
    positions = [match["position"] for match in answer["sample"]]
    assert len(set(positions)) == 50
    assert positions == sorted(positions)
    assert min(positions) < 8192 < max(positions)
    assert all(position % 2 for position in positions)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["flood AND", "--where", "everywhere"], "expression-syntax"),
        (["NOT flood"], "expression-no-positive"),
        (["flood", "--where", "1,2"], "region-invalid"),
        (["flood", "--where", "nan,1,2"], "field-type"),
        (["flood", "--where", "11,95,12"], "place-outside"),
        (["flood", "--where", "{"], "json-invalid"),
        (["flood", "--where", "@nowhere.geojson"], "file-unreadable"),
        (["flood", "--within", "nothing"], "method-unknown"),
    ],
)
def test_try_says_what_is_wrong(invoke, log, arguments, code):
    with pytest.raises(TidingsError) as raised:
        invoke("try", *arguments, "--on", log)
    assert raised.value.code == code
    if code.startswith("expression"):
        assert raised.value.problems[0].place.startswith("EXPR:1:")


def test_try_on_a_bad_file_tells_all_problems(invoke, tmp_path):
    (tmp_path / "bad.ndjson").write_text(lines(EVENTS) + "{\n[]\n")
    with pytest.raises(TidingsError) as raised:
        invoke("try", "flood", "--on", "bad.ndjson")
    assert [problem.line for problem in raised.value.problems] == [10, 11]


@pytest.mark.parametrize(
    "suffix", [".parquet", ".arrow", ".arrows", ".feather", ".geojson", ".jsonl", ".ndjson.gz", ".ndjson.zst"]
)
def test_convert_there_and_back_is_the_same(invoke, log, tmp_path, suffix):
    assert "10 events" in invoke("convert", log, f"there{suffix}").stderr
    invoke("convert", f"there{suffix}", "back.ndjson", "--quiet")
    back = [json.loads(line) for line in (tmp_path / "back.ndjson").read_text().splitlines()]
    assert back == EVENTS


def test_convert_says_what_is_wrong_and_writes_nothing(invoke, log, tmp_path):
    (tmp_path / "bad.ndjson").write_text(lines(EVENTS[:2]) + '{"op": "publish"}\n[]\n' + lines(EVENTS[2:]))
    with pytest.raises(TidingsError) as raised:
        invoke("convert", "bad.ndjson", "out.parquet")
    assert {problem.line for problem in raised.value.problems} == {2, 3}
    assert not (tmp_path / "out.parquet").exists()
    with pytest.raises(TidingsError) as raised:
        invoke("convert", log, "out.doc")
    assert raised.value.code == "file-format"
    answer = invoke("convert", log, "out.parquet", "--json")
    assert json.loads(answer.stdout)["events"] == 10


@pytest.mark.parametrize(
    ("subscription", "message", "position", "in_set", "parts"),
    [
        ("s1", "m1", None, True, ["road AND flood", "bridge is missing", "filed under", "level 0", "inside the box"]),
        ("s1", "m4", None, False, ["km outside", "road is missing", "überschwemmung"]),
        ("s2", "m1", None, True, ["5,000 m around [11.5, 48.1]"]),
        ("s2", "m1", 8, False, ["20.4 km outside 5,000 m around [11.7, 48.3]"]),
        ("s3", "m4", None, False, ["not in the top 2", "the last one there has 0.816194", "number 3 of 4"]),
        ("s4", "m3", None, True, ["number 2 of 3", "in the top 2"]),
    ],
)
def test_explain_says_why(invoke, log, subscription, message, position, in_set, parts):
    arguments = ["explain", log, "--subscription", subscription, "--message", message]
    arguments += [] if position is None else ["--at", position]
    said = invoke(*arguments).output
    assert said.startswith("yes" if in_set else "no")
    for part in parts:
        assert part in said
    assert json.loads(invoke(*arguments, "--json").output)["in_set"] is in_set


@pytest.mark.parametrize(("subscription", "message"), [("nobody", "m1"), ("s1", "nothing")])
def test_explain_names_the_id_that_is_not_there(invoke, log, subscription, message):
    with pytest.raises(TidingsError) as raised:
        invoke("explain", log, "--subscription", subscription, "--message", message)
    assert raised.value.code == "id-unknown"


def test_doctor_names_the_cache_and_its_owner(invoke):
    answer = json.loads(invoke("doctor", "--json").output)
    directory = kernels.cache_directory()
    place, state, _ = answer["facts"]["kernels"]
    assert place == str(directory)
    assert stat.filemode(os.stat(directory).st_mode) in state
    assert "within: pyramid (default), brute" in answer["facts"]["methods"]
    said = invoke("doctor").output
    assert "numba" in said
    assert "Nothing to fix" in said or "to fix" in said


@pytest.mark.parametrize(("variable", "value"), [("NUMBA_DISABLE_JIT", "1"), (kernels.VARIABLE, "elsewhere")])
def test_doctor_says_what_to_fix(invoke, monkeypatch, variable, value):
    (Path.cwd() / "elsewhere").mkdir()
    monkeypatch.setenv(variable, str(Path.cwd() / value) if value == "elsewhere" else value)
    fixes = json.loads(invoke("doctor", "--json").output)["fix"]
    assert any(variable in fix["what"] and fix["how"] for fix in fixes)


def test_bench_answers_in_json_when_piped(invoke, tmp_path):
    pytest.importorskip("matplotlib")
    result = invoke(
        "bench", "within", "--subscriptions", 2000, "--messages", 500, "--repetitions", 1, "--or", 0.5, "--boxes",
        "--chart", "chart.png",
    )  # fmt: skip
    answer = json.loads(result.stdout)
    names = [row["name"] for row in answer["rows"]]
    assert {"pyramid", "python-dict", "pyramid[or]", "pyramid[boxes]"} <= set(names)
    assert answer["ratios"]["pyramid/python-dict"] > 0
    assert all(row["matches"] > 0 for row in answer["rows"])
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--within", "nothing"], "method-unknown"),
        (["--or", "7"], "option-invalid"),
        (["--chart", "chart.doc"], "option-invalid"),
        (["--chart", "nowhere/chart.png"], "file-unreadable"),
        (["--data", "nowhere.parquet"], "file-unreadable"),
    ],
)
def test_bench_says_what_is_wrong(invoke, arguments, code):
    with pytest.raises(TidingsError) as raised:
        invoke("bench", "within", "--subscriptions", 100, "--messages", 10, *arguments)
    assert raised.value.code == code


def test_a_table_of_a_report_has_every_row(capsys):
    from tidings.cli.tables import print_report
    from tidings.lab.report import Report, Row, this_machine

    row = Row(
        name="pyramid[or]",
        role="index",
        messages_per_s=1e6,
        matches=3,
        messages=1,
        subscriptions=9,
        matches_per_message=3.0,
    )
    print_report(Report(1, this_machine(), [row], {"pyramid[or]/pyramid": 0.5}))
    said = capsys.readouterr().out
    names = [line.split()[0] for line in said.splitlines() if line.strip()]
    assert "1,000,000" in said
    assert {"pyramid[or]", "pyramid[or]/pyramid"} <= set(names)


def test_demo_tells_line_by_line_where_there_is_no_terminal(invoke):
    said = invoke("demo").output
    assert "\x1b" not in said
    for who in ("riverside", "night-owl", "lights", "courier", "desk", "biscuit"):
        assert sum(who in line for line in said.splitlines()) > 3, who
    assert "Why did" in said
    assert "yes, " in said
    assert invoke("demo", "--seed", "2").output != said
