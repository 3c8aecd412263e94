"""Blocks that go from task to task by files."""

import gc

import pyarrow as pa
import pytest

from tidings.spark import worker_garbage
from tidings.spark.exchange import SMALLEST, cleared, handed_over, taken


@pytest.mark.parametrize("size", [0, 5, SMALLEST - 1, SMALLEST, 1_000_000])
def test_what_is_handed_over_is_taken(tmp_path, size):
    data, folder = bytes(range(256)) * (size // 256 + 1), tmp_path / "not" / "yet"
    data = data[:size]
    row = handed_over(data, str(folder))
    assert (len(row) < 1_000) == (size >= SMALLEST or size < 1_000)
    assert taken(pa.py_buffer(row)).to_pybytes() == data
    assert taken(pa.py_buffer(handed_over(data, None))).to_pybytes() == data


def test_files_are_removed_and_what_is_mapped_stays(tmp_path):
    data = b"x" * SMALLEST
    rows = [handed_over(data, str(tmp_path)) for _ in range(3)]
    assert len(set(rows)) == len(list(tmp_path.iterdir())) == 3
    buffer = taken(pa.py_buffer(rows[0]))
    cleared(str(tmp_path))
    cleared(None)
    assert not list(tmp_path.iterdir())
    assert buffer.to_pybytes() == data
    with pytest.raises(FileNotFoundError):
        taken(pa.py_buffer(rows[1]))


def test_what_lives_is_searched_once(monkeypatch):
    monkeypatch.setattr(worker_garbage, "MOST_S", 0.0)
    before = gc.get_freeze_count()
    worker_garbage.set_apart()
    worker_garbage.set_apart()
    try:
        assert gc.callbacks.count(worker_garbage._searched) == 1
        living = [[] for _ in range(1_000)]
        gc.collect()
        assert gc.get_freeze_count() >= before + len(living)
        monkeypatch.setattr(worker_garbage, "MOST_S", 60.0)
        gc.unfreeze()
        gc.collect()
        assert gc.get_freeze_count() == 0
    finally:
        gc.callbacks.remove(worker_garbage._searched)
        gc.unfreeze()
