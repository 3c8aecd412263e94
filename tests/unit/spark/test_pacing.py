from tidings.spark.pacing import SMALLEST, Pace


def test_the_limit_is_what_fits_into_the_target_time():
    pace = Pace(50_000, 0.5)
    for _ in range(20):
        pace.observe(20_000, 0.4)
    assert 24_000 <= pace.limit <= 25_000


def test_it_stays_within_bounds_whatever_it_sees():
    pace = Pace(5_000, 1.0)
    assert pace.limit <= 5_000
    for _ in range(20):
        pace.observe(5_000, 0.001)
    assert pace.limit == 5_000
    for _ in range(40):
        pace.observe(5_000, 1000.0)
    assert pace.limit == SMALLEST
    assert Pace(10, 1.0).limit == 10


def test_small_batches_say_nothing_of_the_rate():
    pace = Pace(50_000, 1.0)
    before = pace.limit
    pace.observe(1, 5.0)
    assert pace.limit == before
