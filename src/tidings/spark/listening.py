"""Spark's own progress, heard by its StreamingQueryListener, beside what the pipeline counts itself."""

import json
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

from tidings.spark.metrics import Metrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


class PipelineListener(StreamingQueryListener):
    """Takes the phases of each batch, and the end of the log, from the query's progress."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def onQueryStarted(self, event: "QueryStartedEvent") -> None:  # noqa: N802
        """Nothing is known yet."""

    def onQueryProgress(self, event: "QueryProgressEvent") -> None:  # noqa: N802
        """A batch of the query is over."""
        progress = event.progress
        self._metrics.phases_ms = dict(progress.durationMs)
        for source in progress.sources:
            latest = source.latestOffset
            if latest and latest != "null":
                offset = json.loads(latest) if isinstance(latest, str) else latest
                if isinstance(offset, dict) and isinstance(offset.get("position"), int):
                    self._metrics.log_end = max(self._metrics.log_end, offset["position"])

    def onQueryIdle(self, event: "QueryIdleEvent") -> None:  # noqa: N802
        """Nothing came."""

    def onQueryTerminated(self, event: "QueryTerminatedEvent") -> None:  # noqa: N802
        """The pipeline sees that itself."""
