"""Workloads that differ in kind but match equally often: the sides are scaled until they do, on a sample.

The chance that a message matches a subscription does not depend on how many there are, so what holds for a sample
holds for the whole.
"""

from typing import Final

from msgspec.structs import replace

from tidings.lab.loading import loaded
from tidings.lab.workloads import WithinWorkload, generate

SAMPLED_SUBSCRIPTIONS: Final = 50_000
SAMPLED_MESSAGES: Final = 20_000
CLOSE_ENOUGH: Final = 0.01
STEPS: Final = 8
MOST: Final = 32.0
"""Sides change by at most this factor; a recording whose messages repeat may match often however small the sides."""
USUAL_MATCHES: Final = 3.4
"""Matches of a message in the default workload; a recording is scaled to it."""


def match_chance(options: WithinWorkload) -> float:
    """The share of pairs of a message and a subscription that match, on a sample."""
    sample = options.of_size(min(options.subscriptions, SAMPLED_SUBSCRIPTIONS), min(options.messages, SAMPLED_MESSAGES))
    workload = generate(sample)
    pairs = loaded("pyramid", workload.space, workload.subscriptions).pairs(workload.messages)
    return len(pairs.slot) / (len(workload.messages.expires) * sample.subscriptions)


def scaled_to(options: WithinWorkload, chance: float) -> WithinWorkload:
    """The workload with sides such that a message matches a subscription with this chance, as nearly as can be."""
    base = options.side_scale
    low, high, factor = 1.0 / MOST, MOST, 1.0
    for _ in range(STEPS):
        options = replace(options, scale=base * factor, equal_matches=False)
        found = match_chance(options)
        if abs(found - chance) <= CLOSE_ENOUGH * chance:
            break
        if found < chance:
            low = factor
        else:
            high = factor
        if high <= low * (1.0 + CLOSE_ENOUGH):
            break
        # Matches grow about with the square of the sides.
        guess = factor * (chance / found) ** 0.5 if found else high
        factor = guess if low < guess < high else (low * high) ** 0.5
    return options


def recorded(options: WithinWorkload) -> WithinWorkload:
    """A workload from a recording, with sides such that a message matches about as often as in the default."""
    return scaled_to(options, USUAL_MATCHES / options.subscriptions)
