import numpy as np
import pytest

from tidings.columns.growing import grown, power_of_two


def test_an_array_with_room_is_itself():
    array = np.arange(8)
    assert grown(array, 8) is array
    assert grown(array, 0) is array


@pytest.mark.parametrize("shape", [(5,), (5, 4)])
def test_growth_keeps_the_content_and_fills_with_zeros(shape):
    array = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
    longer = grown(array, 100)
    assert len(longer) >= 100
    assert longer.dtype == array.dtype
    assert longer.shape[1:] == array.shape[1:]
    assert (longer[:5] == array).all()
    assert not longer[5:].any()


def test_growth_is_geometric_one_by_one_and_tight_in_bulk():
    array, copies = np.zeros(0, np.int8), 0
    for needed in range(1, 100_000):
        longer = grown(array, needed)
        copies += longer is not array
        array = longer
    assert copies < 50
    assert len(grown(np.zeros(64, np.int8), 1_000_000)) <= 1_070_000


def test_powers_of_two():
    assert [power_of_two(n) for n in (2, 3, 4, 5, 64, 65)] == [2, 4, 4, 8, 64, 128]
    for n in range(1000):
        assert power_of_two(n) >= n
        assert power_of_two(n) & (power_of_two(n) - 1) == 0
