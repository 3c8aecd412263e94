"""Topics: made with the settings that a log needs, and asked how far they go."""

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tidings.log.kafka_address import KafkaAddress
from tidings.log.kafka_client import PATIENCE_S, admin, admin_module, client, kafka_errors, unreachable
from tidings.model.errors import FileError, InputError, Problem

EVENTS: Final = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
"""A log is kept until somebody says otherwise: the pipeline's snapshots say what is needed no more."""

DELIVERIES: Final = {"cleanup.policy": "delete"}

PROGRESS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
"""One record per relay counts; small segments, so that the old ones are soon gone."""

_AGAIN_S: Final = 0.05


def ensure_topics(address: KafkaAddress, *, deliveries: bool = True) -> None:
    """Make those topics of a log that are not there yet."""
    wanted = {address.events: (address.partitions, EVENTS)}
    if deliveries:
        wanted[address.deliveries] = (address.delivery_partitions, DELIVERIES)
        wanted[address.progress] = (1, PROGRESS)
    known = partitions_of(address.bootstrap, wanted)
    for name, (n, _) in wanted.items():
        if name in known and n > 1 and known[name] != n:
            found = f"{known[name]} partitions of {name}"
            hint = "more partitions would send keys elsewhere, and end their order; take another topic"
            raise InputError(Problem("option-invalid", str(address), found, f"{n}, as the address says", hint))
    missing = {name: of for name, of in wanted.items() if name not in known}
    _make(address, missing)
    # A topic is made before every broker has heard of it.
    ends = time.monotonic() + PATIENCE_S
    while missing.keys() - partitions_of(address.bootstrap, missing).keys() and time.monotonic() < ends:
        time.sleep(_AGAIN_S)
    for name in missing:
        end_offsets(address.bootstrap, name)


def partitions_of(bootstrap: str, topics: Iterable[str]) -> dict[str, int]:
    """How many partitions those topics have that exist."""
    with kafka_errors(bootstrap):
        found = admin(bootstrap).list_topics(timeout=PATIENCE_S).topics
    return {name: len(found[name].partitions) for name in topics if name in found and not found[name].error}


def first_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """By partition: the oldest offset that is kept."""
    return _offsets(bootstrap, topic, admin_module().OffsetSpec.earliest())


def end_offsets(bootstrap: str, topic: str, *, committed: bool = True) -> dict[int, int]:
    """By partition: where the next record goes; with `committed` only as far as all transactions are decided."""
    return _offsets(bootstrap, topic, admin_module().OffsetSpec.latest(), committed=committed)


def _offsets(bootstrap: str, topic: str, spec: Any, *, committed: bool = True) -> dict[int, int]:
    kafka = client()
    n = partitions_of(bootstrap, [topic]).get(topic)
    if n is None:
        hint = "is the name right? `ensure_topics` makes it"
        raise FileError(Problem("kafka-unreachable", f"{bootstrap}/{topic}", "no such topic", "a topic", hint))
    level = kafka.IsolationLevel.READ_COMMITTED if committed else kafka.IsolationLevel.READ_UNCOMMITTED
    partitions = [kafka.TopicPartition(topic, partition) for partition in range(n)]
    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            asked = admin(bootstrap).list_offsets(
                dict.fromkeys(partitions, spec), isolation_level=level, request_timeout=PATIENCE_S
            )
            return {one.partition: int(said.result(PATIENCE_S).offset) for one, said in asked.items()}
        except kafka.KafkaException as error:
            # A topic that was just made, or whose broker just went, has nobody in charge for a moment.
            if error.args[0].code() not in _nobody_in_charge() or time.monotonic() > ends:
                raise unreachable(f"{bootstrap}/{topic}", error.args[0]) from error
            time.sleep(_AGAIN_S)


def _nobody_in_charge() -> tuple[int, ...]:
    said = client().KafkaError
    return (said.NOT_LEADER_FOR_PARTITION, said.LEADER_NOT_AVAILABLE, said.UNKNOWN_TOPIC_OR_PART)


def _make(address: KafkaAddress, wanted: Mapping[str, tuple[int, Mapping[str, str]]]) -> None:
    if not wanted:
        return
    kafka, new = client(), admin_module().NewTopic
    topics = [
        new(name, num_partitions=n, replication_factor=address.replication, config=dict(config))
        for name, (n, config) in wanted.items()
    ]
    made = admin(address.bootstrap).create_topics(topics, operation_timeout=PATIENCE_S, request_timeout=PATIENCE_S)
    for name, future in made.items():
        try:
            future.result(PATIENCE_S)
        except kafka.KafkaException as error:
            # Somebody else may have made it in between.
            if error.args[0].code() != kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                raise unreachable(f"{address.bootstrap}/{name}", error.args[0]) from error
