"""Growth of flat arrays: geometric, so that n appends cost O(n), and exact where a bulk load says what it needs."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


def grown(array: npt.NDArray[Scalar], needed: int) -> npt.NDArray[Scalar]:
    """The array with room for `needed` rows: itself, or a copy that is at least a quarter longer."""
    capacity = len(array)
    if needed <= capacity:
        return array
    # A sixteenth on top of a bulk load keeps a million subscriptions within their budget of bytes.
    longer = np.zeros((max(needed + needed // 16, capacity + capacity // 4, 64), *array.shape[1:]), array.dtype)
    longer[:capacity] = array
    return longer


def power_of_two(least: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << max(least - 1, 1).bit_length()
