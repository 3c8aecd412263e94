"""What all tests share: the seed.

`TIDINGS_SEED` sets it (`TIDINGS_SEED=fresh` draws one); without it every run is the same. It is printed at the head of
the report and with every failure of a test that uses it, Hypothesis draws from it too, and the processes of a
parallel run all get the same one.
"""

import os
import random

import hypothesis
import pytest

import tidings

VARIABLE = "TIDINGS_SEED"
DEFAULT = 20260
WHERE_KERNELS_LIVE = tidings.kernels.cache_directory()  # before a test imports Numba on its own

hypothesis.settings.register_profile("tidings", deadline=None, print_blob=True)
hypothesis.settings.load_profile("tidings")


def _chosen() -> int:
    """The seed of this run."""
    given = os.environ.get(VARIABLE, "").strip()
    if given == "fresh":
        return random.SystemRandom().randrange(2**32)
    try:
        return int(given or DEFAULT)
    except ValueError:
        raise pytest.UsageError(f"{VARIABLE} is a whole number or `fresh`, not {given!r}") from None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before any worker starts and before Hypothesis asks for its own."""
    seed = _chosen()
    os.environ[VARIABLE] = str(seed)
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(seed)


def pytest_report_header() -> str:
    """The seed, at the head of the report."""
    return f"seed: {os.environ[VARIABLE]} (run again with {VARIABLE}={os.environ[VARIABLE]})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """The seed, with the failure of a test that uses it."""
    report = yield
    if report.failed and "seed" in getattr(item, "fixturenames", ()):
        report.sections.append(("seed", f"{VARIABLE}={os.environ[VARIABLE]} {item.nodeid}"))
    return report


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this run, for `random.Random(seed)` and `numpy.random.default_rng(seed)`."""
    return int(os.environ[VARIABLE])
