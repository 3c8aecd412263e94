"""What a plan is, and which there are.

A plan spreads the subscriptions over shards. It is a pure function of what the log says: the same block gives the same
blocks in every process, so that any task can split and any shard can be rebuilt.
"""

from importlib import import_module
from typing import Final, Protocol

from tidings.columns.block import Block
from tidings.model.errors import InputError, Problem

MAX_SHARDS: Final = 65_536
"""More than any plan of use; a bound, so that a slip of the finger is an error."""


class Plan(Protocol):
    """Which subscriptions live in which shard, and which events each shard must see.

    The deltas of all shards together, each once, are those of one shard that sees everything. A plan that keeps each
    subscription whole in one shard owes nothing else; where a subscription lives in several, its deltas come several
    times and are the same by (position, subscription, message, sign).
    """

    name: str
    """Its name in the registry."""
    n_shards: int

    def __init__(self, n_shards: int) -> None: ...

    def split(self, block: Block) -> list[Block]:
        """What each shard must step over: a sealed block per shard, in order of shard.

        A block has its events in order of position, and of the events of subscriptions those that concern one which
        lives there. A `replace` of a subscription that looks back (all but `within`) stays in the shard where the
        subscription is, as its deltas are the difference between what was and what is.

        All `tick` and `weights` events are in every block, and all `publish` and `retract` events are unless nothing
        that the shard answers depends on them, now or later. The window counts messages and follows their time, so
        only a shard of `within` alone may go without the messages that it cannot match.

        Arrays may be shared between the blocks.
        """


PLANS: Final[dict[str, str]] = {"hash": "tidings.spread.hash:HashPlan"}
"""By name: where the class is. It is imported when it is asked for."""


def plan_of(name: str, n_shards: int) -> Plan:
    """The plan of this name for so many shards, or an `InputError` that says which names there are."""
    if name not in PLANS:
        raise InputError(Problem("method-unknown", "--plan", repr(name), f"one of {', '.join(sorted(PLANS))}"))
    if not 1 <= n_shards <= MAX_SHARDS:
        raise InputError(Problem("option-invalid", "--shards", str(n_shards), f"a number from 1 to {MAX_SHARDS}"))
    module, _, attribute = PLANS[name].partition(":")
    plan: Plan = getattr(import_module(module), attribute)(n_shards)
    return plan
