"""Random places, regions and shapes on a coarse grid, so that boundaries, corners and equal distances are hit."""

import math
from random import Random
from typing import Any

from tests.oracle import geometry

Ring = list[tuple[int, int]]
TEMPLATES: list[list[Ring]] = [
    [[(0, 0), (4, 0), (0, 4)]],
    [[(0, 0), (4, 1), (1, 3)]],
    [[(2, 0), (4, 2), (2, 4), (0, 2)]],
    [[(0, 0), (4, 0), (4, 2), (2, 2), (2, 4), (0, 4)]],
    [[(0, 0), (6, 0), (6, 4), (4, 4), (4, 2), (2, 2), (2, 4), (0, 4)]],
    [[(0, 0), (4, 1), (8, 0), (7, 4), (8, 8), (4, 7), (0, 8), (1, 4)]],
    [[(0, 0), (4, 0), (4, 4), (0, 4)], [(1, 1), (3, 1), (3, 3), (1, 3)]],
    [[(0, 0), (4, 0), (4, 4), (0, 4)], [(2, 1), (3, 2), (2, 3), (1, 2)]],
    [[(0, 0), (8, 0), (8, 4), (0, 4)], [(1, 1), (3, 1), (2, 3)], [(5, 1), (7, 1), (7, 3), (5, 3)]],
]
"""Rings on whole numbers, not closed: the outer one and its holes."""
MERIDIAN = [180.0, -180.0, 177.5, -177.5, 175.0, -175.0, 170.0, -170.0]
EQUATOR = [0.0, -0.0, 2.5, 5.0, -5.0]
ANY_LONGITUDE = [*MERIDIAN, 0.0, -0.0, 90.0]
POLES = [90.0, -90.0, 89.0, -89.0, 85.0, -85.0, 80.0, -80.0]


class Ground:
    """Draws places in one space."""

    def __init__(self, random: Random, space: geometry.Space, edges: float) -> None:
        self.random = random
        self.space = space
        self.edges = edges
        """How often a place on the globe lies near the antimeridian or a pole."""
        self.hits: list[geometry.Place] = []
        """Corners of regions drawn lately, midpoints of their edges, and points of their edges but for rounding."""
        if space is None:
            self.corner, self.step = random.choice([(13.0, 52.0), (-0.5, 51.0), (-74.5, 40.5)]), 0.25
        else:
            self.corner, self.step = (space[0], space[1]), (space[2] - space[0]) / 8

    def _at_edge(self) -> bool:
        return self.space is None and self.random.random() < self.edges

    def _grid(self) -> geometry.Place:
        return (
            self.corner[0] + self.random.randint(0, 8) * self.step,
            self.corner[1] + self.random.randint(0, 8) * self.step,
        )

    def point(self) -> geometry.Place:
        if self.hits and self.random.random() < 0.25:
            return self.random.choice(self.hits)
        if self._at_edge():
            return self._edge()
        return self._grid()

    def _edge(self) -> geometry.Place:
        """Where the antimeridian crosses the equator, or around a pole."""
        if self.random.random() < 0.5:
            return self.random.choice(MERIDIAN), self.random.choice(EQUATOR)
        return self.random.choice(ANY_LONGITUDE), self.random.choice(POLES)

    def box(self) -> list[float]:
        if not self._at_edge():
            (a, b), (c, d) = self._grid(), self._grid()
            return [min(a, c), min(b, d), max(a, c), max(b, d)]
        low, bottom = self._edge()
        width = self.random.choice([0.0, 5.0, 10.0, 20.0, 200.0, 360.0])
        high = low + width
        if width == 360.0:
            low, high = -180.0, 180.0
        elif high > 180.0:
            high -= 360.0
        top = min(90.0, bottom + self.random.choice([0.0, 1.0, 5.0, 10.0]))
        return [low, bottom, high, top]

    def at_or_box(self) -> dict[str, list[float]]:
        if self.random.random() < 0.2:
            return {"box": self.box()}
        return {"at": self.numbers(self.point())}

    def numbers(self, place: geometry.Place) -> list[float]:
        """As in JSON: whole numbers are now and then written without a fraction."""
        whole = self.random.random() < 0.3
        return [int(number) if whole and number == int(number) else number for number in place]

    def radius(self, centre: geometry.Place) -> float:
        """Often exactly the distance of another place that messages may have."""
        other = self.point()
        radius = geometry.distance(self.space, centre, other)
        radius = self.random.choice([radius, radius, float(round(radius)), radius * 1.5])
        return radius or self.step

    def polygon(self) -> list[list[list[float]]]:
        random = self.random
        template = random.choice(TEMPLATES)
        width, height = max(x for x, _ in template[0]), max(y for _, y in template[0])
        edge = self._at_edge()
        scale = random.choice([1.25, 2.5]) if edge else self.step * random.choice([0.5, 1.0, 1.0])
        decimal = not edge and self.step != 0.125 and random.random() < 0.3
        if decimal:
            scale = 0.3
        x, y = self._grid()
        if edge:
            x = random.choice([180.0 - width * scale, -180.0, 160.0])
            y = random.choice([90.0 - height * scale, -90.0, 0.0, 80.0 - height * scale])
        elif self.space is not None:
            x, y = min(x, self.space[2] - width * scale), min(y, self.space[3] - height * scale)
        turned, shift = random.random() < 0.5, random.randrange(8)

        def placed(u: float, v: float) -> tuple[float, float]:
            if decimal:
                return (round(10 * x) + 3 * u) / 10, (round(10 * y) + v) / 10
            return x + scale * u, y + scale * v

        rings = []
        for corners in template:
            turn = corners[::-1] if turned else corners
            turn = turn[shift % len(turn) :] + turn[: shift % len(turn)]
            for (a, b), (c, d) in zip(turn, turn[1:] + turn[:1], strict=True):
                self.hits += [placed(a, b), placed((a + c) / 2, (b + d) / 2), self._beside(placed(a, b), placed(c, d))]
            rings.append([list(placed(u, v)) for u, v in [*turn, turn[0]]])
        self.hits = self.hits[-48:]
        return rings

    def _beside(self, a: geometry.Place, b: geometry.Place) -> geometry.Place:
        """A point of an edge as nearly as float64 can say it: on it, or beside it by less than rounding."""
        t = self.random.choice([0.1, 0.3, 0.7])
        x, y = a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])
        return x, self.random.choice([y, math.nextafter(y, min(a[1], b[1])), math.nextafter(y, max(a[1], b[1]))])

    def region(self, depth: int = 2) -> Any:
        kinds = ["box", "box", "box", "circle", "circle", "Polygon", "Polygon", "MultiPolygon", "everywhere"]
        kind = self.random.choice(kinds + ["any"] * depth)
        if kind == "everywhere":
            return kind
        if kind == "any":
            return {"any": [self.region(depth - 1) for _ in range(self.random.randint(1, 3))]}
        if kind == "box":
            box = self.box()
            self.hits = [*self.hits[-46:], (box[0], box[1]), (box[2], box[3])]
            return {"box": box}
        if kind == "circle":
            centre = self.point()
            return {"circle": [*centre, self.radius(centre)]}
        coordinates: Any = self.polygon() if kind == "Polygon" else [self.polygon(), self.polygon()]
        return {"type": kind, "coordinates": coordinates}

    def shape(self, at: geometry.Place) -> dict[str, float]:
        """Of an `around`: exact distances and grid sizes; near the edges of the globe also huge ones."""
        if self.random.random() < 0.5:
            return {"radius_m": self.radius(at)}
        if self.space is None and self.random.random() < self.edges:
            width = self.random.choice([5.0, 10.0, 20.0, 40.0, 359.0, 360.0, 400.0])
            return {"width": width, "height": self.random.choice([1.0, 10.0, 30.0, 180.0])}
        return {"width": self.step * self.random.randint(1, 8), "height": self.step * self.random.randint(1, 8)}
