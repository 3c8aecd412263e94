"""Deliveries without a store: what is committed follows from a seed, in this process and in any other."""

import time
from collections.abc import Iterator
from random import Random

import numpy as np

from tidings.columns.deltas import DISTANCE, NO_VALUE, SCORE, Deltas
from tidings.words.arenas import Arena

ODD = ['say "hi"', "東京", "line\n", "x" * 127]


class Seeded:
    """Deltas of some positions; few positions have many, many have none. Ids come back, some of them odd."""

    def __init__(self, seed: int, n_positions: int, most: int = 40) -> None:
        random = Random(seed)
        self.n, self.at = n_positions, 0
        self.blocks = []
        self.cursors: dict[str, int] = {}
        names = [f"s{number}" for number in range(50)] + ODD
        for first in range(0, n_positions, 10):
            rows = []
            for position in range(first, min(first + 10, n_positions)):
                n = random.choice([0, 0, 1, 3, most])
                for name in sorted(random.sample(names, min(n, len(names)))):
                    measure = random.choice([NO_VALUE, SCORE, DISTANCE])
                    value = random.random() if measure != NO_VALUE else float("nan")
                    rows.append((position, name, f"m{position}", random.choice([1, -1]), measure, value))
            if rows:
                self.blocks.append(deltas_of(rows))

    def start(self) -> int:
        return 0

    def done(self) -> int:
        return self.at or self.n

    def read(self, first: int, end: int | None = None) -> Iterator[Deltas]:
        for block in self.blocks:
            kept = (block.position >= first) & (block.position < (self.n if end is None else end))
            if kept.all():
                yield block
            elif kept.any():
                rows = list(zip(*(_listed(column) for column in block[:6]), strict=True))
                yield deltas_of([row for row, keep in zip(rows, kept.tolist(), strict=True) if keep])

    def wait(self, position: int, timeout_s: float) -> int:
        if self.done() <= position:
            time.sleep(min(timeout_s, 0.01))
        return self.done()

    def cursor(self, name: str) -> int | None:
        return self.cursors.get(name)

    def advance(self, name: str, position: int) -> None:
        self.cursors[name] = position


def deltas_of(rows: list[tuple[int, str, str, int, int, float]]) -> Deltas:
    position, subscription, message, sign, measure, value = zip(*rows, strict=True)
    return Deltas(
        np.array(position, np.int64),
        Arena.of(subscription),
        Arena.of(message),
        np.array(sign, np.int8),
        np.array(measure, np.uint8),
        np.array(value, np.float64),
        np.array(position, np.int64),
    )


def _listed(column: Arena | np.ndarray) -> list:
    return column.strings() if isinstance(column, Arena) else column.tolist()
