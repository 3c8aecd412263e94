"""On which side of a line a point lies: the sign of the exact determinant of any finite float64 coordinates.

The idea of Shewchuk ("Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997):
compute in floating point with a bound on the error, and exactly only when the bound cannot decide. The exact step adds
integer products in one long fixed-point number instead of an expansion: that knows no overflow and no underflow, and
whether the compiler fuses a multiplication with an addition cannot matter. It is reached only by points on, or within
rounding of, a line that is not parallel to an axis.
"""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

_FILTER = (3.0 + 16.0 * 2.0**-53) * 2.0**-53
"""Shewchuk's ccwerrboundA: rounding moves the determinant by at most this times the summed sizes of its products."""
_TINY = 1e-290
"""More than all that underflow can take away."""
_LIMB_BITS = 32
_LIMB_MASK = 2**32 - 1
_LIMBS = 136
_LOWEST_BIT = 2256
"""Where 2^0 stands: the product of the two smallest mantissas, at 2^-2252, still fits below."""


@njit(nogil=True, cache=True)
def _add_at(limbs: npt.NDArray[np.int64], sign: int, value: int, bit: int) -> None:
    """Add sign * value * 2^bit; 0 <= value < 2^56."""
    for _ in range(2):
        wide = (value & 0xFFFFFFF) << (bit & 31)
        limb = bit >> 5
        limbs[limb] += sign * (wide & _LIMB_MASK)
        limbs[limb + 1] += sign * (wide >> _LIMB_BITS)
        value >>= 28
        bit += 28


@njit(nogil=True, cache=True)
def _add_product(limbs: npt.NDArray[np.int64], sign: int, a: float, b: float) -> None:
    """Add sign * a * b exactly."""
    if a == 0.0 or b == 0.0:
        return
    if a < 0.0:
        sign = -sign
    if b < 0.0:
        sign = -sign
    fraction_a, exponent_a = math.frexp(abs(a))
    fraction_b, exponent_b = math.frexp(abs(b))
    mantissa_a = int(fraction_a * 2.0**53)
    mantissa_b = int(fraction_b * 2.0**53)
    bit = exponent_a + exponent_b - 106 + _LOWEST_BIT
    high_a, low_a = mantissa_a >> 27, mantissa_a & 0x7FFFFFF
    high_b, low_b = mantissa_b >> 27, mantissa_b & 0x7FFFFFF
    _add_at(limbs, sign, low_a * low_b, bit)
    _add_at(limbs, sign, high_a * low_b + low_a * high_b, bit + 27)
    _add_at(limbs, sign, high_a * high_b, bit + 54)


@njit(nogil=True, cache=True)
def exact_orientation(ax: float, ay: float, bx: float, by: float, cx: float, cy: float) -> int:
    """The sign of (a - c) x (b - c), multiplied out over the given coordinates (c x c cancels) and added exactly."""
    limbs = np.zeros(_LIMBS, np.int64)
    _add_product(limbs, 1, ax, by)
    _add_product(limbs, -1, ax, cy)
    _add_product(limbs, -1, cx, by)
    _add_product(limbs, -1, ay, bx)
    _add_product(limbs, 1, ay, cx)
    _add_product(limbs, 1, cy, bx)
    carry = np.int64(0)
    any_bit = False
    for i in range(_LIMBS):
        whole = limbs[i] + carry
        carry = whole >> _LIMB_BITS
        any_bit = any_bit or (whole & _LIMB_MASK) != 0
    if carry < 0:
        return -1
    return 1 if any_bit else 0


@njit(nogil=True, cache=True)
def orientation(ax: float, ay: float, bx: float, by: float, cx: float, cy: float) -> int:
    """1 when c lies left of the line from a to b, -1 when right of it, 0 when on it; as exact arithmetic has it."""
    ux, uy, vx, vy = ax - cx, ay - cy, bx - cx, by - cy
    # A difference of floats has the sign of the true difference, so the signs of both products are known exactly.
    left_sign = (1 if ux > 0.0 else (-1 if ux < 0.0 else 0)) * (1 if vy > 0.0 else (-1 if vy < 0.0 else 0))
    right_sign = (1 if uy > 0.0 else (-1 if uy < 0.0 else 0)) * (1 if vx > 0.0 else (-1 if vx < 0.0 else 0))
    if left_sign != right_sign:
        return 1 if left_sign > right_sign else -1
    if left_sign == 0:
        return 0
    left, right = ux * vy, uy * vx
    determinant = left - right
    if abs(determinant) > _FILTER * (abs(left) + abs(right)) + _TINY:
        return 1 if determinant > 0.0 else -1
    return exact_orientation(ax, ay, bx, by, cx, cy)
