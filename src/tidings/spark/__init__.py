"""Spark: the pipeline that reads a log and keeps its deliveries, and the functions for DataFrames of your own."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.spark.frames import match as match
    from tidings.spark.frames import problems as problems
    from tidings.spark.table_source import register as register

_PLACES = {"match": "frames", "problems": "frames", "register": "table_source"}
"""What `from tidings.spark import …` gives; it is imported when it is asked for, since Spark is not small."""


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(f"tidings.spark.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'tidings.spark' has no attribute {name!r}")
