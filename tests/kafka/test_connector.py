"""Spark's own connector: its jars are had by coordinates, and it reads the ranges of a plan."""

import os
import subprocess
import sys

import pytest

from tests.kafka.broker import Broker
from tidings.log.kafka import KafkaLog
from tidings.model.events import Tick
from tidings.spark.jars import kafka_conf, kafka_jars

SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
from tidings.log.kafka_ranges import KafkaRange, offsets_json
from tidings.spark.jars import kafka_conf
bootstrap, topic = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for name, value in {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", **kafka_conf()}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
first, end = offsets_json([KafkaRange(topic, 0, 3, 7), KafkaRange(topic, 1, 0, 0)])
rows = (
    spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    .option("startingOffsets", first).option("endingOffsets", end).load()
)
print(json.dumps([[row.partition, row.offset, row.value.decode()] for row in rows.collect()]))
spark.stop()
"""


def test_jars_are_those_that_spark_lacks_and_stay():
    pytest.importorskip("pyspark")
    names = [path.name for path in kafka_jars()]
    assert {name.partition("-")[0] for name in names} == {"spark", "kafka", "commons"}
    assert len(names) == 4
    environment = os.environ | {"PATH": ""}
    ran = subprocess.run(
        [sys.executable, "-c", "from tidings.spark.jars import kafka_conf; print(kafka_conf()['spark.jars'])"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == kafka_conf()["spark.jars"]


def test_the_connector_reads_a_range(broker: Broker, topic: str):
    pytest.importorskip("pyspark")
    with KafkaLog(f"kafka://{broker.bootstrap}/{topic}?partitions=2&replication=1", create=True) as log:
        log.append([Tick(number) for number in range(10)])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, broker.bootstrap, topic], capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0, ran.stderr
    wanted = ", ".join(f'[0, {number}, "{{\\"op\\":\\"tick\\",\\"ts\\":{number}}}"]' for number in range(3, 7))
    assert ran.stdout.strip() == f"[{wanted}]"
