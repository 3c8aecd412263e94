"""What the signatures of kernels call the numbers that flow through them, whichever room they are in."""

from typing import Any, TypeAlias

Integer: TypeAlias = Any
"""An int or an integer of NumPy: kernels hand on what they read from arrays."""
