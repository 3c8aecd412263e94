"""Deltas as columns: what every matcher answers, ready to be written."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.model.deltas import Delta
from tidings.words.arenas import Arena

NO_VALUE: Final = 0
SCORE: Final = 1
DISTANCE: Final = 2


class Deltas(NamedTuple):
    """Rows in the order of the answer: position, subscription id, `-` before `+`, message id."""

    position: npt.NDArray[np.int64]
    subscription: Arena
    message: Arena
    sign: npt.NDArray[np.int8]
    """1 for `+`, -1 for `-`."""
    measure: npt.NDArray[np.uint8]
    """What `value` is: NO_VALUE, SCORE (`best`) or DISTANCE (`nearest`)."""
    value: npt.NDArray[np.float64]
    """NaN where there is none."""
    message_position: npt.NDArray[np.int64]
    """Where in the log the message was published; with it, whoever wants the whole message finds it."""


def deltas_to_list(deltas: Deltas) -> list[Delta]:
    """The deltas as plain data; for the edges, not for hot paths."""
    return [
        Delta(
            position,
            subscription,
            message,
            "+" if sign > 0 else "-",
            score=value if measure == SCORE else None,
            distance=value if measure == DISTANCE else None,
        )
        for position, subscription, message, sign, measure, value in zip(
            deltas.position.tolist(),
            deltas.subscription.strings(),
            deltas.message.strings(),
            deltas.sign.tolist(),
            deltas.measure.tolist(),
            deltas.value.tolist(),
            strict=True,
        )
    ]
