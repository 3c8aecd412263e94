"""A dozen trials of the campaign; `make crash` runs two hundred."""

import pytest

from tests.crash.campaign import LOCAL, campaign, table


@pytest.mark.timeout(1200)
def test_nothing_is_lost_and_nothing_doubled_whatever_dies(seed: int, capfd: pytest.CaptureFixture[str]):
    report = campaign(12, seed, masters=(LOCAL,), small_disks=(True, False), most_a_round=12, patience_s=240.0)
    with capfd.disabled():
        print(f"\n{table(report)}")
    assert report.is_right, table(report)
    assert report.trials >= 12
    assert len(report.faults) > 6
    assert report.deltas > 1000
