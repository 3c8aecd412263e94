"""Orientation: the sign of rational arithmetic, for every finite float."""

import math
import random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.space.references import exact, side

from tidings.space.orientation import exact_orientation, orientation

anything = st.floats(allow_nan=False, allow_infinity=False)
degrees = st.floats(-180.0, 180.0)
TINY = 5e-324
HUGE = 1.7976931348623157e308


@settings(max_examples=1000)
@given(st.one_of(st.tuples(*[anything] * 6), st.tuples(*[degrees] * 6)))
@example((0.0, 0.0, TINY, TINY, 1.0, 1.0))
@example((HUGE, -HUGE, -HUGE, HUGE, HUGE, -HUGE))
@example((0.0, TINY, 1.0, TINY, 0.5, 0.0))
@example((-HUGE, 1.0, HUGE, 1.0, 0.0, 1.0))
@example((TINY, TINY, -TINY, -TINY, HUGE, HUGE))
def test_any_coordinates(c):
    expected = side(exact(c[0:2]), exact(c[2:4]), exact(c[4:6]))
    assert orientation(*c) == expected
    assert exact_orientation(*c) == expected


def nudged(rng, value):
    for _ in range(rng.randrange(3)):
        value = math.nextafter(value, rng.choice([-math.inf, math.inf]))
    return value


def test_points_within_a_few_steps_of_a_line(seed):
    rng = random.Random(seed)
    seen = {-1: 0, 0: 0, 1: 0}
    for _ in range(20_000):
        scale = 2.0 ** rng.randrange(-20, 8)
        ax, ay = rng.uniform(-1, 1) * scale, rng.randrange(-9, 9) / 8
        bx, by = rng.uniform(-1, 1) * scale, rng.uniform(-1, 1) * rng.choice([1.0, scale])
        t = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0, rng.random(), 2.0, -1.0])
        c = ax, ay, bx, by, nudged(rng, ax + t * (bx - ax)), nudged(rng, ay + t * (by - ay))
        expected = side(exact(c[0:2]), exact(c[2:4]), exact(c[4:6]))
        assert orientation(*c) == expected, c
        seen[expected] += 1
    assert min(seen.values()) > 500


def test_order_and_mirrors(seed):
    rng = random.Random(seed)
    for _ in range(5000):
        c = [rng.choice([rng.uniform(-180, 180), rng.randint(-3, 3) / 2, rng.random() * 1e-300]) for _ in range(6)]
        ax, ay, bx, by, cx, cy = c
        answer = orientation(*c)
        assert orientation(bx, by, cx, cy, ax, ay) == answer
        assert orientation(bx, by, ax, ay, cx, cy) == -answer
        assert orientation(-ax, ay, -bx, by, -cx, cy) == -answer
        assert orientation(ay, ax, by, bx, cy, cx) == -answer


def test_products_that_underflow(seed):
    rng = random.Random(seed)
    n_lines = 0
    for _ in range(10_000):
        unit = 2.0 ** rng.randrange(-545, -525)
        c = [rng.randrange(-6, 7) * unit for _ in range(6)]
        expected = side(exact(c[0:2]), exact(c[2:4]), exact(c[4:6]))
        assert orientation(*c) == expected, c
        n_lines += expected == 0
    assert 100 < n_lines < 9000
