"""Mapped arrays: what is changed in place is in the file, whatever grows finds room, and a broken file is found."""

import multiprocessing
import os
import resource
import signal
from itertools import pairwise
from random import Random

import numba
import numpy as np
import pytest

from tidings.columns.mapped import HEADER_BYTES, MappedArrays, boot_id
from tidings.model.errors import FileError

FULL = "too large|No space"
ARRAYS = {
    "numbers": np.arange(7, dtype=np.int64),
    "matrix": np.arange(6, dtype=np.float64).reshape(2, 3),
    "flags": np.array([True, False, True]),
    "bytes": np.arange(65, dtype=np.uint8),
    "nothing": np.zeros(0, np.uint32),
    "none of four": np.zeros((0, 4), np.float64),
    "scalar": np.array(3.5),
    "many": np.arange(5000, dtype=np.uint32),
}


def copies():
    return {name: array.copy() for name, array in ARRAYS.items()}


def assert_equal(got, wanted):
    assert list(got) == list(wanted)
    for name, array in wanted.items():
        assert got[name].dtype == array.dtype, name
        assert got[name].shape == array.shape, name
        assert got[name].tobytes() == array.tobytes(), name


def assert_apart(mapped):
    """No two regions share a byte, and none leaves the file."""
    regions = sorted([(0, HEADER_BYTES), mapped._about_region, *((r.offset, r.room) for r in mapped._regions.values())])
    regions = [(offset, room) for offset, room in regions if room]
    for (offset, room), (following, _) in pairwise(regions):
        assert offset + room <= following
    assert sum(regions[-1]) <= mapped.path.stat().st_size


@pytest.fixture
def path(tmp_path):
    return tmp_path / "arrays"


def test_what_was_written_comes_back(path):
    MappedArrays.create(path, b"about", copies(), session="s", boot="b").close()
    mapped = MappedArrays.open(path)
    assert (mapped.about, mapped.session, mapped.boot, mapped.clean) == (b"about", "s", "b", True)
    assert_equal(mapped.arrays, ARRAYS)
    assert_apart(mapped)
    for name, array in mapped.arrays.items():
        assert type(array) is np.ndarray
        assert numba.typeof(array) == numba.typeof(ARRAYS[name]), "kernels must not be compiled once more"
        assert not array.size or array.ctypes.data % 64 == 0
    assert os.listdir(path.parent) == [path.name]


def test_changes_are_in_the_file_when_it_is_opened_again(path):
    mapped = MappedArrays.create(path, b"", copies())
    mapped.mark_dirty()
    mapped.arrays["numbers"][:] = 5
    assert not mapped.absorb(dict(mapped.arrays))
    mapped.mark_clean(b"new")
    mapped.close()
    again = MappedArrays.open(path)
    assert again.about == b"new"
    assert (again.arrays["numbers"] == 5).all()


def test_arrays_outlive_their_file(path):
    mapped = MappedArrays.create(path, b"", copies())
    array = mapped.arrays["many"]
    mapped.close()
    path.unlink()
    assert (array == ARRAYS["many"]).all()


def mappings_of(path):
    with open("/proc/self/maps") as maps:
        return sum(str(path) in line for line in maps)


def test_nothing_stays_mapped_or_open(path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        mapped = MappedArrays.create(path, b"", copies())
        mapped.mark_dirty()
        mapped.absorb({**mapped.arrays, "more": np.ones(100_000)})
        mapped.mark_clean(b"x" * 300_000)
        assert mappings_of(path) >= 2
        mapped.close()
    assert mappings_of(path) == 0
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_dirty_file_tells_whose_it_is_and_nothing_else(path):
    mapped = MappedArrays.create(path, b"about", copies(), session="s")
    count = mapped.times_dirty
    mapped.mark_dirty()
    mapped.mark_dirty()
    assert mapped.times_dirty == count + 1
    again = MappedArrays.open(path)
    assert (again.clean, again.about, again.session, again.arrays) == (False, b"about", "s", {})


def test_nothing_changes_in_a_clean_file(path):
    mapped = MappedArrays.create(path, b"about", copies())
    with pytest.raises(ValueError, match="dirty"):
        mapped.absorb(copies())
    mapped.mark_dirty()
    with pytest.raises(ValueError, match="clean"):
        mapped.seal()


def test_an_array_of_objects_is_refused_and_leaves_nothing(path):
    with pytest.raises(ValueError, match="objects"):
        MappedArrays.create(path, b"", {"a": np.array([None])})
    assert os.listdir(path.parent) == []


def stepped_at_random(mapped, wanted, random):
    """One step as kernels and `grown` do it: in place, longer, shorter, replaced, swapped, new and gone."""
    arrays = dict(mapped.arrays)
    for name in list(arrays):
        array, roll = arrays[name], random.random()
        if roll < 0.3 and array.ndim == 1:
            longer = np.zeros(len(array) + random.randrange(1, 40_000), array.dtype)
            longer[: len(array)] = array
            arrays[name] = longer
        elif roll < 0.4 and array.ndim == 1:
            arrays[name] = array[: random.randrange(len(array) + 1)]
        elif roll < 0.5 and array.ndim == 1:
            arrays[name] = array[random.randrange(len(array) + 1) :]
        elif roll < 0.6:
            arrays[name] = array.copy()
        elif roll < 0.65 and array.ndim == 2:
            arrays[name] = array.T
        elif roll < 0.7 and array.dtype == np.uint32:
            arrays[name] = array.view(np.int32)
        elif roll < 0.85 and array.size and arrays[name] is mapped.arrays[name]:
            array[...] = random.randrange(2)
    if random.random() < 0.2:
        arrays["numbers"], arrays["many"] = arrays["many"], arrays["numbers"]
    if random.random() < 0.2:
        arrays.pop("extra", None)
    elif random.random() < 0.3:
        arrays["extra"] = np.frombuffer(random.randbytes(random.randrange(50_000)), np.uint8).copy()
    wanted.clear()
    wanted.update({name: array.copy() for name, array in arrays.items()})
    return arrays


@pytest.mark.parametrize("number", range(12))
def test_random_steps_are_absorbed(path, seed, number):
    random = Random(f"{seed} {number}")
    wanted = copies()
    mapped, rewritten = MappedArrays.create(path, b"0", wanted), 0
    for step in range(60):
        mapped.mark_dirty()
        arrays = stepped_at_random(mapped, wanted, random)
        before = mapped._inode
        mapped.absorb(arrays)
        rewritten += mapped._inode != before
        assert not MappedArrays.open(path).clean
        about = random.randbytes(random.randrange(200_000)) if random.random() < 0.1 else str(step).encode()
        mapped.mark_clean(about)
        assert_equal(mapped.arrays, wanted)
        assert_apart(mapped)
        assert mapped.is_at_its_path()
        if random.random() < 0.3:
            mapped.close()
            mapped = MappedArrays.open(path)
            assert mapped.about == about
            assert_equal(mapped.arrays, wanted)
    assert rewritten or number, "no file was ever rewritten"
    live = sum(array.nbytes + 64 for array in wanted.values()) + mapped._about_region[1] + HEADER_BYTES
    assert path.stat().st_size <= max(2 * live, 1 << 20) + (1 << 18)


def test_growth_finds_the_gaps_that_growth_left(path):
    mapped = MappedArrays.create(path, b"", {"a": np.zeros(1000), "b": np.zeros(1000)})
    sizes = []
    for step in range(200):
        mapped.mark_dirty()
        name = "ab"[step % 2]
        mapped.absorb({**mapped.arrays, name: np.full(1000 * (1 + step % 3), float(step))})
        mapped.mark_clean(b"")
        assert (mapped.arrays[name] == step).all()
        sizes.append(path.stat().st_size)
    assert max(sizes) == sizes[20]


def test_a_seal_is_of_the_contents(path):
    mapped = MappedArrays.create(path, b"about", copies())
    assert not mapped.sealed
    assert not mapped.verify()
    mapped.seal()
    mapped.seal()
    assert mapped.clean
    mapped.close()
    mapped = MappedArrays.open(path)
    assert mapped.verify()
    assert mapped.about == b"about"
    for name, array in mapped.arrays.items():
        if array.size:
            before = array.copy()
            array.reshape(-1).view(np.uint8)[array.nbytes // 2] ^= 1
            assert not mapped.verify(), name
            array[...] = before
            assert mapped.verify()
    mapped.mark_dirty()
    mapped.mark_clean(b"")
    assert not mapped.sealed, "after a change the seal is gone"


def test_every_flipped_byte_of_the_header_is_found_or_says_dirty(path, seed):
    MappedArrays.create(path, b"about", copies(), session="s").close()
    good = path.read_bytes()
    used = good[:HEADER_BYTES].rstrip(b"\0")
    flips = np.random.default_rng(seed).integers(1, 256, len(used))
    for place in range(len(used)):
        if 24 <= place < 32:
            continue  # how often it was dirty
        data = bytearray(good)
        data[place] ^= int(flips[place])
        path.write_bytes(data)
        with pytest.raises(FileError) as caught:
            MappedArrays.open(path)
        assert caught.value.code in ("file-corrupt", "file-format"), place


def test_every_cut_and_every_other_length_is_found(path):
    MappedArrays.create(path, b"about", copies()).close()
    good = path.read_bytes()
    for length in (*range(0, len(good), 4096), 1, 39, HEADER_BYTES - 1, len(good) - 1):
        path.write_bytes(good[:length])
        with pytest.raises(FileError):
            MappedArrays.open(path)
    path.write_bytes(good + bytes(4096))
    with pytest.raises(FileError):
        MappedArrays.open(path)
    path.unlink()
    with pytest.raises(FileError) as caught:
        MappedArrays.open(path)
    assert caught.value.code == "file-unreadable"


def test_a_full_disk_is_an_error_and_leaves_everything_as_it_was(path):
    """The kernel itself refuses: no file may be larger than this one."""
    mapped = MappedArrays.create(path, b"about", copies())
    size, soft = path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, soft[1]))
    try:
        mapped.mark_dirty()
        mapped.arrays["numbers"][0] = 77
        for _ in range(2):
            with pytest.raises(OSError, match=FULL):
                mapped.absorb({**mapped.arrays, "many": np.zeros(100_000)})
            with pytest.raises(OSError, match=FULL):
                mapped.absorb({**mapped.arrays, "many": np.zeros(1_000_000)})
        with pytest.raises(OSError, match=FULL):
            mapped.mark_clean(bytes(1_000_000))
        with pytest.raises(OSError, match=FULL):
            MappedArrays.create(path, b"", {"a": np.zeros(1_000_000)})
        assert not mapped.clean
        assert path.stat().st_size == size
        assert os.listdir(path.parent) == [path.name]
        assert mapped.absorb({**mapped.arrays, "bytes": np.zeros(20, np.uint8)})
        mapped.mark_clean(b"x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, soft)
    mapped.mark_dirty()
    assert mapped.absorb({**mapped.arrays, "many": np.ones(100_000)})
    mapped.mark_clean(b"y")
    again = MappedArrays.open(path)
    assert again.arrays["numbers"][0] == 77
    assert (again.arrays["many"] == 1).all()
    assert not again.arrays["bytes"].any()


def changing(path, ready):
    mapped = MappedArrays.open(path)
    while True:
        mapped.mark_dirty()
        mapped.arrays["numbers"] += 1
        mapped.arrays["many"] += 1
        mapped.absorb({**mapped.arrays, "bytes": np.full(len(mapped.arrays["bytes"]) % 40_000 + 997, 1, np.uint8)})
        mapped.mark_clean(b"%d" % (int(mapped.arrays["numbers"][0])))
        ready.set()


def test_whenever_a_process_is_killed_the_file_is_whole_or_dirty(path, seed):
    context, random, seen = multiprocessing.get_context("fork"), Random(seed), set()
    for _ in range(15):
        MappedArrays.create(path, b"0", copies()).close()
        ready = context.Event()
        process = context.Process(target=changing, args=(path, ready))
        process.start()
        assert ready.wait(30)
        ready.wait(random.random() * 0.004)
        process.join(random.random() * 0.004)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        try:
            mapped = MappedArrays.open(path)
        except FileError:
            seen.add("torn")
            continue
        seen.add("clean" if mapped.clean else "dirty")
        if mapped.clean:
            steps = int(mapped.about)
            assert (mapped.arrays["numbers"] == np.arange(7) + steps).all()
            assert (mapped.arrays["many"] == np.arange(5000) + steps).all()
            assert (mapped.arrays["bytes"] == 1).all()
    assert seen & {"dirty", "torn"}, seen


def test_the_boot_has_an_id():
    assert boot_id() == boot_id()
    assert len(boot_id()) in (0, 36)
