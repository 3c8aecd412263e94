"""An event log on a topic of Kafka.

Order: a batch takes a range of offsets of each partition, one partition after the other, and that is written down
before it runs (`kafka_ranges`). Within a partition the order is that of its offsets. So with one partition the log has
the order in which the broker took the events; with several, events under one key (a subscription's id, a message's id)
keep their order, and a subscription and a message that were sent one right after the other may come in either.

The configuration is the first record of the first partition, or the default when that is another event.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Self

from tidings.log.kafka_address import KafkaAddress, parse_address
from tidings.log.kafka_client import PATIENCE_S, READING, client, kafka_errors, unreachable
from tidings.log.kafka_producer import KafkaProducer
from tidings.log.kafka_ranges import KafkaRange, n_positions
from tidings.log.kafka_topics import end_offsets, ensure_topics, first_offsets
from tidings.log.wire import decode_event
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Configure, Event, Globe

_AT_ONCE: Final = 10_000


class KafkaLog:
    """The events of one topic; a context manager. To be used by one thread."""

    def __init__(self, url: str | KafkaAddress, *, create: bool = False) -> None:
        self.address: Final = url if isinstance(url, KafkaAddress) else parse_address(url)
        self._producer: KafkaProducer | None = None
        self._configuration: Configure | None = None
        if create:
            ensure_topics(self.address)
        else:
            self.ends()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of connections; all that `append` has returned is in the topic already."""
        self._producer = None

    def starts(self) -> dict[int, int]:
        """By partition: the oldest offset that is kept."""
        return first_offsets(self.address.bootstrap, self.address.events)

    def ends(self) -> dict[int, int]:
        """By partition: up to where records are decided, and a batch may go."""
        return end_offsets(self.address.bootstrap, self.address.events)

    @property
    def configuration(self) -> Configure | None:
        """What the log is about; None while it is empty."""
        if self._configuration is None and any(self.ends().values()):
            self._configuration = self._first_record()
        return self._configuration

    def append(self, events: Sequence[bytes | Event]) -> list[tuple[int, int]]:
        """Append events, each judged alone; partition and offset of each. See `KafkaProducer.append`."""
        if not events:
            return []
        known = self.configuration
        if known is None:
            known = _configuration_of(events[0])
            self._producer = None
            placed = self._producing(known).append(events, begins=True)
            # Somebody else may have begun the topic at the same time: the first record counts.
            self._configuration = self._first_record()
            if self._configuration != known:
                self._producer = None
            return placed
        return self._producing(known).append(events)

    def read(self, ranges: Sequence[KafkaRange], base: int) -> Iterator[tuple[int, bytes]]:
        """The records of a batch that begins at the position `base`, in its order: position and line.

        Records that a transaction rolled back are not there; neither are its marks.
        """
        kafka = client()
        # The client wants a group; nothing is ever committed to it.
        named = {"group.id": "tidings", "auto.offset.reset": "error"}
        consumer = kafka.Consumer({"bootstrap.servers": self.address.bootstrap, **named, **READING})
        try:
            for one in ranges:
                yield from self._read(kafka, consumer, one, base - one.first)
                base += n_positions([one])
        finally:
            consumer.close()

    def _read(self, kafka: Any, consumer: Any, of: KafkaRange, shift: int) -> Iterator[tuple[int, bytes]]:
        if of.first == of.end:
            return
        self._check_kept(of)
        with kafka_errors(str(self.address)):
            consumer.assign([kafka.TopicPartition(of.topic, of.partition, of.first)])
        while True:
            with kafka_errors(str(self.address)):
                # `consume` would wait until so many have come.
                first = consumer.poll(PATIENCE_S)
                records = [first, *consumer.consume(_AT_ONCE, 0)]
            if first is None:
                raise unreachable(str(self.address), f"nothing came for {PATIENCE_S:.0f} s")
            for record in records:
                error = record.error()
                if error is not None and error.code() != kafka.KafkaError._PARTITION_EOF:
                    raise unreachable(str(self.address), error)
                # The end of the partition says how far it goes when nothing but marks is left.
                if record.offset() >= of.end:
                    return
                if error is None:
                    yield record.offset() + shift, record.value() or b""
                    if record.offset() + 1 == of.end:
                        return

    def _check_kept(self, of: KafkaRange) -> None:
        start = self.starts()[of.partition]
        if start > of.first:
            place = f"{self.address}, partition {of.partition}"
            hint = "retention removed what was still needed; raise the topic's retention.ms and retention.bytes"
            raise FileError(Problem("position-gone", place, f"offset {of.first}", f"at least {start}", hint))

    def _first_record(self) -> Configure:
        end = self.ends()[0]
        first = next(self.read([KafkaRange(self.address.events, 0, 0, end)], 0), None) if end else None
        return Configure() if first is None or first[0] != 0 else _configuration_of(first[1])

    def _producing(self, configuration: Configure) -> KafkaProducer:
        if self._producer is None:
            self._producer = KafkaProducer(self.address, configuration)
        return self._producer


def _configuration_of(first: bytes | Event) -> Configure:
    """What the first event of a log says, or the default."""
    try:
        event = decode_event(first, Globe()) if isinstance(first, bytes) else first
    except InputError:
        return Configure()
    return event if isinstance(event, Configure) else Configure()
