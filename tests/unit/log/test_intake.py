"""Logs as files come in as blocks; what is wrong with them comes back, with its line and its code."""

import io
import json

import pytest
from tests.oracle.broken import broken_file, each_alone, many_problems
from tests.oracle.logs import PROFILES, as_ndjson, random_log

from tidings.columns.encode import BlockBuilder
from tidings.log.files import open_events, write_events
from tidings.log.intake import Intake
from tidings.log.ndjson import SHOWN_BYTES
from tidings.model.errors import InputError, Problem
from tidings.model.events import Configure, Event, Plane, Publish, Tick, Window


class ListBuilder:
    """A builder whose blocks are lists of positions and events, and that does not like the text `no`."""

    def __init__(self, configuration: Configure) -> None:
        self.configuration = configuration
        self.events: list[tuple[int, Event]] = []

    def __len__(self):
        return len(self.events)

    def add(self, position, event):
        if isinstance(event, Publish) and event.text == "no":
            raise InputError(Problem("words-empty", "$.text"))
        self.events.append((position, event))

    def build(self):
        block, self.events = self.events, []
        return block


def taken(path, content, builder=ListBuilder, rejects=None, **more):
    path = path / "log.ndjson"
    path.write_bytes(content)
    with open_events(path) as file:
        intake = Intake(file, builder, rejects=rejects, **more)
        return intake, list(intake)


def line(**fields):
    return json.dumps(fields).encode() + b"\n"


def message(id_, **more):
    return line(**({"op": "publish", "id": id_, "at": [0, 0], "text": "x"} | more))


def test_blocks_of_a_good_log(tmp_path):
    content = line(op="configure", window={"messages": 5}) + b"".join(line(op="tick", ts=i) for i in range(9))
    intake, blocks = taken(tmp_path, content, block_events=4)
    assert [[position for position, _ in block] for block in blocks] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert intake.configuration == Configure(window=Window(messages=5))
    assert blocks[0][1] == (1, Tick(0))
    assert (intake.n_events, intake.n_rejected, intake.problems, intake.applies) == (10, 0, [], True)
    intake.raise_problems()


def test_the_configuration_is_known_before_the_first_block(tmp_path):
    for content, expected in [
        (line(op="configure", space={"plane": [0, 0, 1, 1]}), Configure(space=Plane((0.0, 0.0, 1.0, 1.0)))),
        (line(op="tick", ts=1) + line(op="configure", max_distance=1), Configure()),
        (b"", Configure()),
    ]:
        (tmp_path / "log").write_bytes(content)
        with open_events(tmp_path / "log") as file:
            assert Intake(file, ListBuilder).configuration == expected


def test_one_problem_stops_the_blocks_and_not_the_checks(tmp_path):
    content = line(op="tick", ts=1) + line(op="tick", ts=2) + message("a", text="no") + message("b") * 2 + b"\n{}\n"
    intake, blocks = taken(tmp_path, content, block_events=1)
    assert blocks == [[(0, Tick(1))], [(1, Tick(2))]]
    assert not intake.applies
    found = [(problem.line, problem.code, problem.place) for problem in intake.problems]
    assert found == [
        (2, "words-empty", "$.text"),
        (4, "id-taken", "$.id"),
        (5, "line-empty", "$"),
        (6, "field-missing", "$.op"),
    ]
    with pytest.raises(InputError, match=r"line 3 \(position 2\), \$\.text: words-empty"):
        intake.raise_problems()


def test_rejects_say_what_stood_there(tmp_path):
    rejects = io.BytesIO()
    bad = [b'{"op": "tick"}', b"{'op'}", b"", b'{"a": 1, "a": 2}', b"\xff", b"x" * 70_000]
    content = message("a") + b"\n".join(bad) + b"\n" + message("a") + message("b", text="no") + message("b")
    intake, blocks = taken(tmp_path, content, rejects=rejects)
    assert [(position, event.id) for position, event in blocks[0]] == [(0, "a"), (9, "b")]
    rows = [json.loads(row) for row in rejects.getvalue().splitlines()]
    assert [(row["position"], row["problems"][0]["code"]) for row in rows] == [
        (1, "field-missing"), (2, "json-invalid"), (3, "line-empty"), (4, "json-duplicate-key"), (5, "json-encoding"),
        (6, "line-too-long"), (7, "id-taken"), (8, "words-empty"),
    ]  # fmt: skip
    assert [row["event"] for row in rows[:5]] == [{"op": "tick"}, "{'op'}", "", '{"a": 1, "a": 2}', "\ufffd"]
    assert rows[5]["event"] == "x" * SHOWN_BYTES
    assert rows[7]["event"] == {"op": "publish", "id": "b", "at": [0, 0], "text": "no"}
    assert all(list(row) == ["position", "event", "problems"] for row in rows)
    assert all(problem["line"] == row["position"] for row in rows for problem in row["problems"])
    assert intake.applies
    assert (intake.n_events, intake.n_rejected, intake.n_problems) == (10, 8, 8)


@pytest.mark.parametrize("suffix", [".geojson", ".parquet", ".arrow"])
def test_rejects_of_tables_and_maps(tmp_path, suffix):
    events = [Publish("a", (0.0, 0.0), text="x"), Publish("a", (0.0, 0.0), text="y"), Tick(3)]
    write_events(tmp_path / f"log{suffix}", events)
    rejects = io.BytesIO()
    with open_events(tmp_path / f"log{suffix}") as file:
        blocks = list(Intake(file, ListBuilder, rejects=rejects))
    assert blocks == [[(0, events[0]), (2, events[2])]]
    (row,) = map(json.loads, rejects.getvalue().splitlines())
    event = row["event"]["properties"] if suffix == ".geojson" else row["event"]
    assert (row["position"], event["text"]) == (1, "y")


def test_after_a_broken_configure_the_rest_is_judged_in_the_space_that_was_meant(tmp_path):
    content = line(op="configure", space={"plane": [0, 0, 1000, 1000]}, windw={}) + message("a", at=[500, 500])
    intake, blocks = taken(tmp_path, content)
    assert [(problem.line, problem.place) for problem in intake.problems] == [(0, "$.windw")]
    assert blocks == []
    intake, blocks = taken(tmp_path, content, rejects=io.BytesIO())
    assert [problem.line for problem in intake.problems] == [0, 1, 1]
    assert intake.configuration == Configure()


def test_the_first_hundred_problems_are_kept_and_all_are_counted(tmp_path, seed):
    content, expected = many_problems(seed)
    rejects = io.BytesIO()
    intake, blocks = taken(tmp_path, content, rejects=rejects)
    assert blocks == []
    assert len(intake.problems) == 100
    assert intake.n_problems >= intake.n_rejected == len(expected) == 150
    assert len(rejects.getvalue().splitlines()) == 150
    with pytest.raises(InputError, match="more problems"):
        intake.raise_problems()


def assert_found(intake, expected):
    told = {}
    for problem in intake.problems:
        told.setdefault(problem.line, set()).add(problem.code)
    assert list(told) == [number for number, _ in expected]
    for number, codes in expected:
        assert told[number] & codes, (number, told[number], codes)


CASES = dict(each_alone())


@pytest.mark.parametrize("name", CASES)
def test_every_problem_there_is_is_found_and_named(name, tmp_path):
    content, expected = CASES[name]
    intake, blocks = taken(tmp_path, content, BlockBuilder, rejects=io.BytesIO())
    assert_found(intake, expected)
    positions = [int(position) for block in blocks for position in block.position]
    bad = {number for number, _ in expected}
    n_lines = content.count(b"\n")
    assert set(positions) | {0} == (set(range(n_lines)) - bad) | {0}


@pytest.mark.parametrize("n", range(12))
def test_broken_lines_of_a_random_log_are_found_and_the_others_go_in(n, tmp_path, seed):
    content, expected = broken_file(seed + n)
    rejects = io.BytesIO()
    intake, blocks = taken(tmp_path, content, BlockBuilder, rejects=rejects, block_events=16)
    assert_found(intake, expected)
    rows = [json.loads(row) for row in rejects.getvalue().splitlines()]
    assert [row["position"] for row in rows] == [number for number, _ in expected]
    assert sum(len(block.position) for block in blocks) >= 40
    assert all(len(block.position) <= 16 for block in blocks)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_valid_log_comes_in_whole(profile, tmp_path, seed):
    log = random_log(seed, 200, profile)
    intake, blocks = taken(tmp_path, as_ndjson(log), BlockBuilder)
    assert intake.problems == []
    start = 1 if log[0]["op"] == "configure" else 0
    assert [position for block in blocks for position in block.position.tolist()] == list(range(start, len(log)))
