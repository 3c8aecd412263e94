"""Rows taken out of columns mean what they meant."""

import numpy as np

from tidings.lab.blocks import messages_between, subscriptions_at
from tidings.lab.loading import BATCH, loaded
from tidings.lab.workloads import WithinWorkload, generate


def answers(space, columns, messages):
    return [sorted(ids) for ids in loaded("brute", space, columns).answer(messages).to_pylist()]


def test_taken_subscriptions_match_as_before(seed):
    shares = {"or_share": 0.5, "not_share": 0.5, "polygons": 0.3, "boxes": 0.3}
    workload = generate(WithinWorkload(seed=seed, subscriptions=4_000, messages=300, vocabulary=40, **shares))
    rows = np.random.default_rng(seed).permutation(4_000)[:1_000]
    taken = {f"s{row}" for row in rows}
    part = subscriptions_at(workload.subscriptions, rows)
    all_ = answers(workload.space, workload.subscriptions, workload.messages)
    some = answers(workload.space, part, workload.messages)
    assert sum(map(len, some)) > 50
    assert some == [[id for id in ids if id in taken] for ids in all_]
    assert answers(workload.space, part, messages_between(workload.messages, 100, 200)) == some[100:200]


def test_removing_and_registering_gives_what_a_fresh_index_gives(seed):
    workload = generate(WithinWorkload(seed=seed, subscriptions=2_000, messages=500, vocabulary=40))
    columns = workload.subscriptions
    index = loaded("pyramid", workload.space, subscriptions_at(columns, np.arange(1_500)))
    assert BATCH > 500
    assert index.remove(columns, np.arange(500)) > 0.0
    assert index.register(subscriptions_at(columns, np.arange(1_500, 2_000))) > 0.0
    found = [sorted(ids) for ids in index.answer(workload.messages).to_pylist()]
    fresh = subscriptions_at(columns, np.arange(500, 2_000))
    assert sum(map(len, found)) > 50
    assert found == answers(workload.space, fresh, workload.messages)
