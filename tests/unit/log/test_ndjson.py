import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.log import ndjson
from tidings.log.ndjson import read_lines
from tidings.model.limits import MAX_LINE_BYTES


def read(data):
    return [
        (line.position, line.data, line.problem.code if line.problem else "") for line in read_lines(io.BytesIO(data))
    ]


def test_lines_and_their_numbers():
    assert read(b"a\nb\r\nc") == [(0, b"a", ""), (1, b"b", ""), (2, b"c", "")]
    assert read(b"a\n") == [(0, b"a", "")]
    assert read(b"") == []


def test_an_empty_line_is_a_problem_when_others_follow():
    assert read(b"\na\n\r\n  \nb\n\n\n") == [
        (0, b"", "line-empty"),
        (1, b"a", ""),
        (2, b"", "line-empty"),
        (3, b"", "line-empty"),
        (4, b"b", ""),
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_bound_does_not_count_the_line_end(end):
    full = b"x" * MAX_LINE_BYTES
    assert read(full + end + b"a" + end) == [(0, full, ""), (1, b"a", "")]
    found = read(b"a" + end + full + b"x" + end + b"b")
    assert [(position, code) for position, _, code in found] == [(0, ""), (1, "line-too-long"), (2, "")]
    assert read(full) == [(0, full, "")]
    assert read(full + b"x")[0][2] == "line-too-long"


class Drip(io.RawIOBase):
    """A stream that gives as little as it likes."""

    def __init__(self, data, sizes):
        self.data, self.sizes, self.at = data, sizes, 0

    def read(self, size=-1):
        n = self.sizes[self.at % len(self.sizes)]
        self.at += 1
        piece, self.data = self.data[:n], self.data[n:]
        return piece


@given(
    pieces=st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"bc", b"d" * 40, b"e" * 70_000]), max_size=12),
    sizes=st.lists(st.integers(1, 50_000), min_size=1, max_size=3),
)
def test_how_the_bytes_arrive_makes_no_difference(pieces, sizes):
    data = b"".join(pieces)
    dripped = list(read_lines(Drip(data, [size if len(data) < 1000 else size + 3000 for size in sizes])))
    assert dripped == list(read_lines(io.BytesIO(data)))
    lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    assert [line.position for line in dripped] == list(range(len(lines)))
    for line, expected in zip(dripped, lines, strict=True):
        assert expected.startswith(line.data)
        assert (line.problem is None) == (0 < len(expected) <= MAX_LINE_BYTES)


class Endless(io.RawIOBase):
    """A first line without an end in sight, then a good one."""

    def __init__(self, n_chunks):
        self.left, self.chunk = n_chunks, b"x" * ndjson.CHUNK_BYTES

    def read(self, size=-1):
        self.left -= 1
        return self.chunk if self.left > 0 else b"\n{}\n" if self.left == 0 else b""


def test_a_line_of_a_gigabyte_takes_no_memory():
    tracemalloc.start()
    lines = list(read_lines(Endless(2**30 // ndjson.CHUNK_BYTES)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.position, line.problem is None) for line in lines] == [(0, False), (1, True)]
    assert len(lines[0].data) == ndjson.SHOWN_BYTES
    assert peak < 8 * ndjson.CHUNK_BYTES
