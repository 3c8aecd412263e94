"""Workloads: the same from the same seed, in the shapes that they promise, matching as often as they should."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from tidings.columns.block import EXCLUDED_SHIFT, MORE_CLAUSES
from tidings.lab.calibration import match_chance, scaled_to
from tidings.lab.laws import numbered_names, stream, word_law
from tidings.lab.loading import loaded
from tidings.lab.outlines import VERTICES
from tidings.lab.workloads import WithinWorkload, generate
from tidings.model.errors import InputError
from tidings.space.polygons import cut_corners
from tidings.space.shapes import BOX, COMPOUND
from tidings.space.validity import polygon_problem


def small(seed: int = 1, **options: object) -> WithinWorkload:
    return WithinWorkload(seed=seed, subscriptions=3_000, messages=1_000, **options)


def arrays_of(columns):
    for part in columns:
        if isinstance(part, tuple):
            yield from arrays_of(part)
        elif isinstance(part, np.ndarray):
            yield part


def clauses_of(columns, row):
    """The clauses of a subscription as (positive words, excluded words)."""
    place, end, found = columns.term_start[row], columns.term_start[row + 1], []
    while place < end:
        header = int(columns.term[place])
        middle = place + 1 + (header & 0xFFFF)
        last = middle + ((header >> EXCLUDED_SHIFT) & 0x7FFF)
        found.append((columns.term[place + 1 : middle].tolist(), columns.term[middle:last].tolist()))
        assert bool(header & MORE_CLAUSES) == (last < end)
        place = last
    return found


def test_the_same_options_give_the_same_workload(seed):
    options = small(seed, or_share=0.5, not_share=0.5, polygons=0.5, boxes=0.5)
    one, same, other = generate(options), generate(options), generate(replace(options, seed=seed + 1))
    pairs = list(zip(arrays_of(one), arrays_of(same), strict=True))
    assert len(pairs) > 15
    assert all(np.array_equal(a, b) for a, b in pairs)
    assert not np.array_equal(one.messages.place, other.messages.place)


def test_an_option_changes_nothing_else(seed):
    plain, variant = generate(small(seed)), generate(small(seed, not_share=1.0, polygons=1.0))
    assert np.array_equal(plain.messages.word_hash, variant.messages.word_hash)
    assert np.array_equal(plain.messages.place, variant.messages.place)


def test_the_default_is_what_it_says(seed):
    workload = generate(WithinWorkload(seed=seed, messages=20_000))
    columns, messages = workload.subscriptions, workload.messages
    assert len(columns.kind) == 100_000
    assert columns.id.strings()[:2] == ["s0", "s1"]
    assert columns.id.strings()[-1] == "s99999"
    box = columns.geometry.reshape(-1, 4)
    sides = box[:, 2:] - box[:, :2]
    inside = ((box > 0.0) & (box < 1.0)).all(axis=1)
    assert sides[inside].min() >= 0.002 - 1e-9
    assert sides[inside].max() <= 0.04 + 1e-9
    assert sides[inside].mean() == pytest.approx(0.021, rel=0.01)
    assert 0.0 <= box.min() <= box.max() <= 1.0
    length = np.diff(columns.term_start) - 1
    assert np.bincount(length)[1:] == pytest.approx([33_333] * 3, rel=0.05)
    assert ((np.diff(messages.word_start) >= 4) & (np.diff(messages.word_start) <= 10)).all()
    found = loaded("pyramid", workload.space, columns).pairs(messages)
    assert len(found.slot) / len(messages.expires) == pytest.approx(3.4, rel=0.25)


def test_words_of_a_message_are_distinct_and_in_order(seed):
    workload = generate(small(seed))
    words, start = workload.words.strings(), workload.messages.word_start
    assert words == sorted(words)
    for first, end in pairwise(start[:200]):
        mine = workload.message_word[first:end].tolist()
        assert mine == sorted(set(mine))


def test_or_and_not_make_clauses(seed):
    columns = generate(small(seed, or_share=0.5, not_share=0.5)).subscriptions
    clauses = [clauses_of(columns, row) for row in range(len(columns.kind))]
    several = [found for found in clauses if len(found) > 1]
    excluding = [found for found in clauses if found[0][1]]
    assert 0.4 < len(several) / len(clauses) < 0.6
    assert 0.4 < len(excluding) / len(clauses) < 0.6
    for found in clauses:
        for positive, excluded in found:
            assert 1 <= len(positive) <= 3
            assert len(excluded) <= 2
            assert len({*positive, *excluded}) == len(positive) + len(excluded)


def test_polygons_are_valid_and_boxes_have_sides(seed):
    workload = generate(small(seed, polygons=0.5, boxes=0.5))
    columns, place = workload.subscriptions, workload.messages.place
    polygons = np.flatnonzero(columns.shape == COMPOUND)
    assert 0.4 < len(polygons) / len(columns.kind) < 0.6
    assert set(columns.shape.tolist()) == {BOX, COMPOUND}
    for row in polygons[:50]:
        stream_ = columns.geometry[columns.geometry_start[row] : columns.geometry_start[row + 1]]
        assert stream_[0] == len(stream_)
        ring = stream_[16:].reshape(-1, 2)
        assert len(ring) == VERTICES + 1
        assert stream_[11:15].tolist() == cut_corners(ring[:, 0], ring[:, 1]).tolist()
        assert (stream_[3:7] == [*ring.min(axis=0), *ring.max(axis=0)]).all()
        assert polygon_problem((tuple(map(tuple, ring.tolist())),)) is None
        assert (stream_[3:5] < stream_[7:9]).all()
        assert (stream_[7:9] < stream_[9:11]).all()
    assert 0.4 < (place[:, 2] > place[:, 0]).mean() < 0.6


def test_equal_matches_stay_equal_when_subscriptions_grow(seed):
    few, many = (WithinWorkload(seed=seed, subscriptions=n, equal_matches=True) for n in (50_000, 400_000))
    matches = [match_chance(options) * options.subscriptions for options in (few, many)]
    assert matches[1] == pytest.approx(matches[0], rel=0.2)


def test_variants_are_scaled_to_equal_matches(seed):
    plain = WithinWorkload(seed=seed)
    chance = match_chance(plain)
    assert chance > 0.0
    scaled = scaled_to(replace(plain, or_share=1.0), chance)
    assert scaled.scale < 0.9
    assert match_chance(scaled) == pytest.approx(chance, rel=0.1)


@pytest.mark.parametrize(
    "wrong", [{"subscriptions": 0}, {"vocabulary": 5}, {"or_share": 1.5}, {"polygons": -0.1}, {"seed": -1}]
)
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(InputError) as caught:
        WithinWorkload(**wrong)
    assert caught.value.code == "option-invalid"


@pytest.mark.parametrize("law", ["zip", "zipf:x", "zipf:-1", "zipf:nan", "uniform:2", ""])
def test_word_laws_that_are_not_are_refused(law):
    with pytest.raises(InputError):
        word_law(law, 10, stream(1, "law"))


def test_zipf_is_zipf(seed):
    law = word_law("zipf:1", 1_000, stream(seed, "law"))
    counts = np.bincount(law.draw(stream(seed, "words"), 200_000), minlength=1_000)[law.number]
    assert counts[0] / counts[9] == pytest.approx(10.0, rel=0.15)


def test_numbered_names():
    assert numbered_names("s", 8, 12).strings() == ["s8", "s9", "s10", "s11"]
    assert numbered_names("w", 0, 3, width=3).strings() == ["w000", "w001", "w002"]
    assert numbered_names("x", 98, 1_002).strings() == [f"x{i}" for i in range(98, 1_002)]
    assert numbered_names("x", 5, 5).strings() == []
