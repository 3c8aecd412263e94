"""Files of every format hold the same events, and say what is wrong with them."""

import contextlib
import errno
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracle.logs import PROFILES, as_ndjson, random_log
from tests.unit.log.events_at_random import logs

from tidings.log import files, tables
from tidings.log.files import open_events, write_events
from tidings.log.output import whole_file
from tidings.log.tables import EVENT_SCHEMA
from tidings.log.wire import encode_event
from tidings.model.errors import FileError, InputError, LimitError
from tidings.model.events import Plane, Publish, Register, Tick
from tidings.model.regions import Box, Everywhere
from tidings.model.subscriptions import Within

SUFFIXES = [
    ".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.zst", ".geojson", ".json.gz", ".arrow", ".feather", ".arrows", ".parquet"
]  # fmt: skip


def events_of(path, **more):
    with open_events(path, **more) as file:
        entries = list(file)
    assert [entry.position for entry in entries] == list(range(len(entries)))
    return [entry.event for entry in entries]


def problems_of(path):
    return [
        [(problem.code, problem.place) for problem in event.problems] if isinstance(event, InputError) else event
        for event in events_of(path)
    ]


def file_problems_of(path):
    with pytest.raises(FileError) as caught:
        events_of(path)
    return [(problem.code, problem.place.rpartition("/")[2]) for problem in caught.value.problems]


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(log=logs())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_events_survive_every_format(suffix, tmp_path, log):
    path = tmp_path / f"log{suffix}"
    assert write_events(path, log) == len(log)
    assert events_of(path) == log


@pytest.mark.parametrize("profile", PROFILES)
def test_a_random_log_survives_all_formats_in_turn(profile, tmp_path, seed):
    path = tmp_path / "log.ndjson"
    path.write_bytes(as_ndjson(random_log(seed, 150, profile)))
    events = events_of(path)
    assert not [event for event in events if isinstance(event, InputError)]
    for i, suffix in enumerate(SUFFIXES):
        path = tmp_path / f"{i}{suffix}"
        write_events(path, events)
        again = events_of(path)
        assert again == events
        assert b"".join(map(encode_event, again)) == b"".join(map(encode_event, events))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_log(suffix, tmp_path):
    path = tmp_path / f"log{suffix}"
    assert write_events(path, []) == 0
    assert events_of(path) == []


@pytest.mark.parametrize("suffix", [".ndjson", ".ndjson.gz", ".jsonl.zst", ".geojson", ".arrow", ".arrows", ".parquet"])
def test_a_file_without_a_telling_name_is_judged_by_its_bytes(suffix, tmp_path):
    events = [Tick(1), Publish("a", (1.0, 2.0), text="x")]
    write_events(tmp_path / f"log{suffix}", events)
    plain = (tmp_path / f"log{suffix}").rename(tmp_path / "log")
    if suffix == ".ndjson.gz":
        assert gzip.decompress(plain.read_bytes()).count(b"\n") == 2
    assert events_of(plain) == events


def test_json_is_either_lines_or_a_collection(tmp_path):
    path = tmp_path / "log.json"
    path.write_bytes(b'{"op": "tick", "ts": 1}\n')
    assert events_of(path) == [Tick(1)]
    path.write_bytes(b'{"type": "FeatureCollection", "features": []}')
    assert events_of(path) == []


def test_standard_input_and_output_are_lines(monkeypatch, capsysbinary):
    stdin = io.TextIOWrapper(io.BytesIO(b'{"op": "tick", "ts": 1}\n'))
    monkeypatch.setattr("sys.stdin", stdin)
    assert events_of("-") == [Tick(1)]
    assert write_events("-", [Tick(2)]) == 1
    assert capsysbinary.readouterr().out == b'{"op":"tick","ts":2}\n'


def test_the_first_event_sets_the_space(tmp_path):
    path = tmp_path / "log.ndjson"
    configure = b'{"op": "configure", "space": {"plane": [0, 0, 1000, 1000]}}\n'
    publish = b'{"op": "publish", "id": "a", "at": [500, 500], "text": ""}\n'
    path.write_bytes(configure + publish)
    assert problems_of(path)[1] == Publish("a", (500.0, 500.0), text="")
    path.write_bytes(publish + configure + publish)
    outside = [("place-outside", "$.at[0]"), ("place-outside", "$.at[1]")]
    assert problems_of(path)[::2] == [outside, outside]
    assert events_of(path, space=Plane((0.0, 0.0, 500.0, 500.0)))[0] == Publish("a", (500.0, 500.0), text="")


def test_files_that_cannot_be_used(tmp_path):
    assert file_problems_of(tmp_path / "none.ndjson") == [("file-unreadable", "none.ndjson")]
    assert file_problems_of(tmp_path) == [("file-unreadable", tmp_path.name)]
    write_events(tmp_path / "a.parquet", [Tick(1)])
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.arrow").write_bytes(data)
    assert file_problems_of(tmp_path / "a.arrow") == [("file-format", "a.arrow")]
    (tmp_path / "cut.parquet").write_bytes(data[:-20])
    assert file_problems_of(tmp_path / "cut.parquet") == [("file-corrupt", "cut.parquet")]
    (tmp_path / "lines.parquet").write_bytes(b'{"op": "tick", "ts": 1}\n')
    assert file_problems_of(tmp_path / "lines.parquet") == [("file-format", "lines.parquet")]
    (tmp_path / "cut.ndjson.gz").write_bytes(gzip.compress(b'{"op": "tick", "ts": 1}\n' * 100_000)[:-30])
    assert file_problems_of(tmp_path / "cut.ndjson.gz") == [("file-corrupt", "cut.ndjson.gz")]
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(data))
    assert file_problems_of(tmp_path / "a.parquet.gz") == [("file-format", "a.parquet.gz")]
    write_events(tmp_path / "a.arrows", [Tick(1)] * 100)
    (tmp_path / "cut.arrows").write_bytes((tmp_path / "a.arrows").read_bytes()[:-200])
    assert file_problems_of(tmp_path / "cut.arrows") == [("file-corrupt", "cut.arrows")]
    for name in ("a.csv", "a", "a.parquet.gz"):
        with pytest.raises(FileError, match="file-format"):
            write_events(tmp_path / name, [])
    with pytest.raises(FileError, match="file-unreadable"):
        write_events(tmp_path / "none" / "a.ndjson", [])


def test_what_is_not_finished_is_not_there(tmp_path):
    def then_fail(thing):
        yield thing
        raise RuntimeError

    for suffix in SUFFIXES:
        with pytest.raises(RuntimeError):
            write_events(tmp_path / f"log{suffix}", then_fail(Tick(1)))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "log").write_bytes(b"before")
    with pytest.raises(RuntimeError), whole_file(tmp_path / "log") as file:
        file.writelines(then_fail(b"after"))
    assert (tmp_path / "log").read_bytes() == b"before"


def test_a_link_stays_a_link_and_a_new_file_is_as_open_as_others(tmp_path):
    (tmp_path / "real.ndjson").write_bytes(b"")
    (tmp_path / "link.ndjson").symlink_to("real.ndjson")
    write_events(tmp_path / "link.ndjson", [Tick(1)])
    assert (tmp_path / "link.ndjson").is_symlink()
    assert events_of(tmp_path / "real.ndjson") == [Tick(1)]
    (tmp_path / "other").touch()
    assert (tmp_path / "real.ndjson").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_full_disk_is_a_problem_of_the_file(tmp_path):
    with pytest.raises(FileError, match="No space left"), whole_file(tmp_path / "log"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_compressed_pieces_one_after_the_other(tmp_path):
    (tmp_path / "log.ndjson.gz").write_bytes(gzip.compress(b'{"op": "tick", "ts": 1}\n') * 3)
    assert events_of(tmp_path / "log.ndjson.gz") == [Tick(1)] * 3


def test_a_line_that_could_not_be_read_again_is_not_written(tmp_path):
    event = Publish("a", (0.0, 0.0), text="\x01" * 20_000)
    with pytest.raises(LimitError):
        write_events(tmp_path / "log.ndjson", [event])
    write_events(tmp_path / "log.parquet", [event])
    assert problems_of(tmp_path / "log.parquet") == [[("line-too-long", "$")]]


def table(path, **columns):
    made = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(made, path)
    else:
        with pa.ipc.new_file(path, made.schema) as writer:
            writer.write_table(made)


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_columns_of_other_widths_and_layouts(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    table(
        path,
        op=pa.array(["publish", "register"]).dictionary_encode(),
        id=pa.array(["a", "b"], pa.large_string()),
        ts=pa.array([1_700_000_000_123_000_000, None], pa.timestamp("ns", "UTC")),
        expires=pa.array([2_000_000_000, None], pa.uint32()),
        at=pa.array([[1.5, 2], None], pa.large_list(pa.float32())),
        words=pa.array([["x", "y"], None], pa.list_(pa.large_string())),
        kind=pa.array([None, "within"]),
        where=pa.array([None, '{"box": [0, 0, 1, 1]}']),
        text=pa.nulls(2),
    )
    assert events_of(path) == [
        Publish("a", (1.5, 2.0), words=("x", "y"), ts=1_700_000_000_123, expires=2_000_000_000),
        Register(Within("b", Box((0.0, 0.0, 1.0, 1.0)))),
    ]


@pytest.mark.parametrize("suffix", [".arrow", ".parquet"])
def test_columns_that_do_not_fit(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    table(path, op=["tick"], ts=[1.5], colour=["red"], at=["here"], text=[3], k=[True], where=[b"x"], words=[[1]])
    assert file_problems_of(path) == [
        ("file-schema", f"log{suffix}: {name}") for name in ("ts", "colour", "at", "text", "k", "where", "words")
    ]
    table(path, ts=[1])
    assert file_problems_of(path) == [("file-schema", f"log{suffix}: op")]
    table(path, op=["tick"], ts=pa.array([1], pa.timestamp("ns")))
    assert file_problems_of(path) == [("file-schema", f"log{suffix}: ts")]
    table(path, op=["tick"], ts=pa.array([2**63], pa.uint64()))
    assert file_problems_of(path) == [("file-schema", f"log{suffix}: ts")]


def test_problems_of_rows(tmp_path):
    path = tmp_path / "log.arrow"
    table(
        path,
        op=["publish", "publish", "register", "tick", None, "publish"],
        id=["a", "b", "c", None, None, "d"],
        at=[[1.0, np.nan], [1.0], None, None, None, [1.0, None]],
        text=["x", "x", None, None, None, "x"],
        kind=[None, None, "within", None, None, None],
        where=[None, None, '{"box": [0, 0, 1, NaN]}', None, None, None],
        attributes=['{"a": 1, "a": 2}', "[1]", None, None, None, "{"],
        ts=[None, None, None, 5, None, 10**17],
    )
    assert problems_of(path) == [
        [("json-duplicate-key", "$.attributes.a"), ("field-type", "$.at[1]")],
        [("field-type", "$.at"), ("field-type", "$.attributes")],
        [("json-invalid", "$.where")],
        Tick(5),
        [("field-missing", "$.op")],
        [("json-invalid", "$.attributes"), ("field-type", "$.at[1]"), ("field-value", "$.ts")],
    ]
    with open_events(path) as file:
        raws = [entry.raw for entry in file]
    assert raws[3] is None
    assert json.loads(raws[1]) == {"op": "publish", "id": "b", "at": [1.0], "text": "x", "attributes": [1]}
    assert json.loads(raws[5])["attributes"] == "{"


def test_bytes_that_are_no_text_are_found(tmp_path):
    text = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff"))
    table(tmp_path / "log.arrow", op=text)
    assert file_problems_of(tmp_path / "log.arrow") == [("file-corrupt", "log.arrow")]


def test_tables_go_through_memory_in_pieces(tmp_path):
    n = 3 * tables.BATCH_ROWS + 5
    path = tmp_path / "log.arrow"
    assert write_events(path, (Tick(i) for i in range(n))) == n
    with pa.ipc.open_file(path) as reader:
        assert reader.num_record_batches == 4
        assert reader.schema == EVENT_SCHEMA
    assert [event.ts for event in events_of(path)] == list(range(n))


def test_a_large_collection_is_refused(tmp_path, monkeypatch):
    write_events(tmp_path / "log.geojson", [Tick(1)])
    monkeypatch.setattr(files, "MAX_GEOJSON_BYTES", 10)
    with pytest.raises(LimitError):
        events_of(tmp_path / "log.geojson")


@given(
    data=st.binary(max_size=60), magic=st.sampled_from([b"", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x1f\x8b"])
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_any_bytes_give_problems_and_nothing_else(tmp_path, data, magic):
    path = tmp_path / "log"
    path.write_bytes(magic + data)
    with contextlib.suppress(FileError):
        assert all(isinstance(event, InputError) for event in events_of(path))


def test_what_is_nested_may_be_structs(tmp_path):
    rows = [
        {"op": "register", "id": "s", "kind": "within", "where": {"box": [0.0, 0.0, 2.0, 2.0]}},
        {"op": "register", "id": "a", "kind": "around", "at": [1.0, 1.0], "shape": {"radius_m": 10.0}},
        {"op": "register", "id": "r", "kind": "around", "at": [1.0, 1.0], "shape": {"width": 1.0, "height": 2.0}},
        {"op": "publish", "id": "m", "at": [1.0, 1.0], "text": "a", "attributes": {"x": 1}},
    ]
    names = sorted({name for row in rows for name in row})
    path = tmp_path / "log.parquet"
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), path)
    lines = tmp_path / "log.ndjson"
    lines.write_text("\n".join(json.dumps(row, separators=(",", ":")) for row in rows))
    assert [encode_event(event) for event in events_of(path)] == [encode_event(event) for event in events_of(lines)]


def test_everywhere_needs_no_quotes_in_a_table(tmp_path):
    path = tmp_path / "log.parquet"
    row = {"op": "register", "id": "s", "kind": "within", "where": "everywhere"}
    pq.write_table(pa.Table.from_pylist([row]), path)
    [event] = events_of(path)
    assert event == Register(Within("s", Everywhere()))
