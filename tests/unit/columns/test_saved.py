"""Saved arrays: what was written comes back, and whatever happens to a file is found and named."""

import os

import msgspec
import numpy as np
import pytest

from tidings.columns.saved import map_arrays, save_arrays
from tidings.model.errors import FileError

ARRAYS = {
    "numbers": np.arange(7, dtype=np.int64),
    "matrix": np.arange(6, dtype=np.float64).reshape(2, 3),
    "flags": np.array([True, False, True]),
    "bytes": np.arange(65, dtype=np.uint8),
    "nothing": np.zeros(0, np.uint32),
    "none of four": np.zeros((0, 4), np.float64),
    "strange": np.array([np.nan, -0.0, np.inf, 5e-324]),
    "large": np.array([2**64 - 1], np.uint64),
}
ABOUT = {"name": "Straße", "numbers": [1, 2.5, None]}
CODES = {"file-corrupt", "file-format", "file-unreadable"}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "arrays.tidings"
    save_arrays(path, ABOUT, ARRAYS)
    return path


def test_what_was_written_comes_back(saved):
    about, arrays = map_arrays(saved)
    assert msgspec.json.decode(about) == ABOUT
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.shape == ARRAYS[name].shape
        assert array.tobytes() == ARRAYS[name].tobytes()
        assert array.ctypes.data % 64 == 0 or not array.size
        assert type(array) is np.ndarray
        assert array.flags.c_contiguous


def test_mapped_arrays_can_be_changed_and_the_file_stays(saved):
    before = saved.read_bytes()
    _, arrays = map_arrays(saved)
    for array in arrays.values():
        array[...] = 1
    assert (arrays["numbers"] == 1).all()
    assert saved.read_bytes() == before
    assert (map_arrays(saved)[1]["numbers"] == np.arange(7)).all()


def test_a_file_is_replaced_in_one_step(saved, monkeypatch):
    before = saved.read_bytes()
    _, mapped = map_arrays(saved)
    save_arrays(saved, "new", {"numbers": np.zeros(3)})
    assert (mapped["numbers"] == np.arange(7)).all(), "who mapped the old file goes on reading it"
    assert list(map_arrays(saved)[1]) == ["numbers"]
    after = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError) as caught:
        save_arrays(saved, ABOUT, ARRAYS)
    assert caught.value.code == "file-unreadable"
    assert saved.read_bytes() == after != before
    assert os.listdir(saved.parent) == [saved.name], "nothing is left lying about"


def test_the_same_arrays_give_the_same_bytes(saved, tmp_path):
    save_arrays(tmp_path / "again", ABOUT, dict(ARRAYS))
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_arrays_that_are_not_contiguous_are_saved_as_they_read(tmp_path):
    matrix = np.arange(24).reshape(4, 6)
    save_arrays(tmp_path / "a", None, {"columns": matrix[:, ::2], "turned": matrix.T})
    _, arrays = map_arrays(tmp_path / "a")
    assert (arrays["columns"] == matrix[:, ::2]).all()
    assert (arrays["turned"] == matrix.T).all()


def assert_found(path, what):
    with pytest.raises(FileError) as caught:
        map_arrays(path)
    assert caught.value.code in CODES, what
    assert str(path) in str(caught.value), what


def test_every_flipped_byte_is_found(saved, tmp_path, seed):
    good, broken = saved.read_bytes(), tmp_path / "broken"
    flips = np.random.default_rng(seed).integers(1, 256, len(good)).tolist()
    for place in range(len(good)):
        for flip in {flips[place], 1}:
            data = bytearray(good)
            data[place] ^= flip
            broken.write_bytes(data)
            assert_found(broken, f"byte {place} ^ {flip}")


def test_every_cut_is_found(saved, tmp_path):
    good, broken = saved.read_bytes(), tmp_path / "broken"
    for length in range(len(good)):
        broken.write_bytes(good[:length])
        assert_found(broken, f"cut at {length}")


def test_what_is_appended_is_found(saved, tmp_path):
    good, broken = saved.read_bytes(), tmp_path / "broken"
    for more in (b"\0", b"x", bytes(64), good):
        broken.write_bytes(good + more)
        assert_found(broken, "appended")


def test_swapped_pieces_are_found(saved, tmp_path):
    good, broken = saved.read_bytes(), tmp_path / "broken"
    blocks = [good[i : i + 64] for i in range(0, len(good), 64)]
    for i in range(len(blocks) - 1):
        if blocks[i] != blocks[i + 1]:
            broken.write_bytes(b"".join([*blocks[:i], blocks[i + 1], blocks[i], *blocks[i + 2 :]]))
            assert_found(broken, f"block {i}")


def test_the_broken_array_is_named(saved, tmp_path):
    data = bytearray(saved.read_bytes())
    at = data.index(np.arange(65, dtype=np.uint8).tobytes())
    data[at + 9] ^= 4
    (tmp_path / "broken").write_bytes(data)
    with pytest.raises(FileError) as caught:
        map_arrays(tmp_path / "broken")
    assert caught.value.code == "file-corrupt"
    assert "bytes" in caught.value.problems[0].found


def test_what_is_no_saved_file_is_said(tmp_path):
    for name, data in {"empty": b"", "text": b"hello\n" * 40, "magic": b"TIDINGS\0"}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FileError) as caught:
            map_arrays(tmp_path / name)
        assert caught.value.code == "file-format"
    for path in (tmp_path / "not there", tmp_path):
        with pytest.raises(FileError) as caught:
            map_arrays(path)
        assert caught.value.code == "file-unreadable"
    with pytest.raises(FileError) as caught:
        save_arrays(tmp_path / "no such place" / "file", None, {})
    assert caught.value.code == "file-unreadable"
