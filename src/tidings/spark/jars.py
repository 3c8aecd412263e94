"""The jars of Spark's Kafka connector, which PySpark does not bring along.

`mvn` fetches them where there is one; else Spark's own resolver does, as it starts. Either takes the connector of the
same version as Spark. A repository that mirrors only part of the world may lack it: then an older connector stands in
that is known to work with this Spark, and a warning says so.
"""

import re
import shutil
import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tidings.model.errors import FileError, Problem
from tidings.spark.maven import fetched

SCALA: Final = "2.13"
"""What PySpark's own jars are built for."""

CONNECTOR: Final = f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}"
TOKENS: Final = f"org.apache.spark:spark-token-provider-kafka-0-10_{SCALA}"
"""What the connector asks for tokens; without security it is loaded and not used."""

STAND_INS: Final = (("4.2.0", "4.2.0"), ("4.2.0", "4.0.0"))
"""Versions of the connector and of what gives it tokens that were tried with Spark 4.3: read by offsets, stream,
write."""

_PROVIDED: Final = (f"org.apache.spark:spark-tags_{SCALA}", "org.scala-lang:scala-library")
"""What Spark has; asking for it in an older version would fail where a repository lacks that one."""


def kafka_conf() -> dict[str, str]:
    """What a session has to be configured with to have the connector."""
    if _offered_elsewhere():
        return {}
    if shutil.which("mvn") is None and _had(anew=False) is None:
        return {"spark.jars.packages": f"{CONNECTOR}:{_spark_version()}"}
    return {"spark.jars": ",".join(map(str, kafka_jars()))}


def kafka_jars() -> list[Path]:
    """The connector's jars and those that it needs and Spark does not have."""
    jars = _had(anew=False) or _had(anew=True)
    if jars is None:
        # The first refusal says it best.
        jars = _connector(_spark_version(), _spark_version(), anew=True)
    there = {_artifact(path) for path in _spark_jars().glob("*.jar")}
    return [path for path in jars if _artifact(path) not in there]


def _had(*, anew: bool) -> list[Path] | None:
    """The first connector that there is; None when there is none."""
    wanted = _spark_version()
    for connector, tokens in ((wanted, wanted), *STAND_INS):
        try:
            jars = _connector(connector, tokens, anew=anew)
        except FileError:
            continue
        if anew and connector != wanted:
            said = f"the Maven repository does not have Spark's Kafka connector {wanted}; {connector} stands in"
            warnings.warn(said, RuntimeWarning, stacklevel=3)
        return jars
    return None


def _connector(connector: str, tokens: str, *, anew: bool) -> list[Path]:
    name = f"spark-kafka-{connector}-{tokens}"
    return fetched(name, [f"{CONNECTOR}:{connector}"], instead=[f"{TOKENS}:{tokens}"], without=_PROVIDED, anew=anew)


def _offered_elsewhere() -> bool:
    """Whether somebody put the connector among Spark's own jars."""
    return any(_spark_jars().glob(f"{CONNECTOR.partition(':')[2]}-*.jar"))


def _artifact(path: Path) -> str:
    """The name of a jar without its version."""
    return re.sub(r"-\d[^/]*\.jar$", "", path.name)


def _spark_version() -> str:
    try:
        return version("pyspark")
    except PackageNotFoundError:
        raise FileError(_no_spark()) from None


def _spark_jars() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise FileError(_no_spark())
    return Path(spec.origin).parent / "jars"


def _no_spark() -> Problem:
    return Problem(
        "package-missing", "pyspark", "not installed", "PySpark 4.3", 'python -m pip install "tidings[spark]"'
    )
