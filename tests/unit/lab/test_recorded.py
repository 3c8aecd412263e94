"""Workloads from recordings: Parquet files of messages with places and words."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidings.lab.loading import loaded
from tidings.lab.recorded import read_recorded
from tidings.lab.workloads import WithinWorkload, generate
from tidings.model.errors import FileError


@pytest.fixture
def file(tmp_path):
    table = pa.table(
        {
            "id": list(range(200)),
            "lon": [None, 200.0, *(150.0 + 0.01 * (i % 20) for i in range(198))],
            "lat": [1.0, 1.0, *(-33.0 + 0.01 * (i % 10) for i in range(198))],
            "keywords": [
                ["a"],
                ["b"],
                None,
                [],
                *(["überflutung", "straße", f"w{i % 7}", "straße"] for i in range(196)),
            ],
        }
    )
    path = tmp_path / "messages.parquet"
    pq.write_table(table, path)
    return path


def test_what_has_a_place_and_words_is_read(file):
    recorded = read_recorded(str(file))
    assert len(recorded.place) == 196
    words = recorded.words.strings()
    assert words == sorted(words)
    first = recorded.word[recorded.word_start[0] : recorded.word_start[1]]
    assert [words[word] for word in first] == ["straße", "w0", "überflutung"]


def test_subscriptions_are_made_from_messages(file, seed):
    workload = generate(WithinWorkload(seed=seed, subscriptions=500, messages=100, data=str(file), not_share=0.5))
    assert len(workload.messages.expires) == 100
    index = loaded("pyramid", workload.space, workload.subscriptions)
    found = index.pairs(workload.messages)
    assert len(found.slot) > 100
    brute = loaded("brute", workload.space, workload.subscriptions)
    assert sorted(brute.pairs(workload.messages).slot.tolist()) == sorted(found.slot.tolist())


def test_a_directory_gives_all_its_files(file):
    other = file.with_name("other.parquet")
    pq.write_table(pa.table({"x": [1]}), other)
    assert len(read_recorded(str(file.parent)).place) == 196


@pytest.mark.parametrize(("content", "code"), [(b"not parquet", "file-format"), (None, "file-unreadable")])
def test_files_that_are_none_are_named(tmp_path, content, code):
    path = tmp_path / "broken.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_recorded(str(path))
    assert caught.value.code == code
    assert str(path) in str(caught.value)


def test_a_missing_column_is_named(tmp_path):
    path = tmp_path / "short.parquet"
    pq.write_table(pa.table({"lon": [1.0], "lat": [1.0]}), path)
    with pytest.raises(FileError) as caught:
        read_recorded(str(path))
    assert caught.value.code == "file-schema"
    assert "keywords" in str(caught.value)
