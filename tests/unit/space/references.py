"""Slow and plain definitions to compare the kernels with: rational arithmetic, and boxes as sets of named places."""

import math
import random
from fractions import Fraction
from itertools import pairwise

Exact = tuple[Fraction, Fraction]


def exact(point: tuple[float, float]) -> Exact:
    return Fraction(point[0]), Fraction(point[1])


def side(a: Exact, b: Exact, c: Exact) -> int:
    value = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (value > 0) - (value < 0)


def on_segment(a: Exact, b: Exact, p: Exact) -> bool:
    return (
        side(a, b, p) == 0 and min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])
    )


def edges(rings) -> list[tuple[Exact, Exact]]:
    return [(exact(a), exact(b)) for ring in rings for a, b in pairwise(ring)]


def has_exact_point(rings, p: Exact) -> bool:
    """Even-odd by the heights at which a vertical line through p meets the edges."""
    below = 0
    for a, b in edges(rings):
        if on_segment(a, b, p):
            return True
        if (a[0] <= p[0]) != (b[0] <= p[0]):
            height = a[1] + (p[0] - a[0]) * (b[1] - a[1]) / (b[0] - a[0])
            below += height < p[1]
    return below % 2 == 1


def has_point(rings, x: float, y: float) -> bool:
    return has_exact_point(rings, exact((x, y)))


def segment_enters(a: Exact, b: Exact, low: Exact, high: Exact) -> bool:
    """Liang and Barsky's clipping, exactly."""
    first, last = Fraction(0), Fraction(1)
    for axis in (0, 1):
        step = b[axis] - a[axis]
        if step == 0:
            if not low[axis] <= a[axis] <= high[axis]:
                return False
            continue
        one, other = (low[axis] - a[axis]) / step, (high[axis] - a[axis]) / step
        first, last = max(first, min(one, other)), min(last, max(one, other))
    return first <= last


def meets_flat_box(rings, x0: float, y0: float, x1: float, y1: float) -> bool:
    low, high = exact((x0, y0)), exact((x1, y1))
    return has_exact_point(rings, low) or any(segment_enters(a, b, low, high) for a, b in edges(rings))


def cuts(a: Exact, b: Exact, c: Exact, d: Exact) -> list[Exact]:
    """The points that two segments share, or the ends of the piece that they share."""
    ux, uy, vx, vy = b[0] - a[0], b[1] - a[1], d[0] - c[0], d[1] - c[1]
    across = ux * vy - uy * vx
    if across == 0:
        return [p for p in {a, b, c, d} if on_segment(a, b, p) and on_segment(c, d, p)]
    t = ((c[0] - a[0]) * vy - (c[1] - a[1]) * vx) / across
    s = ((c[0] - a[0]) * uy - (c[1] - a[1]) * ux) / across
    return [(a[0] + t * ux, a[1] + t * uy)] if 0 <= t <= 1 and 0 <= s <= 1 else []


def is_simple(ring) -> bool:
    """Closed, and no point of it is reached twice."""
    if len(ring) < 4 or ring[0] != ring[-1]:
        return False
    pieces = edges([ring])
    if any(a == b for a, b in pieces):
        return False
    for i, (a, b) in enumerate(pieces):
        for j in range(i):
            shared = cuts(a, b, *pieces[j])
            ends = {a, b} & set(pieces[j])
            consecutive = i - j in (1, len(pieces) - 1)
            if len(shared) > 1 or (shared and not (consecutive and shared[0] in ends)):
                return False
    return True


def pieces_of(ring, other) -> list[Exact]:
    """The middle of every piece into which the points shared with the other ring cut the edges of a ring."""
    middles = []
    for a, b in edges([ring]):
        at = {a, b}
        for c, d in edges([other]):
            at.update(cuts(a, b, c, d))
        ordered = sorted(at)
        middles += [((p[0] + q[0]) / 2, (p[1] + q[1]) / 2) for p, q in pairwise(ordered)]
    return middles


def is_valid(rings) -> bool:
    """All rings simple; no piece of a ring runs along another; the others lie on one side of each; holes inside."""
    if not all(is_simple(ring) for ring in rings):
        return False
    for i, ring in enumerate(rings):
        for j, other in enumerate(rings):
            if i == j:
                continue
            middles = pieces_of(ring, other)
            if any(on_segment(c, d, p) for p in middles for c, d in edges([other])):
                return False
            inside = {has_exact_point([other], p) for p in middles}
            if len(inside) > 1 or (j == 0 and inside != {True}):
                return False
    return True


def place(lon: float, lat: float) -> tuple[float, float]:
    """One name for each place of the globe."""
    if abs(lat) == 90.0:
        return 0.0, lat
    return lon % 360.0, lat


def places_of_box(x0: float, y0: float, x1: float, y1: float, step: float) -> set[tuple[float, float]]:
    """The places of a box whose bounds are multiples of the step, on a grid of that step."""
    width = x1 - x0 if x0 <= x1 else x1 + 360.0 - x0
    return {
        place(x0 + i * step, y0 + j * step)
        for i in range(round(width / step) + 1)
        for j in range(round((y1 - y0) / step) + 1)
    }


def angle_distance(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """The great-circle distance by vectors, not by the haversine."""

    def vector(lon: float, lat: float) -> tuple[float, float, float]:
        a, b = math.radians(lon), math.radians(lat)
        return math.cos(b) * math.cos(a), math.cos(b) * math.sin(a), math.sin(b)

    u, v = vector(lon1, lat1), vector(lon2, lat2)
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    return 6371008.8 * math.atan2(math.hypot(*cross), sum(p * q for p, q in zip(u, v, strict=True)))


def star(rng: random.Random, x: float, y: float, reach: float, n: int):
    """A ring around a centre, simple by construction unless rounding or a flat angle interferes."""
    angles = sorted(rng.random() * 2 * math.pi for _ in range(n))
    ring = [(x + r * math.cos(a), y + r * math.sin(a)) for a in angles for r in [reach * rng.uniform(0.3, 1.0)]]
    return (*ring, ring[0])


def grid_ring(rng: random.Random, n: int, size: int):
    """A ring of small whole numbers: seldom simple, full of coincidences."""
    ring = [(float(rng.randint(0, size)), float(rng.randint(0, size))) for _ in range(n)]
    return (*ring, ring[0])
