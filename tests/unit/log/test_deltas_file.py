"""A file of deltas holds exactly what `json.dumps` would say, in every format, whole or not at all."""

import gzip
import json
import random

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.log.events_at_random import ids

from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas, deltas_to_list
from tidings.log.deltas_file import DELTA_SCHEMA, DeltasFile, lines_of
from tidings.model.deltas import Delta
from tidings.model.errors import FileError
from tidings.words.arenas import Arena

floats = st.floats(allow_nan=False, allow_infinity=False)
rows = st.builds(
    lambda p, s, m, sign, kind, value, at: (p, s, m, sign, kind, value if kind else float("nan"), at),
    st.integers(0, 2**60),
    ids,
    ids,
    st.sampled_from([1, -1]),
    st.sampled_from([NO_VALUE, SCORE, DISTANCE]),
    floats,
    st.integers(0, 5),
)


def deltas_of(some):
    position, subscription, message, sign, measure, value, at = zip(*some, strict=True) if some else [()] * 7
    return Deltas(
        np.array(position, np.int64),
        Arena.of(subscription),
        Arena.of(message),
        np.array(sign, np.int8),
        np.array(measure, np.uint8),
        np.array(value, np.float64),
        np.array(at, np.int64),
    )


def dumped(deltas, events=None):
    lines = []
    for delta, at in zip(deltas_to_list(deltas), deltas.message_position.tolist(), strict=True):
        fields = msgspec.to_builtins(delta)
        text = json.dumps(fields, ensure_ascii=False)
        if events is not None:
            text = f'{text[:-1]}, "message_event": {events[at]}}}'
        lines.append(text + "\n")
    return "".join(lines).encode()


def some_deltas(seed, n=500):
    rng = random.Random(seed)
    odd = ["a", "é", 'say "hi"', "back\\slash", "\x00\x1f\x7f\n", "\u2028", "🌊", "x" * 128]
    made = []
    for _ in range(n):
        kind = rng.choice([NO_VALUE, SCORE, DISTANCE])
        value = rng.choice([0.0, -0.0, 0.1, 1e16, 1e-7, 5e-324, rng.random(), rng.random() * 1e6, 2.0])
        ids_of_row = rng.choice(odd), rng.choice(odd)
        made.append((rng.randrange(10**9), *ids_of_row, rng.choice([1, -1]), kind, value, rng.randrange(6)))
    return deltas_of(made)


@given(some=st.lists(rows, max_size=8))
@settings(max_examples=200)
def test_lines_are_what_json_says(some):
    deltas = deltas_of(some)
    assert lines_of(deltas) == dumped(deltas)


def test_the_example_of_the_reference():
    deltas = deltas_of([(17, "s1", "m3", 1, SCORE, 0.71, 17)])
    expected = b'{"position": 17, "subscription": "s1", "message": "m3", "op": "+", "score": 0.71}\n'
    assert lines_of(deltas) == expected
    assert lines_of(deltas_of([(0, "s", "m", -1, NO_VALUE, 0.0, 0)])).endswith(b'"op": "-"}\n')


def test_strings_that_share_an_arena(seed):
    deltas = some_deltas(seed)
    cut = deltas._replace(subscription=Arena(deltas.subscription.offset[5:], deltas.subscription.data))
    cut = Deltas(*(column[5:] if isinstance(column, np.ndarray) else column for column in cut))
    cut = cut._replace(message=Arena(deltas.message.offset[5:], deltas.message.data))
    assert lines_of(cut) == b"".join(dumped(deltas).splitlines(keepends=True)[5:])


def read_table(path):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    opened = pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file
    with opened(path) as reader:
        return reader.read_all()


@pytest.mark.parametrize("name", ["d.ndjson", "d.jsonl.gz", "d.parquet", "d.arrow", "d.feather", "d.arrows"])
@pytest.mark.parametrize("with_events", [False, True])
def test_blocks_add_up_in_every_format(tmp_path, seed, name, with_events):
    path = tmp_path / name
    blocks = [some_deltas(seed + i, 100 * i) for i in range(4)]
    events = [json.dumps({"op": "publish", "id": f'm"{i}'}) for i in range(6)]
    asked = []

    def events_at(positions):
        asked.append(positions)
        return [events[position].encode() for position in positions]

    with DeltasFile(path, message_events=events_at if with_events else None) as file:
        for block in blocks:
            file.write(block)
        assert not path.exists()
    assert file.n_written == 600
    assert all(len(set(positions)) == len(positions) <= 6 for positions in asked)
    assert len(asked) == (3 if with_events else 0)
    if ".json" in name or ".ndjson" in name:
        data = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        assert data == b"".join(dumped(block, events if with_events else None) for block in blocks)
        assert data.count(b"\n") == 600
        assert [json.loads(line) for line in data.split(b"\n")[:-1]]
        return
    table = read_table(path)
    assert table.schema.names == [*DELTA_SCHEMA.names, *(["message_event"] if with_events else [])]
    plain = [Delta(**{key: value for key, value in row.items() if key != "message_event"}) for row in table.to_pylist()]
    assert plain == [delta for block in blocks for delta in deltas_to_list(block)]
    if with_events:
        at = [position for block in blocks for position in block.message_position.tolist()]
        assert table["message_event"].to_pylist() == [events[position] for position in at]


def test_no_deltas_make_an_empty_file(tmp_path):
    for name in ("d.ndjson", "d.parquet", "d.arrow"):
        with DeltasFile(tmp_path / name) as file:
            file.write(deltas_of([]))
        assert (tmp_path / name).exists()
    assert (tmp_path / "d.ndjson").read_bytes() == b""
    assert read_table(tmp_path / "d.parquet").num_rows == 0


@pytest.mark.parametrize("name", ["d.ndjson", "d.ndjson.zst", "d.parquet", "d.arrow", "-"])
def test_what_is_not_finished_is_not_there(tmp_path, seed, name, capsysbinary, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def interrupted():
        with DeltasFile(name) as file:
            file.write(some_deltas(seed))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert list(tmp_path.iterdir()) == []
    assert capsysbinary.readouterr().out == b""


@pytest.mark.parametrize("streaming", [False, True])
def test_standard_output(seed, capsysbinary, streaming):
    deltas = some_deltas(seed)
    with DeltasFile("-", streaming=streaming) as file:
        file.write(deltas)
        assert capsysbinary.readouterr().out == (dumped(deltas) if streaming else b"")
    assert capsysbinary.readouterr().out == (b"" if streaming else dumped(deltas))


@pytest.mark.parametrize("name", ["d.csv", "d.geojson", "d.parquet.gz"])
def test_other_formats_are_refused(tmp_path, name):
    with pytest.raises(FileError, match="file-format"):
        DeltasFile(tmp_path / name)


@pytest.mark.parametrize("name", ["d", "d.out", "d.json"])
def test_any_other_name_is_one_of_lines(tmp_path, seed, name):
    deltas = some_deltas(seed)
    with DeltasFile(tmp_path / name) as file:
        file.write(deltas)
    assert (tmp_path / name).read_bytes() == dumped(deltas)


@given(some=st.lists(rows, max_size=4))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_gives_the_same_deltas_back(tmp_path, some):
    deltas = deltas_of(some)
    with DeltasFile(tmp_path / "d.parquet") as file:
        file.write(deltas)
    assert [Delta(**row) for row in read_table(tmp_path / "d.parquet").to_pylist()] == deltas_to_list(deltas)
