"""One Spark session for all tests that run Spark: two cores, loopback only, quiet."""

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tidings.spark import register
from tidings.spark.session import session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session; whatever it writes goes to a folder of this run."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    started = session("local[2]", shards=2, app_name="tests", conf=conf)
    register(started)
    yield started
    started.stop()
