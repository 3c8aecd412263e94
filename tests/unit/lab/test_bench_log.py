"""The benchmark of appending measures the log beside its floor."""

from tidings.lab.bench_log import LogBench, bench_log


def test_it_reports_both_and_their_ratio(tmp_path):
    report = bench_log(LogBench(messages=2000, repetitions=1, seed=3, folder=str(tmp_path)))
    assert [(row.name, row.role) for row in report.rows] == [
        ("sqlite-rows", "floor"),
        ("log", "method"),
        ("log (append_later)", "method"),
    ]
    assert all(row.messages_per_s > 0 and row.p99_us >= row.p50_us > 0 for row in report.rows)
    assert set(report.ratios) == {"log/sqlite-rows", "log (append_later)/sqlite-rows"}
    assert list(tmp_path.iterdir()) == []
