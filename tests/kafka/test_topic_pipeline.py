"""A topic as the log of a pipeline: a real broker, Spark's own connector, the command as a user calls it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.kafka.broker import Broker
from tests.oracle.logs import random_log
from tests.oracle.semantics import deltas_of
from tidings.log.deliveries import open_deliveries
from tidings.log.deltas_file import lines_of
from tidings.log.kafka import KafkaLog
from tidings.log.kafka_ranges import ranges_of

HARMLESS = {"op": "retract", "id": "nobody at all"}
BAD = [b"not JSON", b'{"op": "publish", "id": "x"}', b'{"op": "remove", "id": "never registered"}', b""]


def produce(broker: Broker, topic: str, lines: list[tuple[int, bytes]]) -> None:
    """Send records as anybody can, to partitions that are said."""
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for partition, line in lines:
        producer.produce(topic, line, partition=partition)
    assert producer.flush(30) == 0


def pipeline(broker: Broker, topic: str, state: Path, *more: str) -> list[str]:
    """The command."""
    log = f"kafka://{broker.bootstrap}/{topic}"
    return [
        *(sys.executable, "-c", "from tidings.cli.main import main; main()", "pipeline", "--log", log),
        *("--state", str(state), "--master", "local[2]", "--shards", "3", "--batch-events", "150", *more),
    ]


def run(broker: Broker, topic: str, state: Path, *more: str) -> dict[str, int]:
    """Run to the end that the topic has, and what the command says."""
    ran = subprocess.run(
        pipeline(broker, topic, state, "--once", "--json", *more), capture_output=True, text=True, timeout=240
    )
    assert ran.returncode == 0, ran.stderr
    said: dict[str, int] = json.loads(ran.stdout)
    return said


def answered(state: Path) -> str:
    """What was delivered, as a file."""
    deliveries = open_deliveries(state)
    try:
        return b"".join(lines_of(deltas) for deltas in deliveries.read(0)).decode()
    finally:
        deliveries.close()


def in_order(broker: Broker, topic: str, state: Path) -> list[bytes]:
    """The records of a topic in the order that the plans of all batches fixed."""
    deliveries = open_deliveries(state)
    with KafkaLog(f"kafka://{broker.bootstrap}/{topic}") as log:
        found = {
            position: line
            for batch in deliveries.batches(0)
            for position, line in log.read(ranges_of(batch.sources), batch.first)
        }
        done = deliveries.done()
    deliveries.close()
    assert sorted(found) == list(range(done))
    return [found[position] for position in range(done)]


def wanted(lines: list[bytes], bad: set[bytes]) -> str:
    """The oracle's file for a log in which bad lines are as if they had never been."""
    heard = [HARMLESS if line in bad else json.loads(line) for line in lines]
    return "".join(json.dumps(delta, ensure_ascii=False) + "\n" for delta in deltas_of(heard))


@pytest.mark.timeout(600)
def test_one_partition_with_bad_records_is_the_log_without_them(
    broker: Broker, topic: str, seed: int, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    random = Random(seed)
    lines = [json.dumps(event).encode() for event in random_log(seed, 700, "mixed")]
    for line in BAD * 3:
        lines.insert(random.randint(1, len(lines)), line)
    half = len(lines) // 2
    with KafkaLog(f"kafka://{broker.bootstrap}/{topic}?replication=1", create=True):
        pass
    state = tmp_path / "state"
    produce(broker, topic, [(0, line) for line in lines[:half]])
    first = run(broker, topic, state)
    assert first["position"] == half
    produce(broker, topic, [(0, line) for line in lines[half:]])
    # Killed wherever it is, and started again: the plan that it left says what the next batch is.
    victim = subprocess.Popen(pipeline(broker, topic, state, "-q"), start_new_session=True)
    time.sleep(random.uniform(6, 12))
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait(30)
    second = run(broker, topic, state, "--to", "kafka")
    assert second["position"] == len(lines)
    assert second["epoch"] >= 2
    expected = wanted(lines, set(BAD))
    assert expected.count("\n") > 100
    assert answered(state) == expected
    deliveries = open_deliveries(state)
    aside = {event.position: event for event in deliveries.aside()}
    deliveries.close()
    assert {position: lines[position] for position in aside} == {
        position: line for position, line in enumerate(lines) if line in BAD
    }
    assert all(event.event == lines[position] and not event.tries for position, event in aside.items())
    assert relayed(broker, f"{topic}-deliveries") == expected.splitlines()


def relayed(broker: Broker, topic: str) -> list[str]:
    """The committed records of a topic, in the order of the answer."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = []
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        record = consumer.poll(1)
        if record is None:
            continue
        if record.error() is not None:
            break
        found.append(record.value().decode().rstrip("\n"))
    consumer.close()
    return found


@pytest.mark.timeout(600)
def test_several_partitions_have_the_order_that_the_plans_say(
    broker: Broker, topic: str, seed: int, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    random = Random(seed)
    events = random_log(seed, 500, "within")
    url = f"kafka://{broker.bootstrap}/{topic}?partitions=3&replication=1"
    with KafkaLog(url, create=True):
        pass
    # The configuration leads; the others go where their ids say, as a producer would.
    placed = [(0, events[0])] + [(hash_of(event) % 3, event) for event in events[1:]]
    random.shuffle(placed[1:])
    produce(broker, topic, [(partition, json.dumps(event).encode()) for partition, event in placed])
    state = tmp_path / "state"
    said = run(broker, topic, state)
    assert said["position"] == len(events)
    ordered = in_order(broker, topic, state)
    deliveries = open_deliveries(state)
    refused = {event.event for event in deliveries.aside()}
    deliveries.close()
    expected = wanted(ordered, refused)
    assert expected.count("\n") > 30
    assert answered(state) == expected


def hash_of(event: dict[str, object]) -> int:
    """A number that an id has in every run."""
    return sum(str(event.get("id", "")).encode())
