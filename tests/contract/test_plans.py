"""What every plan must do: all shards answer what one does. A new plan gets all of this by being registered."""

import pytest
from tests.contract.replaying import Answer, as_answer, assert_same, blocks_of, random_cuts, workload
from tests.contract.worlds import generator
from tests.oracle.logs import PROFILES
from tests.unit.columns.comparing import assert_same_block, assert_sealed, leaves

from tidings.columns.deltas import deltas_to_list
from tidings.matching.shard import Shard
from tidings.model.errors import InputError
from tidings.spread.base import MAX_SHARDS, PLANS, plan_of

SHARDS = [1, 2, 3, 5, 16]
METHODS = dict.fromkeys(["within", "around", "best", "nearest"], "brute")

plans = pytest.mark.parametrize("name", PLANS)


def merged(answers: list[Answer]) -> Answer:
    """The deltas of all shards in the order of the contract, each once."""
    lines = {
        (line["position"], line["subscription"], line["op"] == "+", line["message"]): line
        for answer in answers
        for line in answer
    }
    return [lines[key] for key in sorted(lines)]


def answers_of(name: str, n_shards: int, configuration, blocks) -> list[Answer]:
    """What each shard answers."""
    plan = plan_of(name, n_shards)
    shards = [Shard(configuration, **METHODS) for _ in range(n_shards)]
    answers: list[Answer] = [[] for _ in shards]
    for block in blocks:
        parts = plan.split(block)
        assert len(parts) == n_shards
        for shard, part, answer in zip(shards, parts, answers, strict=True):
            answer += as_answer(delta for deltas in shard.step(part) for delta in deltas_to_list(deltas))
    return answers


@plans
@pytest.mark.parametrize("n_shards", SHARDS)
@pytest.mark.parametrize("profile", PROFILES)
def test_shards_together_are_one_shard(name, n_shards, profile, seed):
    log, wanted = workload(seed, profile, 250)
    cuts = random_cuts(generator(seed, profile, n_shards), log, 6)
    answers = answers_of(name, n_shards, *blocks_of(log, cuts))
    assert_same(merged(answers), wanted)
    assert sum(map(bool, answers)) > n_shards // 3, "one shard does all the work"


@plans
def test_where_the_log_is_cut_makes_no_difference(name, seed):
    log, wanted = workload(seed, "mixed", 250)
    for n_cuts in (0, 20, 200):
        cuts = random_cuts(generator(seed, n_cuts), log, n_cuts)
        assert_same(merged(answers_of(name, 4, *blocks_of(log, cuts))), wanted)


@plans
def test_blocks_are_sealed_and_the_same_in_every_process(name, seed):
    log, _ = workload(seed, "mixed", 250)
    _, [block] = blocks_of(log, ())
    for one, other in zip(plan_of(name, 3).split(block), plan_of(name, 3).split(block), strict=True):
        assert_same_block(one, other)
        for path, array in leaves(one):
            assert_sealed(path, array)


@plans
def test_a_plan_says_what_it_is(name):
    plan = plan_of(name, 7)
    assert (plan.name, plan.n_shards) == (name, 7)


@pytest.mark.parametrize(("name", "n", "code"), [
    ("nowhere", 3, "method-unknown"), ("hash", 0, "option-invalid"), ("hash", -1, "option-invalid"),
    ("hash", MAX_SHARDS + 1, "option-invalid"),
])  # fmt: skip
def test_what_is_no_plan(name, n, code):
    with pytest.raises(InputError) as caught:
        plan_of(name, n)
    assert caught.value.code == code
    assert code != "method-unknown" or "hash" in caught.value.problems[0].expected
