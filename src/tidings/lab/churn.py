"""Churn: half of the subscriptions are exchanged in batches, and what is left is compared with a fresh index."""

from typing import NamedTuple

import numpy as np

from tidings.columns.block import MessageColumns
from tidings.lab.blocks import subscriptions_at
from tidings.lab.laws import stream
from tidings.lab.loading import BATCH, Loaded, Speed, loaded, median_speed, ranges, speed_of
from tidings.lab.workloads import WithinWorkload, generate


class Churn(NamedTuple):
    """What exchanging half of the subscriptions costs, in batches and afterwards."""

    inserts_per_s: float
    deletes_per_s: float
    churned: Speed
    fresh: Speed


def churn(
    method: str, options: WithinWorkload, batches: list[MessageColumns], repetitions: int, budget_s: float
) -> Churn:
    """Exchange half of the subscriptions for new ones, batch by batch, and answer messages with both indexes."""
    n = options.subscriptions
    half = max(n // 2, 1)
    workload = generate(options.of_size(n + half, 1))
    columns = workload.subscriptions
    leaving = stream(options.seed, "leaving").permutation(n)[:half]
    index = loaded(method, workload.space, subscriptions_at(columns, np.arange(n)))
    inserting = deleting = 0.0
    for first, end in ranges(half, BATCH):
        deleting += index.remove(columns, leaving[first:end])
        inserting += index.register(subscriptions_at(columns, np.arange(n + first, n + end)))
    stay = np.ones(n + half, bool)
    stay[leaving] = False
    fresh = loaded(method, workload.space, subscriptions_at(columns, np.flatnonzero(stay)))
    return Churn(half / inserting, half / deleting, *_in_turn(index, fresh, batches, repetitions, budget_s))


def _in_turn(
    one: Loaded, other: Loaded, batches: list[MessageColumns], repetitions: int, budget_s: float
) -> tuple[Speed, Speed]:
    """The speeds of two indexes, measured in turn, so that a busy machine slows both."""
    warm = speed_of(one, batches, 1, budget_s), speed_of(other, batches, 1, budget_s)
    if warm[0].messages < sum(len(batch.expires) for batch in batches):
        return warm
    rounds = [(median_speed(one, batches, 1), median_speed(other, batches, 1)) for _ in range(repetitions)]
    return _median([first for first, _ in rounds]), _median([second for _, second in rounds])


def _median(speeds: list[Speed]) -> Speed:
    return sorted(speeds, key=lambda speed: speed.seconds)[len(speeds) // 2]
