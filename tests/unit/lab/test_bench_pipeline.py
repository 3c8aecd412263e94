"""The benchmark of the pipeline, as far as it needs no Spark: its logs, its publisher, its report, its pictures."""

import json
import os

import msgspec
import pytest

from tidings.lab import pipeline_part
from tidings.lab.bench_pipeline import PARTS, PipelineBench, _Found, _report
from tidings.lab.pipeline_appender import Schedule, publish
from tidings.lab.pipeline_charts import save_charts
from tidings.lab.pipeline_latency import _Committed
from tidings.lab.pipeline_log import LogMade, LogWanted, make_log, matches_of
from tidings.lab.pipeline_memory import Memory, Sample
from tidings.lab.pipeline_processes import usage_of
from tidings.lab.pipeline_throughput import Phases, Throughput
from tidings.lab.workloads import WithinWorkload
from tidings.log.store import EventLog
from tidings.log.wire import decode_event
from tidings.matching.engine import Engine
from tidings.model.errors import InputError
from tidings.model.events import Configure
from tidings.spark.metrics import BatchReport

TINY = WithinWorkload(subscriptions=2_000, messages=300, seed=int(os.environ.get("TIDINGS_SEED", "1")))


@pytest.fixture
def wanted(tmp_path):
    return LogWanted(path=str(tmp_path / "log"), workload=TINY)


def events_of(path):
    with EventLog.open(path, read_only=True) as log:
        configuration = log.configuration
        assert configuration is not None
        lines = [line for frame in log.frames(1, log.end) for line in frame.lines()]
    return configuration, [decode_event(line, configuration.space) for line in lines]


def test_a_log_gives_the_deltas_that_it_says(wanted):
    made = make_log(wanted)
    configuration, events = events_of(made.path)
    assert isinstance(configuration, Configure)
    assert len(events) == made.end - 1 == 2_000 + 300
    engine = Engine(configuration, within="brute")
    found = [len(engine.apply(event)) for event in events]
    assert found[:2_000] == [0] * 2_000
    assert found[2_000:] == matches_of(made.path).tolist()
    assert made.matches == sum(found) > 5
    assert made.expected(100) == sum(found[2_000:2_100])


def test_a_log_that_is_there_is_taken(wanted):
    made = make_log(wanted)
    before = os.stat(made.path).st_mtime_ns
    assert make_log(wanted) == made
    assert os.stat(made.path).st_mtime_ns == before
    other = msgspec.structs.replace(wanted, workload=msgspec.structs.replace(TINY, messages=200))
    assert make_log(other).messages == 200


def test_a_part_has_a_process_of_its_own(wanted):
    seen = []

    def watch(pid, over):
        while not over.wait(0.05):
            seen.append((pid, usage_of(pid)))

    made = pipeline_part.answered(make_log, wanted, watch=watch)
    assert isinstance(made, LogMade)
    assert made.messages == 300
    assert seen
    assert {pid for pid, _ in seen} != {os.getpid()}
    known = [usage["driver"].resident_bytes for _, usage in seen if "driver" in usage]
    assert not known or max(known) > 1_000_000


def test_a_part_that_fails_says_why(tmp_path):
    with pytest.raises(InputError, match="no-such-folder"):
        pipeline_part.answered(make_log, LogWanted(path=str(tmp_path / "no-such-folder" / "log"), workload=TINY))


def test_the_publisher_says_what_it_appended_when(wanted):
    made = make_log(wanted)
    schedule = Schedule(log=made.path, workload=TINY, name="p", messages_per_s=500, seconds=3.0)
    published = publish(schedule)
    assert sum(group.count for group in published.groups) == 1_500
    assert published.probes
    assert all(group.called <= group.answered for group in published.groups)
    _, events = events_of(made.path)
    for group in published.groups:
        assert {event.id[:2] for event in events[group.first - 1 :][: group.count]} == {"p-"}
    for probe in published.probes:
        assert events[probe.position - 2].subscription.id == probe.subscription
        assert events[probe.position - 1].id == f"{probe.subscription}-message"
    assert len(events) == made.end - 1 + 1_500 + 2 * len(published.probes)


def test_events_are_committed_with_their_batch():
    commits = _Committed()
    for first, end in ((0, 3), (3, 7)):
        commits(BatchReport(first=first, end=end, deltas=0, seconds=0.1, job_s=0.1, commit_s=0.0, tries=1))
    first, second = commits.times
    assert commits.at([0, 2, 3, 6]).tolist() == [first, first, second, second]
    assert commits.wait(3) == first
    with pytest.raises(AssertionError, match="position 8"):
        commits.wait(8, 0.01)


def throughput(subscriptions, shards, master, speed):
    names = [name for name in Phases.__struct_fields__ if name != "spark"]
    return Throughput(
        subscriptions=subscriptions,
        master=master,
        shards=shards,
        batch=50_000,
        messages=1_000,
        deltas=300,
        messages_per_s=speed,
        deltas_per_s=1.0,
        measured=1_000,
        batch_p50_ms=1.0,
        batch_p99_ms=1.0,
        start_s=1.0,
        build_s=1.0,
        registrations_per_s=1.0,
        phases=Phases(**dict.fromkeys(names, 1.0), spark={}),
        cpu_us_per_message={},
        snapshots=1,
        snapshot_s=0.1,
        snapshot_share=0.2,
    )


def test_the_report_compares_what_was_measured(tmp_path):
    sizes = [(n, 2, master, 1e5 / k) for k, master in enumerate(("local[2]", "local[1]"), 1) for n in (1_000, 10_000)]
    sizes += [(10_000, shards, "local[2]", 5e4) for shards in (1, 4)]
    moments = [
        Sample(at_s=float(i), events=i * 1_000, lag=0, resident_mb={"driver": 1.0, "java": 2.0, "workers": 3.0})
        for i in range(30)
    ]
    flat = {"driver": 0.0, "java": 0.0, "workers": 0.0}
    memory = Memory(
        subscriptions=10,
        events=30_000,
        seconds=30.0,
        messages_per_s=1e3,
        deltas=1,
        slope_mb_per_million=flat,
        first_mb={},
        last_mb={},
        samples=moments,
    )
    found = _Found(
        throughput=throughput(10_000, 2, "local[2]", 120_000.0),
        memory=memory,
        scaling=tuple(throughput(*size) for size in sizes),
    )
    report = _report(PipelineBench(), found)
    told = json.loads(report.to_json())
    assert set(told) >= {"seed", "machine", "rows", "ratios", "aims", *PARTS}
    assert report.ratios["pipeline[1000, 2 shards, local[2]]/pipeline[1000, 2 shards, local[1]]"] == 2.0
    met = {aim.figure: aim.met for aim in report.aims}
    assert met == {"messages/s": True, "snapshots, share of the time": False, "driver, MB per million events": True}
    pictures = save_charts(report, tmp_path)
    assert [path.name for path in pictures] == ["pipeline-memory.png", "pipeline-scaling.png"]
    assert all(path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for path in pictures)


@pytest.mark.parametrize("wrong", [{"parts": ("nonsense",)}, {"parts": ()}, {"messages": 100_000}])
def test_what_cannot_be_measured_is_refused(wrong):
    with pytest.raises(InputError):
        PipelineBench(**wrong)
