"""The laws that workloads are drawn from: places in clusters, words by Zipf's law, names in order; all vectorised.

Every draw takes its own generator, made by `stream` from the seed and a purpose, so that two workloads that differ in
one option are the same in everything else.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.model.errors import InputError, Problem
from tidings.words.arenas import Arena

Float64s = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]

N_CLUSTERS: Final = 60
CLUSTERED: Final = 0.7
"""The share of places that lie in clusters; the others lie anywhere."""
SIGMA: Final = 0.02


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose."""
    return np.random.default_rng([seed, *purpose.encode()])


def clustered_places(clusters: Float64s, rng: np.random.Generator, n: int) -> Float64s:
    """Places in the unit square, most of them around the clusters; what would lie outside is reflected at the edge."""
    places = rng.random((n, 2))
    inside = np.flatnonzero(rng.random(n) < CLUSTERED)
    chosen = clusters[rng.integers(0, len(clusters), len(inside))]
    places[inside] = 1.0 - np.abs(1.0 - np.abs(chosen + rng.normal(0.0, SIGMA, (len(inside), 2))))
    return places


class WordLaw(NamedTuple):
    """How often each word of a vocabulary is used."""

    cumulated: Float64s
    number: Int64s
    """By rank: the number of the word. Ranks are shuffled over the numbers, which are in code-point order."""

    def draw(self, rng: np.random.Generator, n: int) -> Int64s:
        """The numbers of n words."""
        ranks = np.searchsorted(self.cumulated, rng.random(n), side="right")
        return self.number[np.minimum(ranks, len(self.number) - 1)]

    def draw_distinct(self, rng: np.random.Generator, n: int, words: int) -> Int64s:
        """N rows of words that differ from each other, each drawn until it differs from those before it."""
        drawn = self.draw(rng, n * words).reshape(n, words)
        for column in range(1, words):
            again = np.arange(n)
            while len(again := again[(drawn[again, :column] == drawn[again, column : column + 1]).any(axis=1)]):
                drawn[again, column] = self.draw(rng, len(again))
        return drawn


def word_law(law: str, vocabulary: int, rng: np.random.Generator) -> WordLaw:
    """`uniform`, or `zipf:S`: the word of rank r is used as often as 1 / r^S."""
    name, _, exponent = law.partition(":")
    try:
        power = {"uniform": 0.0, "zipf": 1.0}[name] if not exponent else {"zipf": float(exponent)}[name]
    except (KeyError, ValueError):
        power = -1.0
    if not 0.0 <= power <= 4.0:
        hint = "zipf alone is zipf:1"
        raise InputError(Problem("option-invalid", "--words-law", repr(law), "uniform, or zipf:S with S in 0..4", hint))
    weight = np.arange(1, vocabulary + 1, dtype=np.float64) ** -power
    cumulated = np.cumsum(weight)
    return WordLaw(cumulated / cumulated[-1], rng.permutation(vocabulary))


def numbered_names(prefix: str, first: int, end: int, width: int = 0) -> Arena:
    """The names prefix + number for first..end, filled up with zeros to a width, without a Python object for each."""
    head = np.frombuffer(prefix.encode(), np.uint8)
    parts, lengths = [], []
    digits = len(str(first))
    while first < end:
        stop = min(end, 10**digits)
        shown = max(digits, width)
        block = np.empty((stop - first, len(head) + shown), np.uint8)
        block[:, : len(head)] = head
        rest = np.arange(first, stop)
        for place in range(shown - 1, -1, -1):
            block[:, len(head) + place] = 48 + rest % 10
            rest //= 10
        parts.append(block.reshape(-1))
        lengths.append(np.full(stop - first, block.shape[1], np.int64))
        first, digits = stop, digits + 1
    offset = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths]), out=offset[1:])
    return Arena(offset, np.concatenate([np.empty(0, np.uint8), *parts]))
