"""Testing pipelines of your own: scripted sources, a clock set by hand, things that fail, and what is right."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.testing.clock import Clock as Clock
    from tidings.testing.crashing import Crash as Crash
    from tidings.testing.crashing import Crashing as Crashing
    from tidings.testing.crashing import crashing_index as crashing_index
    from tidings.testing.expecting import assert_exactly as assert_exactly
    from tidings.testing.expecting import delivered as delivered
    from tidings.testing.expecting import expect_deltas as expect_deltas
    from tidings.testing.logs import ScriptedLog as ScriptedLog
    from tidings.testing.logs import temporary_log as temporary_log
    from tidings.testing.scripts import ABORT as ABORT
    from tidings.testing.scripts import END as END
    from tidings.testing.scripts import Aborted as Aborted
    from tidings.testing.scripts import Pause as Pause
    from tidings.testing.scripts import Script as Script

_PLACES = {
    "clock": "Clock",
    "crashing": "Crash Crashing crashing_index",
    "expecting": "assert_exactly delivered expect_deltas",
    "logs": "ScriptedLog temporary_log",
    "scripts": "ABORT END Aborted Pause Script",
}
"""What `from tidings.testing import …` gives; it is imported when it is asked for."""


def __getattr__(name: str) -> object:
    for module, names in _PLACES.items():
        if name in names.split():
            return getattr(import_module(f"tidings.testing.{module}"), name)
    raise AttributeError(f"module 'tidings.testing' has no attribute {name!r}")
