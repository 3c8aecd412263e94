"""Logs as batches for a shard, and the plain shard in memory that every other one is compared with."""

from functools import cache
from random import Random
from typing import NamedTuple

from tests.contract.replaying import as_answer, assert_a_third_match, blocks_of
from tests.oracle.logs import random_log

from tidings.columns.block import Block
from tidings.columns.deltas import deltas_to_list
from tidings.matching.shard import Shard
from tidings.model.events import Configure
from tidings.spark.shard_store import ShardKey

BRUTE = {"within": "brute", "around": "brute", "best": "brute", "nearest": "brute"}
PYRAMID = {**BRUTE, "within": "pyramid"}


class Batches(NamedTuple):
    configuration: Configure
    edges: list[int]
    blocks: list[Block]
    answers: list[list[dict]]

    def rebuild(self, methods, calls=None):
        """What makes a shard anew at an edge, and writes down that it was asked."""

        def rebuilt(position):
            if calls is not None:
                calls.append(position)
            shard = Shard(self.configuration, **methods)
            for first, block in zip(self.edges, self.blocks, strict=False):
                if first < position:
                    shard.step(block)
            return shard

        return rebuilt

    def key(self, methods, **fields):
        return ShardKey(**{"shard": 3, "n_shards": 8, "plan": "hash", **fields}, methods=methods,
                        configuration=self.configuration)  # fmt: skip


def told(all_deltas):
    return as_answer(delta for deltas in all_deltas for delta in deltas_to_list(deltas))


@cache
def batches(seed, profile="mixed", events=400, n=12, subscriptions=12):
    random = Random(f"{seed} {profile} {events}")
    log = random_log(random.randrange(2**32), events, profile, subscriptions=subscriptions)
    edges = [0, *sorted(random.sample(range(2, events), n - 1)), events]
    configuration, blocks = blocks_of(log, edges[1:-1])
    shard = Shard(configuration, **BRUTE)
    answers = [told(shard.step(block)) for block in blocks]
    assert_a_third_match(log, [delta for answer in answers for delta in answer])
    return Batches(configuration, edges, blocks, answers)
