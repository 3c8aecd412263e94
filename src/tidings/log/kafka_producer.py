"""Events into a topic: judged one by one as those of a file are, and each in the topic once."""

from collections.abc import Sequence
from typing import Any, Final

from tidings.log.admission import Judge, Prepared
from tidings.log.kafka_address import KafkaAddress
from tidings.log.kafka_client import PATIENCE_S, QUIET, client, unreachable
from tidings.model.errors import InputError, Problem
from tidings.model.events import Configure, Event, Register, Replace

DELIVERY_MS: Final = 60_000
"""So long an event is sent again and again before it is an error."""

SETTINGS: Final = {
    "enable.idempotence": True,
    "acks": "all",
    "partitioner": "murmur2_random",  # keys go where Java's producer sends them
    "compression.type": "lz4",
    "linger.ms": 5,
    "queue.buffering.max.messages": 1_000_000,
    "delivery.timeout.ms": DELIVERY_MS,
}


class KafkaProducer:
    """Appends to the topic of events.

    What one producer sends under one key stays in its order and is there once, whatever is lost and sent again in
    between. An error may leave the first part of what was sent in the topic.
    """

    def __init__(self, address: KafkaAddress, configuration: Configure) -> None:
        self._address: Final = address
        self._judge: Final = Judge(configuration)
        self._producer: Final = client().Producer({"bootstrap.servers": address.bootstrap, **SETTINGS, **QUIET})

    def append(self, events: Sequence[bytes | Event], *, begins: bool = False) -> list[tuple[int, int]]:
        """Append events, all or, when something is wrong with any of them, none; partition and offset of each.

        Whether an id is free or known, only the pipeline can say, which leaves out what cannot be. `begins` says that
        the topic is empty: only then may the first event be the configuration.
        """
        prepared = self._judge.prepare(events)
        _refuse(prepared, begins)
        placed: list[tuple[int, int]] = [(-1, -1)] * len(prepared.lines)
        failed: list[Any] = []
        for index, (line, event) in enumerate(zip(prepared.lines, prepared.events, strict=True)):
            self._send(line, event, index, placed, failed)
        left = self._producer.flush(PATIENCE_S + DELIVERY_MS / 1000)
        if failed or left:
            raise unreachable(str(self._address), failed[0] if failed else f"{left} events were not taken in time")
        return placed

    def _send(self, line: bytes, event: object, index: int, placed: list[tuple[int, int]], failed: list[Any]) -> None:
        def told(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            else:
                placed[index] = (message.partition(), message.offset())

        key = key_of(event)
        # Without a key an event concerns everybody: it goes to the first partition, so that these stay in order.
        where = {"key": key} if key is not None else {"partition": 0}
        while True:
            try:
                self._producer.produce(self._address.events, value=line, on_delivery=told, **where)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)
            except client().KafkaException as error:
                raise unreachable(str(self._address), error.args[0]) from error


def key_of(event: object) -> bytes | None:
    """The id of the subscription or the message that an event is about, or None."""
    name = event.subscription.id if isinstance(event, Register | Replace) else getattr(event, "id", None)
    return None if name is None else str(name).encode()


def _refuse(prepared: Prepared, begins: bool) -> None:
    """Raise what is wrong with any event; its line is its place in the submission."""
    problems: list[Problem] = []
    total = 0
    for index, event in enumerate(prepared.events):
        wrong = event if isinstance(event, InputError) else prepared.late.get(index)
        if isinstance(event, Configure) and not (begins and index == 0):
            hint = "a log keeps its configuration; start a new topic"
            wrong = InputError(Problem("configure-late", "$.op", "configure", "the first event of a topic", hint))
        if wrong is not None:
            total += wrong.total
            problems += [
                Problem(one.code, one.place, one.found, one.expected, one.hint, index) for one in wrong.problems
            ]
    if problems:
        raise InputError(problems, total)
