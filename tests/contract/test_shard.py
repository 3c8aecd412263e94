"""A shard whose state lives elsewhere: rebuilt without answers, opened anew for each block, changed where it stands."""

import numpy as np
import pytest
from tests.contract.replaying import as_answer, assert_same, blocks_of, random_cuts, workload
from tests.contract.worlds import generator
from tests.oracle.logs import PROFILES
from tests.unit.columns.making import block_of

from tidings.columns.deltas import deltas_to_list
from tidings.index.base import INDEXES
from tidings.index.pyramid.arrays import MATCHED, PROBED
from tidings.matching.shard import Shard
from tidings.model.events import Configure, Publish, Register, Window
from tidings.model.regions import Everywhere
from tidings.model.subscriptions import Within

METHODS = {"within": "pyramid", "around": "brute", "best": "brute", "nearest": "brute"}


def answers_of(shard, blocks):
    return as_answer(delta for block in blocks for deltas in shard.step(block) for delta in deltas_to_list(deltas))


def state_of(shard):
    """All arrays but the pyramid's counts of its work, which are of no matter to any answer."""
    arrays = {name: array.copy() for name, array in shard.arrays().items()}
    if shard.methods["within"] == "pyramid":
        arrays["within.counter"][PROBED : MATCHED + 1] = 0
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


@pytest.mark.parametrize("within", INDEXES)
@pytest.mark.parametrize("profile", PROFILES)
def test_to_advance_is_to_step_without_answers(within, profile, seed):
    log, wanted = workload(seed, profile, 250)
    configuration, blocks = blocks_of(log, random_cuts(generator(seed, profile), log, 12))
    methods = METHODS | {"within": within}
    stepped, advanced = Shard(configuration, **methods), Shard(configuration, **methods)
    for i, block in enumerate(blocks):
        assert_same(answers_of(stepped, [block]), answers_between(wanted, block))
        advanced.advance(block)
        one, other = state_of(stepped), state_of(advanced)
        assert [name for name in one if one[name] != other[name]] == [], f"after block {i}"
    half = len(blocks) // 2
    late = Shard(configuration, **methods)
    for block in blocks[:half]:
        late.advance(block)
    assert_same(answers_of(late, blocks[half:]), [d for b in blocks[half:] for d in answers_between(wanted, b)])


def answers_between(answer, block):
    positions = set(block.position.tolist())
    return [delta for delta in answer if delta["position"] in positions]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_shard_that_is_opened_for_each_block(profile, seed):
    log, wanted = workload(seed, profile, 250)
    configuration, blocks = blocks_of(log, random_cuts(generator(seed, profile), log, 60))
    whole, arrays, got = Shard(configuration, **METHODS), Shard(configuration, **METHODS).arrays(), []
    for block in blocks:
        whole.step(block)
        shard = Shard.from_arrays(configuration, METHODS, arrays)
        got += answers_of(shard, [block])
        arrays = shard.arrays()
        assert {name: array.tobytes() for name, array in whole.arrays().items()} == {
            name: array.tobytes() for name, array in arrays.items()
        }, "nothing is remembered but in the arrays"
    assert_same(got, wanted)


def test_messages_change_the_state_where_it_stands():
    configuration = Configure(window=Window(messages=300, ms=1000))
    shard = Shard(configuration, **METHODS)
    shard.step(block_of([Register(Within(f"s{i}", Everywhere(), f"w{i % 7}")) for i in range(100)]))
    position, matched = 100, 0

    def messages():
        return [
            Publish(f"m{i}", at=(float(i % 90), 1.0), words=(f"w{i % 11}",), ts=i, expires=i + 500 if i % 2 else None)
            for i in range(position, position + 200)
        ]

    for _ in range(30):
        shard.step(block_of(messages(), position=position))
        position += 200
    for opened in (False, True, True):
        before = shard.arrays()
        if opened:
            shard = Shard.from_arrays(configuration, METHODS, before)
        matched += sum(len(deltas.position) for deltas in shard.step(block_of(messages(), position=position)))
        position += 200
        after = shard.arrays()
        assert [name for name in before if before[name] is not after[name]] == []
    assert matched >= 300
    assert all(np.shares_memory(array, after[name]) for name, array in before.items() if array.size)
