"""The benchmark of `within` at a tiny size: the form of its answer, and its chart."""

import json

import pytest

from tidings.lab import bench_within as bench
from tidings.lab.bench_within import WithinBench, bench_within
from tidings.lab.chart import save_chart
from tidings.lab.report import Machine, Report, Row
from tidings.lab.workloads import WithinWorkload
from tidings.model.errors import InputError

TINY = WithinWorkload(subscriptions=2_000, messages=400, or_share=1.0, boxes=1.0)


@pytest.fixture(scope="module")
def report():
    said = []
    options = WithinBench(workload=TINY, churn=True, growth=True, repetitions=2, singles=50, budget_s=1.0)
    found = bench_within(options, ["pyramid", "brute"], said.append)
    assert len(said) > 10
    return found


def test_the_json_has_its_form(report):
    told = json.loads(report.to_json())
    assert set(told) == {"seed", "machine", "rows", "ratios"}
    assert told["seed"] == TINY.seed
    rows = {row["name"]: row for row in told["rows"]}
    assert len(rows) == len(told["rows"])
    assert set(rows) >= {"pyramid", "brute", "python-dict", "pyramid[or]", "pyramid[boxes]", "pyramid[x10]"}
    for row in told["rows"]:
        assert row["role"] in {"index", "floor"}
        assert row["messages_per_s"] > 0.0
        assert row["matches"] > 0
    for name in ("pyramid", "brute", "python-dict"):
        assert 0.0 < rows[name]["p50_us"] <= rows[name]["p99_us"]
        assert rows[name]["build_s"] > 0.0
    assert rows["pyramid"]["bytes_per_subscription"] > 50.0
    assert rows["pyramid[churned]"]["inserts_per_s"] > 0.0
    assert rows["pyramid[churned]"]["deletes_per_s"] > 0.0
    assert rows["pyramid[x10]"]["subscriptions"] == 20_000


def test_methods_find_the_same_matches(report):
    rows = {row.name: row for row in report.rows}
    assert rows["pyramid"].matches == rows["brute"].matches == rows["python-dict"].matches
    assert rows["pyramid[churned]"].matches == rows["pyramid[fresh]"].matches


def test_ratios_are_of_rows(report):
    assert {"pyramid/python-dict", "pyramid/brute", "pyramid[or]/pyramid", "pyramid[x10]/pyramid"} <= set(report.ratios)
    assert report.ratios["pyramid/python-dict"] == pytest.approx(
        report.row("pyramid").messages_per_s / report.row("python-dict").messages_per_s
    )
    assert report.ratios["pyramid:p99_us/pyramid:p50_us"] >= 1.0


def test_a_floor_that_is_wrong_is_noticed(monkeypatch):
    monkeypatch.setattr(bench.FLOORS["python-dict"], "match", lambda *_: [])
    with pytest.raises(AssertionError, match="same matches"):
        bench_within(WithinBench(workload=TINY.plain, repetitions=1, singles=10, memory=False), ["pyramid"])


@pytest.mark.parametrize(("methods", "floors"), [(["quadtree"], ()), ([], ()), (["pyramid"], ("abacus",))])
def test_unknown_methods_are_refused(methods, floors):
    with pytest.raises(InputError):
        bench_within(WithinBench(workload=TINY, floors=floors), methods)


def test_the_chart_is_a_picture(tmp_path):
    rows = [
        Row(name=name, role=role, messages_per_s=speed, matches=1, messages=1, subscriptions=1, matches_per_message=1.0)
        for name, role, speed in (("pyramid", "index", 5e5), ("python-dict", "floor", 1e5))
    ]
    machine = Machine("a processor", 2, "a system", "3.11", {})
    save_chart(Report(1, machine, rows, {"pyramid/python-dict": 5.0}), tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_without_matplotlib_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr("tidings.lab.chart.find_spec", lambda name: None)
    with pytest.raises(InputError, match="development dependencies"):
        save_chart(Report(1, Machine("", 1, "", "", {}), [], {}), tmp_path / "chart.png")
