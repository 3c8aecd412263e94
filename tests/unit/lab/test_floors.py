"""Floors are right: they find what brute force finds."""

import pytest

from tidings.lab.floors import FLOORS, fill
from tidings.lab.loading import loaded
from tidings.lab.workloads import WithinWorkload, generate
from tidings.model.errors import InputError


@pytest.mark.parametrize("name", sorted(FLOORS))
@pytest.mark.parametrize("law", ["zipf:1", "uniform"])
def test_a_floor_finds_what_brute_force_finds(name, law, seed):
    options = WithinWorkload(seed=seed, subscriptions=3_000, messages=500, words_law=law, vocabulary=30)
    workload = generate(options)
    filled = fill(name, workload, 500, lambda _: None)
    answers = loaded("brute", workload.space, workload.subscriptions).answer(workload.messages).to_pylist()
    assert sum(map(len, answers)) > 100
    assert [sorted(filled.floor.match(*message)) for message in filled.messages] == [sorted(ids) for ids in answers]


@pytest.mark.parametrize("share", ["or_share", "not_share", "polygons", "boxes"])
def test_a_floor_refuses_what_it_cannot_answer(share, seed):
    workload = generate(WithinWorkload(seed=seed, subscriptions=100, messages=100, **{share: 1.0}))
    with pytest.raises(InputError):
        fill("python-dict", workload, 100, lambda _: None)
