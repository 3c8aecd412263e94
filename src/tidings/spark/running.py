"""A pipeline from its start to its end: session, log, relay, and what came of it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tidings.log.deliveries import Deliveries, open_deliveries
from tidings.log.store import EventLog
from tidings.model.events import Configure
from tidings.spark.launch import LogPipeline, TopicPipeline, cores_of, patient, settled, wait_for_first_event
from tidings.spark.metrics import BatchReport, Metrics
from tidings.spark.session import session
from tidings.spark.settings import PipelineSettings


def running(
    settings: PipelineSettings,
    master: str,
    *,
    metrics: Metrics,
    stopping: threading.Event,
    once: bool = False,
    seconds: float | None = None,
    conf: dict[str, str] | None = None,
    on_commit: Callable[[BatchReport], None] = lambda report: None,
    relay_to: str | None = None,
) -> dict[str, Any]:
    """Run a pipeline until `stopping` is set, or for a time, or to the end that the log has now."""
    settings = settled(settings, master)
    started = time.monotonic()
    deadline = None if seconds is None else started + seconds

    def is_over() -> bool:
        return once or stopping.is_set() or (deadline is not None and time.monotonic() >= deadline)

    with ExitStack() as stack:
        is_topic = settings.log.startswith("kafka://")
        configuration = wait_for_first_event(stack.enter_context(_configuration_of(settings.log)), is_over)
        if configuration is not None:
            spark = session(patient(master), shards=settings.shards, conf={**_jars(is_topic), **(conf or {})})
            stack.callback(spark.stop)
            made: LogPipeline | TopicPipeline
            if is_topic:
                made = TopicPipeline(spark, settings, configuration, metrics=metrics, on_commit=on_commit)
            else:
                cores = cores_of(master)
                made = LogPipeline(spark, settings, configuration, cores=cores, metrics=metrics, on_commit=on_commit)
            stack.callback(made.close)
            until = made.end() if once else None
            threading.Thread(target=_stop_when, args=(stopping, made), daemon=True).start()
            with _relaying(made, relay_to, until):
                made.pipeline.run(until=until, seconds=None if deadline is None else deadline - time.monotonic())
    return {
        "position": metrics.position,
        "events": metrics.events,
        "deltas": metrics.deltas,
        "batches": metrics.batches,
        "retries": metrics.retries,
        "rebuilds": metrics.rebuilds,
        "set_aside": metrics.set_aside,
        "epoch": metrics.epoch,
        "seconds": time.monotonic() - started,
    }


@contextmanager
def _configuration_of(log: str) -> Iterator[Callable[[], Configure | None]]:
    """What asks a log, or a topic, for its configuration."""
    if log.startswith("kafka://"):
        from tidings.log.kafka import KafkaLog

        with KafkaLog(log) as topic:
            yield lambda: topic.configuration
    else:
        with EventLog.open(Path(log), read_only=True) as file:
            yield lambda: file.configuration


def _jars(is_topic: bool) -> dict[str, str]:
    if not is_topic:
        return {}
    from tidings.spark.jars import kafka_conf

    return kafka_conf()


def _stop_when(stopping: threading.Event, made: LogPipeline | TopicPipeline) -> None:
    stopping.wait()
    made.pipeline.stop()


@contextmanager
def _relaying(made: LogPipeline | TopicPipeline, relay_to: str | None, until: int | None) -> Iterator[None]:
    """Publish what is committed to a topic, beside the pipeline; at the end, all of it."""
    if relay_to is None:
        yield
        return
    from tidings.log.kafka_address import parse_address
    from tidings.log.kafka_relay import DeliveriesRelay
    from tidings.log.kafka_topics import ensure_topics

    address = parse_address(relay_to)
    ensure_topics(address)
    # A connection of its own: the pipeline commits while this reads.
    deliveries: Deliveries = open_deliveries(made.pipeline.deliveries.state)
    relay = DeliveriesRelay(deliveries, address.bootstrap, address.deliveries, f"tidings {address.deliveries}")
    try:
        relay.start()
        yield
        if relay.error is not None:
            raise relay.error
    finally:
        relay.stop()
        if relay.error is None:
            relay.run_once()
            relay.stop()
        deliveries.close()
