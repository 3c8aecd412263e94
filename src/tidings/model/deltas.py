"""Deltas as plain data: what a subscriber is told."""

from typing import Literal

from msgspec import Struct


class Delta(Struct, frozen=True, omit_defaults=True):
    """One message came into (`+`) or left (`-`) the result set of one subscription at one position."""

    position: int
    subscription: str
    message: str
    op: Literal["+", "-"]
    score: float | None = None
    """Only of `best`."""
    distance: float | None = None
    """Only of `nearest`."""
