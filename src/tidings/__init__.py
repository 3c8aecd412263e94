"""Tidings: location-aware publish/subscribe. Standing subscriptions of words and place, matched as messages come."""

from importlib import import_module
from typing import TYPE_CHECKING

from tidings.kernels import prepare

if TYPE_CHECKING:
    from tidings.matching.engine import Engine as Engine
    from tidings.model.deltas import Delta as Delta
    from tidings.model.errors import TidingsError as TidingsError
    from tidings.model.events import AnalyserConfiguration as AnalyserConfiguration
    from tidings.model.events import Configure as Configure
    from tidings.model.events import Globe as Globe
    from tidings.model.events import Move as Move
    from tidings.model.events import Plane as Plane
    from tidings.model.events import Publish as Publish
    from tidings.model.events import Register as Register
    from tidings.model.events import Remove as Remove
    from tidings.model.events import Replace as Replace
    from tidings.model.events import Retract as Retract
    from tidings.model.events import Reweigh as Reweigh
    from tidings.model.events import Tick as Tick
    from tidings.model.events import Weights as Weights
    from tidings.model.events import Window as Window
    from tidings.model.regions import AnyOf as AnyOf
    from tidings.model.regions import Box as Box
    from tidings.model.regions import Circle as Circle
    from tidings.model.regions import Everywhere as Everywhere
    from tidings.model.regions import Polygon as Polygon
    from tidings.model.subscriptions import Around as Around
    from tidings.model.subscriptions import Best as Best
    from tidings.model.subscriptions import Disc as Disc
    from tidings.model.subscriptions import Nearest as Nearest
    from tidings.model.subscriptions import Rectangle as Rectangle
    from tidings.model.subscriptions import Within as Within

__version__ = "0.1.0"

_PLACES = {
    "tidings.matching.engine": "Engine",
    "tidings.model.deltas": "Delta",
    "tidings.model.errors": "TidingsError",
    "tidings.model.events": (
        "AnalyserConfiguration Configure Globe Move Plane Publish Register Remove Replace Retract Reweigh Tick "
        "Weights Window"
    ),
    "tidings.model.regions": "AnyOf Box Circle Everywhere Polygon",
    "tidings.model.subscriptions": "Around Best Disc Nearest Rectangle Within",
}
"""What `from tidings import …` gives; it is imported when it is asked for, so that the command line starts at once."""

prepare()


def __getattr__(name: str) -> object:
    for module, names in _PLACES.items():
        if name in names.split():
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'tidings' has no attribute {name!r}")
