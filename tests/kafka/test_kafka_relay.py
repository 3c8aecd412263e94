"""The relay: every delta once and in order for who reads what is committed, however often it is killed."""

import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.kafka.committed import Seeded
from tidings.log.deltas_file import lines_of
from tidings.log.kafka_address import KafkaAddress
from tidings.log.kafka_client import READING, client
from tidings.log.kafka_relay import DeliveriesRelay
from tidings.log.kafka_topics import end_offsets, ensure_topics
from tidings.model.errors import FileError, InputError, StaleEpochError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address(broker, topic) -> KafkaAddress:
    made = KafkaAddress(broker.bootstrap, topic, f"{topic}-deltas", 1, 3, 1)
    ensure_topics(made)
    return made


def committed(address: KafkaAddress, topic: str) -> list[list]:
    """What a reader of committed records sees, by partition."""
    kafka = client()
    consumer = kafka.Consumer({"bootstrap.servers": address.bootstrap, "group.id": "reader", **READING})
    found = []
    # A commit is answered before its marks are in all partitions: what is there has to be decided first.
    for partition, end in end_offsets(address.bootstrap, topic, committed=False).items():
        consumer.assign([kafka.TopicPartition(topic, partition, 0)])
        records, at = [], 0
        while at < end:
            record = consumer.poll(20)
            assert record is not None
            if record.error() is None:
                records.append(record)
            at = record.offset() + (record.error() is None)
        found.append(records)
    consumer.close()
    return found


def assert_once_and_in_order(address: KafkaAddress, store: Seeded, end: int | None = None) -> int:
    wanted = [line for block in store.read(0, end) for line in lines_of(block).splitlines()]
    partitions = committed(address, address.deliveries)
    place = {line: number for number, line in enumerate(wanted)}
    assert len(place) == len(wanted) > 0
    got = [record.value() for records in partitions for record in records]
    assert len(got) == len(set(got)), "a delta came twice"
    assert set(got) == place.keys(), "a delta is missing"
    home: dict[bytes, int] = {}
    for partition, records in enumerate(partitions):
        numbers = [place[record.value()] for record in records]
        assert numbers == sorted(numbers)
        for record in records:
            assert home.setdefault(record.key(), partition) == partition
    return len(got)


@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_each_delta_comes_once_wherever_the_chunks_end(address, chunk_rows, seed):
    store = Seeded(seed, 60)
    relay = DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested", chunk_rows=chunk_rows)
    n = 0
    for until in (0, 1, 17, 17, 40, None):
        n += relay.run_once(until)
        if until:
            assert relay.lag() == 60 - until
            assert store.cursor("relay tested") == until
    relay.stop()
    again = DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested")
    assert again.run_once() == 0
    again.stop()
    assert assert_once_and_in_order(address, store) == n > 50


def test_a_record_says_what_it_is(address, seed):
    store = Seeded(seed, 30)
    relay = DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested")
    relay.run_once()
    relay.stop()
    wanted = {}
    for block in store.read(0):
        rows = zip(block.position.tolist(), block.subscription.strings(), block.message.strings(), strict=True)
        for (position, subscription, message), sign, line in zip(
            rows, block.sign.tolist(), lines_of(block).splitlines(), strict=True
        ):
            headers = [
                ("position", b"%d" % position),
                ("op", b"+" if sign > 0 else b"-"),
                ("message", message.encode()),
            ]
            wanted[line] = (subscription.encode(), headers)
    records = [record for records in committed(address, address.deliveries) for record in records]
    assert {record.value(): (record.key(), record.headers()) for record in records} == wanted
    assert len({record.partition() for record in records}) == 3


def test_a_killed_relay_goes_on_as_if_nothing_had_been(address, seed):
    random, n_positions = Random(seed), 2000
    store = Seeded(seed, n_positions)
    arguments = [address.bootstrap, address.deliveries, str(seed), str(n_positions), "300"]
    ends = []
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.kafka.relaying", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as process:
            # While it connects, or somewhere in its first transactions.
            for _ in range(random.randint(1, 5)):
                assert process.stdout.readline() in ("up\n", "chunk\n")
            time.sleep(random.uniform(0.0, 0.03))
            assert process.poll() is None
            process.kill()
        ends.append(sum(end_offsets(address.bootstrap, address.deliveries, committed=False).values()))
    relay = DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested")
    relay.run_once()
    relay.stop()
    assert len(set(ends)) > 4, "it was killed before it did anything"
    n = assert_once_and_in_order(address, store)
    assert n > 10_000


def test_a_stale_relay_is_fenced(address, seed):
    store = Seeded(seed, 100)
    stale = DeliveriesRelay(store, address.bootstrap, address.deliveries, "one")
    stale.run_once(30)
    newer = DeliveriesRelay(store, address.bootstrap, address.deliveries, "one")
    newer.run_once(60)
    with pytest.raises(StaleEpochError) as caught:
        stale.run_once(80)
    assert caught.value.code == "stale-epoch"
    newer.run_once()
    for relay in (stale, newer):
        relay.stop()
    assert_once_and_in_order(address, store)


def test_what_a_relay_left_open_is_rolled_back(address, seed):
    store = Seeded(seed, 50)
    stale = DeliveriesRelay(store, address.bootstrap, address.deliveries, "one")
    stale.run_once(20)
    stale._producer.begin_transaction()
    stale._producer.produce(address.deliveries, b"never to be seen", b"s1")
    stale._producer.flush(10)
    # Another relay's open transaction hides what comes behind it, until the broker or that relay ends it.
    relay = DeliveriesRelay(store, address.bootstrap, address.deliveries, "one")
    assert relay.run_once() > 0
    relay.stop()
    assert_once_and_in_order(address, store)


def test_two_relays_of_one_topic_keep_their_own_progress(address, seed):
    store = Seeded(seed, 40)
    relays = [DeliveriesRelay(store, address.bootstrap, address.deliveries, name) for name in ("a", "b")]
    relays[0].run_once(10)
    assert relays[1].run_once(40) > relays[0].n_relayed
    for relay in relays:
        relay.stop()
    again = DeliveriesRelay(store, address.bootstrap, address.deliveries, "a")
    again.run_once()
    again.stop()
    got = [record.value() for records in committed(address, address.deliveries) for record in records]
    assert len(got) == 2 * len(set(got)) > 20


def test_a_thread_relays_as_it_is_committed(address, seed):
    store = Seeded(seed, 200)
    store.at = 1
    relay = DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested")
    relay.start()
    for position in range(10, 201, 10):
        store.at = position
        time.sleep(0.01)
    ends = time.monotonic() + 30
    while relay.lag() and time.monotonic() < ends:
        time.sleep(0.02)
    assert relay.lag() == 0
    assert relay.error is None
    relay.stop()
    assert_once_and_in_order(address, store)


def test_progress_of_another_store_is_refused(address, seed):
    relay = DeliveriesRelay(Seeded(seed, 40), address.bootstrap, address.deliveries, "tested")
    relay.run_once()
    relay.stop()
    with pytest.raises(InputError, match="another store"):
        DeliveriesRelay(Seeded(seed, 20), address.bootstrap, address.deliveries, "tested").run_once()


def test_what_retention_took_is_said(address, seed):
    store = Seeded(seed, 40)
    relay = DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested")
    relay.run_once(10)
    relay.stop()
    store.start = lambda: 20
    with pytest.raises(FileError) as caught:
        DeliveriesRelay(store, address.bootstrap, address.deliveries, "tested").run_once()
    assert caught.value.code == "position-gone"
