import re
import urllib.error
import urllib.request

import pytest

from tidings.model.errors import InputError
from tidings.spark.metrics import RECENT, BatchReport, Metrics
from tidings.spark.metrics_server import MetricsServer
from tidings.spark.work import Timing

SAMPLE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[0-9.e+-]+')


def report(first: int, end: int, seconds: float = 0.1, **more: object) -> BatchReport:
    return BatchReport(first=first, end=end, deltas=7, seconds=seconds, job_s=0.08, commit_s=0.01, tries=1, **more)


TWO_SHARDS = {"shard_deltas": (3, 4), "shard_subscriptions": (5, 6)}


def test_sums_and_lag():
    metrics = Metrics()
    metrics.log_end = 500
    metrics.committed(report(0, 200, shard_timings=(Timing(100), Timing(300)), **TWO_SHARDS))
    metrics.committed(report(200, 300, snapshot=True, snapshot_s=0.5))
    assert (metrics.events, metrics.deltas, metrics.batches, metrics.lag) == (300, 14, 2, 200)
    assert (metrics.snapshots, metrics.snapshot_position) == (1, 300)
    assert metrics.recent()[0].balance == pytest.approx(1.5)


def test_only_recent_batches_are_kept():
    metrics = Metrics()
    for number in range(3 * RECENT):
        metrics.committed(report(number, number + 1, seconds=float(number)))
    assert len(metrics.recent()) == RECENT
    assert metrics.quantiles_s()[0.5] == pytest.approx(2.5 * RECENT, abs=1)
    assert metrics.batches == 3 * RECENT


def test_the_text_is_what_prometheus_reads():
    metrics = Metrics()
    metrics.phases_ms = {"addBatch": 80}
    metrics.committed(report(0, 10, shard_timings=(Timing(1), Timing(2)), **TWO_SHARDS))
    names = set()
    for line in metrics.exposition().splitlines():
        if line.startswith("# "):
            assert re.match(r"# (HELP|TYPE) tidings_[a-z_]+ ", line)
        else:
            assert SAMPLE.fullmatch(line), line
            names.add(re.match(r"[a-z_]+", line)[0])
    assert {"tidings_lag_events", "tidings_batch_seconds_count", "tidings_shard_balance"} <= names


def test_the_server_answers_and_ends():
    metrics = Metrics()
    with MetricsServer(metrics, 0) as server:
        where = f"http://127.0.0.1:{server.port}"
        with urllib.request.urlopen(f"{where}/metrics", timeout=5) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"tidings_position 0" in answer.read()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{where}/elsewhere", timeout=5)
        with pytest.raises(InputError):
            MetricsServer(metrics, server.port)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{where}/metrics", timeout=5)
