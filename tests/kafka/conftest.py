"""One broker for all tests of Kafka."""

import warnings
from collections.abc import Iterator
from itertools import count

import pytest

from tests.kafka.broker import Broker
from tidings.model.errors import TidingsError

_numbers = count()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A real broker; where its jars or its Java cannot be had, the tests are skipped with one loud line."""
    pytest.importorskip("confluent_kafka", reason="KAFKA IS NOT TESTED: confluent-kafka is not installed")
    try:
        made = Broker()
    except TidingsError as error:
        reason = f"KAFKA IS NOT TESTED: {error.problems[0].place}: {error.problems[0].found}"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with made:
        yield made


@pytest.fixture
def topic() -> str:
    """The name of a topic that no other test uses."""
    return f"events-{next(_numbers)}"
