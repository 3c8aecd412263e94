"""The relay: committed deltas from a store of deliveries to a topic, each exactly once for who reads what is committed.

A chunk of deltas and a record of how far the relay then is go into one transaction of Kafka: both are there, or
neither. That record stands under the relay's name in a compacted topic (a consumer group's offset would be forgotten
after a week of rest), and a relay that starts goes on from it. Two relays of one name have one transactional id: the
later one fences the earlier, and what that had begun is rolled back before the later one asks how far it was.

Since what is committed in the store never changes, nothing else needs to be remembered: a delta is named by its
position and its number among the deltas of that position.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from tidings.columns.deltas import Deltas
from tidings.log.deltas_file import lines_of
from tidings.log.kafka_client import PATIENCE_S, QUIET, READING, client, unreachable
from tidings.log.kafka_topics import end_offsets
from tidings.model.errors import FileError, InputError, Problem, StaleEpochError, TidingsError

CHUNK_ROWS: Final = 10_000
"""The most deltas of a transaction,"""
CHUNK_BYTES: Final = 4 << 20
"""and the bytes of their lines after which it is full."""

TRANSACTION_MS: Final = 60_000
"""A relay that stands still for so long within a transaction is rolled back by the broker."""

_IDLE_S: Final = 0.5
_AGAIN_S: Final = (0.1, 0.5, 2.0, 5.0)
"""Pauses before the next try when Kafka fails; the last one again and again."""

_PLUS: Final = b"+"
_MINUS: Final = b"-"


class Committed(Protocol):
    """What a relay needs of a store of deliveries (`log.deliveries`)."""

    def start(self) -> int:
        """The first position of which deltas are kept."""
        ...

    def done(self) -> int:
        """The position up to which deltas are durable."""
        ...

    def read(self, first: int, end: int | None = None) -> Iterator[Deltas]:
        """The deltas of first <= position < end, in the order of the answer."""
        ...

    def wait(self, position: int, timeout_s: float) -> int:
        """Wait until more than `position` is done, at most so long; what is done then."""
        ...

    def cursor(self, name: str) -> int | None:
        """How far a consumer has read."""
        ...

    def advance(self, name: str, position: int) -> None:
        """Say how far a consumer has read."""
        ...


class Progress(Struct, frozen=True):
    """How far a relay is: everything before a position, and so many deltas of it."""

    position: int
    rows: int = 0


class _Chunk(Struct, frozen=True):
    """Deltas of one transaction, and how far the relay is after it."""

    keys: list[bytes]
    lines: list[bytes]
    headers: list[list[tuple[str, bytes]]]
    after: Progress


class DeliveriesRelay:
    """Publishes what is committed to a topic: by `run_once`, or on and on in a thread of its own.

    The key of a record is the subscription, so that the deltas of one stay in order; the value is the line of a file
    of deltas; the headers `position`, `op` and `message` are, with the key, what identifies it.
    """

    def __init__(
        self,
        deliveries: Committed,
        bootstrap: str,
        topic: str,
        name: str,
        *,
        progress_topic: str | None = None,
        chunk_rows: int = CHUNK_ROWS,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.name: Final = name
        self.error: TidingsError | None = None
        """Why the thread has ended, when it did so by itself."""
        self.n_relayed = 0
        """Deltas since this object was made."""
        self._deliveries: Final = deliveries
        self._bootstrap: Final = bootstrap
        self._topic: Final = topic
        self._progress_topic: Final = progress_topic or f"{topic}-progress"
        self._rows, self._bytes = chunk_rows, chunk_bytes
        self._producer: Any = None
        self._at = Progress(0)
        self._stopping: Final = threading.Event()
        self._thread: threading.Thread | None = None

    def run_once(self, until: int | None = None) -> int:
        """Relay what is committed now, at most up to a position; how many deltas that were."""
        before = self.n_relayed
        self._connect()
        end = self._deliveries.done()
        end = end if until is None else min(until, end)
        if end > self._at.position:
            for chunk in self._chunks(end):
                self._publish(chunk)
                if self._stopping.is_set():
                    break
        return self.n_relayed - before

    def start(self) -> None:
        """Relay in a thread from now on."""
        self._stopping.clear()
        self.error = None
        self._thread = threading.Thread(target=self._run, name=f"relay {self.name}", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = PATIENCE_S) -> None:
        """End the thread after the transaction that it is in, and let go of connections."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            self._thread = None
        self._stopping.clear()
        self._disconnect()

    def lag(self) -> int:
        """How many positions are done and not relayed."""
        return max(0, self._deliveries.done() - self._at.position)

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                self.run_once()
                failures = 0
            except FileError as error:
                self.error = error
                if error.code != "kafka-unreachable":
                    return
                self._stopping.wait(_AGAIN_S[min(failures, len(_AGAIN_S) - 1)])
                failures += 1
                continue
            except TidingsError as error:
                self.error = error
                return
            self.error = None
            self._deliveries.wait(self._at.position, _IDLE_S)

    def _connect(self) -> None:
        """Take over from whoever relayed under this name, and find out how far they were."""
        if self._producer is not None:
            return
        settings = {
            "bootstrap.servers": self._bootstrap,
            "transactional.id": f"tidings-relay-{self.name}",
            "transaction.timeout.ms": TRANSACTION_MS,
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "linger.ms": 5,
            "queue.buffering.max.messages": self._rows + 1000,
            **QUIET,
        }
        try:
            producer = client().Producer(settings)
            producer.init_transactions(PATIENCE_S)
            found = self._progress()
        except client().KafkaException as error:
            raise self._failed(error) from error
        start = self._deliveries.start()
        if found is not None and found.position < start:
            gone = Problem("position-gone", f"relay {self.name}", f"position {found.position}", f"at least {start}")
            raise FileError(gone)
        if found is not None and found.position > self._deliveries.done():
            hint = "another store was relayed under this name; give the relay of this one another"
            raise InputError(
                Problem("option-invalid", f"relay {self.name}", f"position {found.position} relayed", "less", hint)
            )
        self._at = found or Progress(start)
        self._producer = producer
        self._remember()

    def _progress(self) -> Progress | None:
        """What the last committed transaction under this name said. Transactions of other relays that are still open
        hide what lies behind them, so it is read until nothing is hidden.
        """
        kafka = client()
        end = end_offsets(self._bootstrap, self._progress_topic, committed=False)[0]
        settings = {
            "bootstrap.servers": self._bootstrap,
            "group.id": f"tidings-relay-{self.name}",
            "auto.offset.reset": "earliest",
            **READING,
        }
        consumer, found, at = kafka.Consumer(settings), None, 0
        try:
            consumer.assign([kafka.TopicPartition(self._progress_topic, 0, kafka.OFFSET_BEGINNING)])
            while at < end:
                record = consumer.poll(2 * TRANSACTION_MS / 1000)
                if record is None:
                    raise unreachable(self._bootstrap, f"a transaction in {self._progress_topic} does not end")
                if record.error() is None:
                    at = record.offset() + 1
                    if record.key() == self.name.encode():
                        found = msgspec.json.decode(record.value(), type=Progress)
                elif record.error().code() == kafka.KafkaError._PARTITION_EOF:
                    at = max(at, record.offset())
                else:
                    raise unreachable(self._bootstrap, record.error())
        finally:
            consumer.close()
        return found

    def _publish(self, chunk: _Chunk) -> None:
        """One transaction. Whatever goes wrong, the next try begins with asking how far this one came."""
        producer, topic = self._producer, self._topic
        try:
            producer.begin_transaction()
            for key, line, headers in zip(chunk.keys, chunk.lines, chunk.headers, strict=True):
                producer.produce(topic, line, key, headers=headers)
            progress = msgspec.json.encode(chunk.after)
            producer.produce(self._progress_topic, progress, self.name.encode(), partition=0)
            producer.commit_transaction(TRANSACTION_MS / 1000)
        except (client().KafkaException, BufferError) as error:
            self._disconnect()
            raise self._failed(error) from error
        self._at = chunk.after
        self.n_relayed += len(chunk.lines)
        self._remember()

    def _chunks(self, end: int) -> Iterator[_Chunk]:
        """What is committed from where the relay is to `end`, in pieces that fit into a transaction."""
        keys: list[bytes] = []
        lines: list[bytes] = []
        headers: list[list[tuple[str, bytes]]] = []
        size, position, row = 0, self._at.position, 0
        passed = self._at.rows
        for deltas in self._deliveries.read(self._at.position, end):
            for first in range(0, len(deltas.position), self._rows):
                part = _rows(deltas, first, first + self._rows)
                for key, line, header, at in zip(*_records(part), part.position.tolist(), strict=True):
                    position, row = at, row + 1 if at == position else 1
                    if passed:
                        passed -= 1
                        continue
                    keys.append(key)
                    lines.append(line)
                    headers.append(header)
                    size += len(line)
                    if len(lines) >= self._rows or size >= self._bytes:
                        yield _Chunk(keys, lines, headers, Progress(position, row))
                        keys, lines, headers, size = [], [], [], 0
        yield _Chunk(keys, lines, headers, Progress(end))

    def _remember(self) -> None:
        """The store keeps what this relay still needs. It may be told late: then it keeps more."""
        name = f"relay {self.name}"
        if self._deliveries.cursor(name) != self._at.position:
            self._deliveries.advance(name, self._at.position)

    def _disconnect(self) -> None:
        """Drop the producer and what it had begun; the next one rolls that back."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(client().KafkaException):
                producer.purge()

    def _failed(self, error: Exception) -> TidingsError:
        reason = error.args[0] if error.args else error
        kafka = client().KafkaError
        code = reason.code() if isinstance(reason, kafka) else None
        if code in (kafka._FENCED, kafka.PRODUCER_FENCED, kafka.INVALID_PRODUCER_EPOCH):
            hint = "another relay of this name has taken over; this one has to stop"
            return StaleEpochError(Problem("stale-epoch", f"relay {self.name}", str(reason), "one relay a name", hint))
        return unreachable(f"{self._bootstrap}/{self._topic}", reason)


def _rows(deltas: Deltas, first: int, end: int) -> Deltas:
    """Some rows of deltas; a piece at a time bounds what is held as Python objects."""
    if first == 0 and end >= len(deltas.position):
        return deltas
    arenas = {name: getattr(deltas, name) for name in ("subscription", "message")}
    cut = {
        name: arena._replace(
            offset=arena.offset[first : end + 1] - arena.offset[first],
            data=arena.data[arena.offset[first] : arena.offset[min(end, len(deltas.position))]],
        )
        for name, arena in arenas.items()
    }
    columns = {name: getattr(deltas, name)[first:end] for name in Deltas._fields if name not in arenas}
    return Deltas(**columns, **cut)


def _records(
    deltas: Deltas,
) -> tuple[Sequence[bytes], Sequence[bytes], Sequence[list[tuple[str, bytes]]]]:
    """Keys, values and headers."""
    subscriptions, messages = (_pieces(arena.offset, arena.data) for arena in (deltas.subscription, deltas.message))
    ops = [_PLUS if sign > 0 else _MINUS for sign in deltas.sign.tolist()]
    headers = [
        [("position", str(position).encode()), ("op", op), ("message", message)]
        for position, op, message in zip(deltas.position.tolist(), ops, messages, strict=True)
    ]
    return subscriptions, lines_of(deltas).splitlines(), headers


def _pieces(offset: np.ndarray[Any, Any], data: np.ndarray[Any, Any]) -> list[bytes]:
    held, ends = data.tobytes(), offset.tolist()
    return [held[start:end] for start, end in pairwise(ends)]
