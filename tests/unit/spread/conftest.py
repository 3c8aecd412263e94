"""Random numbers for the tests of plans."""

from random import Random

import pytest


@pytest.fixture
def random(seed) -> Random:
    return Random(seed)
