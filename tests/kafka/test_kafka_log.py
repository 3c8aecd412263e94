"""The log on a topic: what is appended is judged, is there once, and comes back in the order of the plan."""

import json
import time
from collections.abc import Callable

import pytest

from tidings.log.kafka import KafkaLog
from tidings.log.kafka_address import parse_address
from tidings.log.kafka_client import client
from tidings.log.kafka_ranges import KafkaRange, next_ranges
from tidings.log.kafka_topics import ensure_topics, partitions_of
from tidings.log.wire import encode_event
from tidings.model.errors import FileError, InputError
from tidings.model.events import Configure, Plane, Publish, Register, Tick
from tidings.model.regions import Box
from tidings.model.subscriptions import Best, Within


def url(broker, topic, options="") -> str:
    return f"kafka://{broker.bootstrap}/{topic}?replication=1{options}"


def message(number: int) -> Publish:
    return Publish(f"m{number % 7}", at=(1.0, 2.0), words=("x",), ts=number)


def until(happens: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not happens():
        assert time.monotonic() < ends
        time.sleep(0.01)


def everything(log: KafkaLog, most: int = 10**9) -> list[tuple[int, bytes]]:
    found, taken, base = [], {}, 0
    while batch := next_ranges(log.address.events, taken, log.ends(), most):
        found += list(log.read(batch, base))
        base += sum(one.end - one.first for one in batch)
        taken |= {one.partition: one.end for one in batch}
    return found


def test_with_one_partition_the_order_is_the_producers(broker, topic):
    with KafkaLog(url(broker, topic), create=True) as log:
        assert log.configuration is None
        events = [Configure(space=Plane((0.0, 0.0, 8.0, 8.0))), *(message(number) for number in range(500))]
        assert log.append(events) == [(0, offset) for offset in range(501)]
        log.append([b' {"op": "tick", "ts": 9}\n', Tick(10)])
        assert log.configuration == events[0]
        lines = [*map(encode_event, events), b' {"op": "tick", "ts": 9}', encode_event(Tick(10))]
        assert everything(log) == list(enumerate(lines))
        assert everything(log, most=100) == everything(log)
    assert KafkaLog(url(broker, topic)).configuration == events[0]


def test_with_several_each_key_keeps_its_order(broker, topic):
    with KafkaLog(url(broker, topic, "&partitions=4"), create=True) as log:
        placed = log.append([message(number) for number in range(300)])
        log.append([Tick(1000)])
        assert {partition for partition, _ in placed} <= {0, 1, 2, 3}
        assert len({partition for partition, _ in placed}) > 1
        found = everything(log, most=50)
        assert [position for position, _ in found] == list(range(301))
        lines = [json.loads(line) for _, line in found]
        for number in range(7):
            times = [line["ts"] for line in lines if line.get("id") == f"m{number}"]
            assert times == list(range(number, 300, 7))
        ranges = [KafkaRange(topic, partition, 0, end) for partition, end in log.ends().items()]
        assert [line for _, line in log.read(ranges[:1], 0)][-1] == encode_event(Tick(1000))


def test_what_is_wrong_is_said_as_of_a_file_and_nothing_is_sent(broker, topic):
    with KafkaLog(url(broker, topic), create=True) as log:
        log.append([Tick(1)])
        bad = [
            b'{"op": "publish", "id": "m", "at": [1, 2], "text": "fine"}',
            b'{"op": "publish", "id": "m", "at": [1, 99], "txt": "x"}',
            Register(Within("s", Box((0.0, 0.0, 1.0, 1.0)), when="a AND (")),
            Register(Best("s", (0.0, 0.0), 1, 0.5, text="...")),
            Configure(),
        ]
        with pytest.raises(InputError) as caught:
            log.append(bad)
        told = {(problem.line, problem.code) for problem in caught.value.problems}
        assert {1, 2, 3, 4} == {line for line, _ in told}
        assert {"place-outside", "field-unknown", "expression-syntax", "words-empty", "configure-late"} <= {
            code for _, code in told
        }
        assert log.ends() == {0: 1}


def test_what_was_rolled_back_is_a_gap(broker, topic):
    with KafkaLog(url(broker, topic), create=True) as log:
        producer = client().Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
        producer.init_transactions(30)
        for lines, commits in (([b"a", b"b"], True), ([b"c"], False), ([b"d"], True), ([b"e", b"f"], False)):
            producer.begin_transaction()
            for line in lines:
                producer.produce(topic, line)
            producer.flush(30)
            (producer.commit_transaction if commits else producer.abort_transaction)(30)
        # a b | c | d | e f |, a mark behind each transaction; the last one may come after the answer
        until(lambda: log.ends() == {0: 10})
        assert everything(log) == [(0, b"a"), (1, b"b"), (5, b"d")]
        assert everything(log, most=3) == everything(log)
        producer.begin_transaction()
        producer.produce(topic, b"open")
        producer.flush(30)
        assert log.ends() == {0: 10}
        producer.abort_transaction(30)


def test_topics_are_made_once_and_their_partitions_stay(broker, topic):
    address = parse_address(url(broker, topic, "&partitions=2&delivery_partitions=3"))
    for _ in range(2):
        ensure_topics(address)
    names = (address.events, address.deliveries, address.progress)
    assert list(partitions_of(broker.bootstrap, names).values()) == [2, 3, 1]
    with pytest.raises(InputError, match="2 partitions"):
        ensure_topics(parse_address(url(broker, topic, "&partitions=5")))


def test_a_topic_that_is_not_there_and_a_broker_that_does_not_answer(broker, topic, monkeypatch):
    with pytest.raises(FileError, match="no such topic"):
        KafkaLog(url(broker, topic))
    monkeypatch.setattr("tidings.log.kafka_topics.PATIENCE_S", 1.0)
    with pytest.raises(FileError) as caught:
        KafkaLog("kafka://127.0.0.1:1/t")
    assert caught.value.code == "kafka-unreachable"
