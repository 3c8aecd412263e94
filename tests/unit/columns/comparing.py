"""Blocks, array by array."""

import numpy as np

from tidings.columns.block import Block


def leaves(columns, path="block"):
    """Every array of a block with its name."""
    for name, part in columns._asdict().items():
        if isinstance(part, tuple):
            yield from leaves(part, f"{path}.{name}")
        else:
            yield f"{path}.{name}", part


def assert_same_block(got: Block, wanted: Block) -> None:
    """Every array of the same type and shape with the same bytes, and as kernels take it."""
    for (name, one), (_, other) in zip(leaves(got), leaves(wanted), strict=True):
        assert one.dtype == other.dtype, name
        assert one.shape == other.shape, name
        assert one.tobytes() == other.tobytes(), f"{name}: {first_difference(one, other)}"
        assert_sealed(name, one)


def assert_sealed(name, array):
    assert array.flags.c_contiguous, name
    assert array.flags.aligned, name
    assert not array.flags.writeable, name


def first_difference(one, other):
    one, other = one.reshape(-1), other.reshape(-1)
    i = int(np.flatnonzero(one.view(np.uint8) != other.view(np.uint8))[0]) // one.itemsize
    return f"element {i} is {one[i]}, not {other[i]}"
