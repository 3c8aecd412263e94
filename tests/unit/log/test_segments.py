"""Segments: what goes in comes out, in little room, and no bit changes unseen."""

import itertools
import random
from contextlib import suppress

import numpy as np
import pytest
from tests.unit.log.deltas_at_random import Row, columns, merged, plain, rows_at_random

from tidings.columns import segment_kernels
from tidings.columns.deltas import NO_VALUE
from tidings.log.segment_layout import columns_start, filter_size, header_of, may_contain
from tidings.log.segments import merged_deltas, open_segment, segment_bytes, segment_deltas, subscription_deltas
from tidings.model.errors import FileError, InputError
from tidings.words.arenas import read_only
from tidings.words.hash_kernels import hash_strings

STYLES = ["within", "ranked", "mixed", "sparse"]


def cut(draw, rows):
    """The same rows in one to four parts, as a step hands them over."""
    edges = sorted({0, len(rows), *(draw.randrange(len(rows) + 1) for _ in range(draw.randrange(4)))})
    return [columns(rows[low:high]) for low, high in itertools.pairwise(edges)]


def reader(data):
    return lambda start, end: data[start:end]


@pytest.mark.parametrize("style", STYLES)
def test_what_goes_in_comes_out(style, seed):
    draw = random.Random(f"{seed}{style}")
    n_rows = 0
    for _ in range(30):
        first = draw.choice([0, 7, 1 << 40])
        end = first + draw.randrange(1, 60)
        (rows,) = rows_at_random(draw, first, end, 1, style)
        data = segment_bytes(3, 9, first, end, cut(draw, rows))
        assert plain(segment_deltas(data)) == rows
        header = header_of(data, "x")
        assert (header.shard, header.epoch, header.first, header.end) == (3, 9, first, end)
        n_rows += len(rows)
    assert n_rows > 100


def test_nothing_is_a_segment_too():
    data = segment_bytes(0, 1, 5, 9, [])
    assert plain(segment_deltas(data)) == []
    assert not may_contain("s", reader(data), "x")


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7, 16])
def test_shards_are_merged_in_the_order_of_the_answer(n_shards, seed):
    draw = random.Random(f"{seed}{n_shards}")
    n_rows = 0
    for style in STYLES * 4:
        first = draw.randrange(100)
        shards = rows_at_random(draw, first, first + 40, n_shards, style)
        segments = [
            open_segment(segment_bytes(shard, 1, first, first + 40, cut(draw, rows)))
            for shard, rows in enumerate(shards)
        ]
        draw.shuffle(segments)
        assert plain(merged_deltas(segments)) == merged(shards)
        n_rows += sum(map(len, shards))
    assert n_rows > 1000


@pytest.mark.parametrize("style", STYLES)
def test_one_subscription(style, seed):
    draw = random.Random(f"{seed}{style}")
    n_found = 0
    for _ in range(10):
        (rows,) = rows_at_random(draw, 10, 50, 1, style)
        data = segment_bytes(0, 1, 10, 50, cut(draw, rows))
        segment = open_segment(data)
        for subscription in {row.subscription for row in rows}:
            assert may_contain(subscription, reader(data), "x")
            wanted = [row for row in rows if row.subscription == subscription]
            assert plain(subscription_deltas(segment, subscription)) == wanted
            n_found += len(wanted)
        assert plain(subscription_deltas(segment, "nobody of this name")) == []
    assert n_found > 50


@pytest.mark.parametrize("n_rows", [1, 5, 2048, 2049, 60_000])
def test_the_filter_lets_few_strangers_through(n_rows):
    rows = [Row(i, f"s{i:07d}", 1, "m", NO_VALUE, None, i) for i in range(n_rows)]
    data = segment_bytes(0, 1, 0, n_rows, [columns(rows)])
    assert all(may_contain(f"s{i:07d}", reader(data), "x") for i in range(0, n_rows, 97))
    strangers = sum(may_contain(f"t{i:07d}", reader(data), "x") for i in range(3000))
    assert strangers < 0.09 * 3000
    n_pages, page_bytes = filter_size(n_rows)
    assert n_pages * page_bytes <= max(16, 2 * n_rows)


def test_the_filter_reads_little():
    rows = [Row(i, f"s{i:07d}", 1, "m", NO_VALUE, None, i) for i in range(50_000)]
    data = segment_bytes(0, 1, 0, 50_000, [columns(rows)])
    seen = []

    def read(start, end):
        seen.append(end - start)
        return data[start:end]

    may_contain("s0000007", read, "x")
    assert sum(seen) < 2400


def test_hashes_are_those_of_words(seed):
    draw = random.Random(seed)
    (rows,) = rows_at_random(draw, 0, 60, 1, "mixed")
    ids = columns(rows).subscription
    pages = np.zeros(4 * 64, np.uint8)
    segment_kernels.mark(read_only(ids.offset), read_only(ids.data), 4, 64, pages)
    expected = np.zeros_like(pages)
    for hashed in hash_strings(ids.offset, ids.data).tolist():
        page = ((hashed >> 32) * 4 >> 32) * 64
        for bit in (hashed & 511, (hashed >> 14) & 511):
            expected[page + (bit >> 3)] |= 1 << (bit & 7)
    assert len(rows) > 100
    assert (pages == expected).all()


def test_deltas_of_within_take_little_room():
    rows = [
        Row(position, f"s{(position * 37 + i * 1000) % 1_000_000:06d}", 1, f"m{position:06d}", NO_VALUE, None, position)
        for position in range(500)
        for i in range(17)
    ]
    rows.sort(key=Row.key)
    data = segment_bytes(0, 1, 0, 500, [columns(rows)])
    assert len(data) / len(rows) < 11
    assert plain(segment_deltas(data)) == rows


def test_every_bit_counts(seed):
    draw = random.Random(seed)
    (rows,) = rows_at_random(draw, 0, 12, 1, "mixed")
    data = segment_bytes(0, 1, 0, 12, [columns(rows)])
    assert len(rows) > 10
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << draw.randrange(8)
        with pytest.raises(FileError) as caught:
            segment_deltas(bytes(damaged), "there/x.segment")
        assert caught.value.code in ("file-corrupt", "file-format")
        assert "there/x.segment" in str(caught.value)


def test_a_damaged_filter_never_hides_a_subscription(seed):
    draw = random.Random(seed)
    (rows,) = rows_at_random(draw, 0, 12, 1, "within")
    data = segment_bytes(0, 1, 0, 12, [columns(rows)])
    wanted = rows[0].subscription
    for at in range(columns_start(header_of(data, "x"))):
        damaged = bytearray(data)
        damaged[at] ^= 1 << draw.randrange(8)
        with suppress(FileError):
            assert may_contain(wanted, reader(bytes(damaged)), "x")


def test_a_cut_segment_is_found(seed):
    (rows,) = rows_at_random(random.Random(seed), 0, 12, 1, "mixed")
    data = segment_bytes(0, 1, 0, 12, [columns(rows)])
    for length in range(len(data)):
        with pytest.raises(FileError):
            segment_deltas(data[:length])
    with pytest.raises(FileError):
        segment_deltas(data + b"\0")


def test_what_cannot_be_stored_is_refused():
    row = Row(5, "s", 1, "m", NO_VALUE, None, 5)
    later = row._replace(position=7)
    for first, end, parts in (
        (6, 9, [[row]]),
        (0, 5, [[row]]),
        (0, 9, [[later, row]]),
        (0, 9, [[later], [row]]),
    ):
        with pytest.raises(InputError):
            segment_bytes(0, 1, first, end, [columns(part) for part in parts])
    with pytest.raises(InputError):
        segment_bytes(0, 1, 0, 9, [columns([row._replace(subscription="x" * 70_000)])])


def test_bytes_that_stand_anywhere(seed):
    """A segment that was read into the middle of something."""
    (rows,) = rows_at_random(random.Random(seed), 0, 12, 1, "mixed")
    data = segment_bytes(0, 1, 0, 12, [columns(rows)])
    for shift in range(9):
        assert plain(segment_deltas(memoryview(bytes(shift) + data)[shift:])) == rows
