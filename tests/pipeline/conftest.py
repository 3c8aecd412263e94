"""One Spark session for all pipelines of a test process, and a folder of their own for what pipelines leave about."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.pipelines import MASTER

from tidings.spark.launch import patient
from tidings.spark.session import session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; one that another test has started serves as well, and is stopped by that."""
    running = SparkSession.getActiveSession()
    folder = tmp_path_factory.mktemp("spark")
    # Spark says every task that fails, and here many do.
    conf = {"spark.log.level": "OFF", "spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder)}
    started = session(patient(MASTER), shards=2, app_name="pipelines", conf=conf)
    yield started
    if running is None:
        started.stop()


@pytest.fixture
def random(seed: int, request: pytest.FixtureRequest) -> Random:
    """Another one for every test, and the same for the same seed."""
    return Random(f"{seed} {request.node.nodeid}")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the checkpoints of pipelines go in this test."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
