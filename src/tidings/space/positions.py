"""Points and bounds from decoded JSON, with everything that is wrong about them."""

import math
from typing import Final

from tidings.model.errors import Problem, shortened
from tidings.model.events import Space
from tidings.model.regions import Bounds, Point
from tidings.space.extent import extent_of, is_globe

_NAMES: Final = (("x", "y"), ("lon", "lat"))


def read_number(value: object, path: str) -> tuple[float | None, list[Problem]]:
    """A finite number; True and False are none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number, []
    return None, [Problem("field-type", path, shortened(value), "a finite number")]


def _inside(number: float, axis: int, path: str, space: Space) -> list[Problem]:
    extent = extent_of(space)
    low, high = extent[axis], extent[axis + 2]
    if low <= number <= high:
        return []
    name = _NAMES[is_globe(space)][axis]
    hint = ""
    if is_globe(space) and axis == 1 and abs(number) <= 180.0:
        hint = "The order is lon, lat."
    return [Problem("place-outside", path, shortened(number), f"a {name} from {low:g} to {high:g}", hint)]


def _coordinates(value: list[object], path: str, space: Space) -> tuple[list[float], list[Problem]]:
    numbers: list[float] = []
    problems: list[Problem] = []
    for i, item in enumerate(value):
        number, found = read_number(item, f"{path}[{i}]")
        problems += found
        if number is not None:
            problems += _inside(number, i % 2, f"{path}[{i}]", space)
            numbers.append(number)
    return numbers, problems


def read_point(value: object, path: str, space: Space) -> tuple[Point | None, list[Problem]]:
    """A position in the space, or None and why not."""
    expected = "[{}, {}]".format(*_NAMES[is_globe(space)])
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        hint = ""
        if isinstance(value, (list, tuple)) and len(value) == 3:
            hint = "Leave out the third coordinate: altitudes are not supported."
        return None, [Problem("field-type", path, shortened(value), expected, hint)]
    numbers, problems = _coordinates(list(value), path, space)
    if problems:
        return None, problems
    return (numbers[0], numbers[1]), []


def read_bounds(value: object, path: str, space: Space) -> tuple[Bounds | None, list[Problem]]:
    """A box in the space, or None and why not; only on the globe the first coordinate may be the larger one."""
    x, y = _NAMES[is_globe(space)]
    if not isinstance(value, (list, tuple)) or len(value) != 4:
        expected = f"[min_{x}, min_{y}, max_{x}, max_{y}]"
        return None, [Problem("field-type", path, shortened(value), expected)]
    numbers, problems = _coordinates(list(value), path, space)
    if len(numbers) == 4:
        x0, y0, x1, y1 = numbers
        if y0 > y1:
            problems.append(Problem("region-invalid", path, shortened(value), f"min_{y} <= max_{y}"))
        if x0 > x1 and not is_globe(space):
            problems.append(Problem("region-invalid", path, shortened(value), f"min_{x} <= max_{x}"))
    if problems:
        return None, problems
    return (numbers[0], numbers[1], numbers[2], numbers[3]), []
