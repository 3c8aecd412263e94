"""The client of Kafka, imported when it is needed, and what it says as errors of Tidings."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from tidings.model.errors import FileError, Problem

PATIENCE_S: Final = 30.0
"""So long a broker may take to answer."""

READING: Final = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 10,  # how long it takes to hear that nothing more is there
    "log_level": 0,
}
"""Of a consumer that reads what is committed, and wants to know where that ends."""

QUIET: Final = {"log_level": 0}
"""What goes wrong is raised; the client would also write it to standard error."""


def client() -> Any:
    """The package confluent_kafka."""
    return _module("confluent_kafka")


def admin(bootstrap: str) -> Any:
    """A client that asks for and makes topics."""
    return _admin(bootstrap, os.getpid())


@lru_cache(4)
def _admin(bootstrap: str, process: int) -> Any:
    """To connect takes longer than to ask. A client does not outlive a fork, so each process has its own."""
    return admin_module().AdminClient({"bootstrap.servers": bootstrap, **QUIET})


def admin_module() -> Any:
    """The classes that an admin client is told with."""
    return _module("confluent_kafka.admin")


@contextmanager
def kafka_errors(place: str) -> Iterator[None]:
    """What Kafka says is wrong, as an error that names the place."""
    try:
        yield
    except client().KafkaException as error:
        raise unreachable(place, error.args[0]) from error


def unreachable(place: str, reason: object) -> FileError:
    """That Kafka did not do what it was asked for."""
    said = reason.str() if hasattr(reason, "str") else str(reason)
    hint = "is the address right, and does a broker run there?"
    return FileError(Problem("kafka-unreachable", place, said, "an answer", hint))


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        hint = 'python -m pip install "tidings[kafka]"'
        problem = Problem("package-missing", "confluent-kafka", str(error), "the Kafka client for Python", hint)
        raise FileError(problem) from error
