"""Arenas: many strings as two arrays, offsets and UTF-8 bytes, which is Arrow's own layout."""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tidings.model.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

Scalar = TypeVar("Scalar", bound=np.generic)


class Arena(NamedTuple):
    """Strings: number i is `data[offset[i]:offset[i + 1]]`."""

    offset: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Arena":
        """The strings of a Python sequence."""
        encoded = [string.encode() for string in strings]
        offset = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offset[1:])
        return cls(offset, np.frombuffer(b"".join(encoded), np.uint8))

    @classmethod
    def of_arrow(cls, strings: "pa.Array") -> "Arena":
        """The strings of an Arrow string array (a slice too), without a copy of their bytes; null is an error."""
        import pyarrow as pa

        if strings.null_count:
            raise InputError(Problem("field-type", "words", "null", "a string"))
        if not len(strings):
            return cls(np.zeros(1, np.int64), np.zeros(0, np.uint8))
        strings = strings.cast(pa.large_string())
        _, offset, data = strings.buffers()
        offsets = np.frombuffer(offset, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        return cls(offsets, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8))

    def strings(self) -> list[str]:
        """The strings as Python objects; for the edges, not for hot paths."""
        data, ends = self.data.tobytes(), self.offset.tolist()
        return [data[start:end].decode() for start, end in pairwise(ends)]


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The same memory, contiguous and not writable.

    To Numba a read-only array is another type. Arrow's buffers are read-only, so every input of a kernel is passed so,
    and a kernel compiles once.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
