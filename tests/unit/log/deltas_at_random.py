"""Deltas at random, as the shards of a pipeline would answer them, and as plain rows to compare with."""

import random
from typing import NamedTuple

import numpy as np

from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas
from tidings.words.arenas import Arena

LETTERS = "ab0é漢🌍~"


class Row(NamedTuple):
    position: int
    subscription: str
    sign: int
    message: str
    measure: int
    value: float | None
    message_position: int

    def key(self):
        """The order of the answer; a subscription belongs to one shard, so this is total."""
        return self.position, self.subscription.encode(), self.sign, self.message.encode()


def an_id(draw: random.Random, prefix: str, uniform: bool) -> str:
    if uniform:
        return f"{prefix}{draw.randrange(60):03d}"
    return prefix[: draw.randrange(2)] + "".join(draw.choices(LETTERS, k=draw.choice([1, 1, 2, 3, 7, 8, 9, 30])))


def rows_at_random(draw: random.Random, first: int, end: int, n_shards: int, style: str) -> list[list[Row]]:
    """By shard, in the order of the answer. Styles: `within` (uniform), `ranked`, `mixed`, `sparse`, `empty`."""
    shards: list[dict[tuple, Row]] = [{} for _ in range(n_shards)]
    if style == "empty":
        return [[] for _ in shards]
    per_position = 0.9 if style == "sparse" else 6
    for position in range(first, end):
        for _ in range(int(draw.expovariate(1 / per_position))):
            uniform = style == "within"
            subscription = an_id(draw, "s", uniform)
            # A subscription's shard is a function of its id, as with every plan.
            shard = sum(subscription.encode()) % n_shards
            away = not uniform and draw.random() < 0.3
            there = draw.randrange(position + 1) if away else position
            message = f"m{there % 1000:03d}" if uniform else f"m{there}"
            sign = 1 if uniform or draw.random() < 0.6 else -1
            measure = {"within": NO_VALUE, "ranked": SCORE}.get(style, draw.choice([NO_VALUE, SCORE, DISTANCE]))
            value = draw.uniform(0, 1) if measure != NO_VALUE else None
            row = Row(position, subscription, sign, message, measure, value, there)
            shards[shard].setdefault(row.key(), row)
    return [sorted(rows.values(), key=Row.key) for rows in shards]


def columns(rows: list[Row]) -> Deltas:
    return Deltas(
        position=np.array([row.position for row in rows], np.int64),
        subscription=Arena.of(row.subscription for row in rows),
        message=Arena.of(row.message for row in rows),
        sign=np.array([row.sign for row in rows], np.int8),
        measure=np.array([row.measure for row in rows], np.uint8),
        value=np.array([np.nan if row.value is None else row.value for row in rows]),
        message_position=np.array([row.message_position for row in rows], np.int64),
    )


def plain(deltas: Deltas) -> list[Row]:
    return [
        Row(position, subscription, sign, message, measure, None if measure == NO_VALUE else value, there)
        for position, subscription, sign, message, measure, value, there in zip(
            deltas.position.tolist(),
            deltas.subscription.strings(),
            deltas.sign.tolist(),
            deltas.message.strings(),
            deltas.measure.tolist(),
            deltas.value.tolist(),
            deltas.message_position.tolist(),
            strict=True,
        )
    ]


def merged(shards: list[list[Row]]) -> list[Row]:
    """What all shards answered, in the order of the answer."""
    return sorted((row for rows in shards for row in rows), key=Row.key)
