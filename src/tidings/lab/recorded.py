"""Messages from a recording: Parquet files with the columns lon, lat and keywords, as one set of columns."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.columns.rows import items_of
from tidings.model.errors import FileError, Problem
from tidings.model.regions import Bounds
from tidings.words.arenas import Arena

if TYPE_CHECKING:
    import pyarrow as pa

Int64s = npt.NDArray[np.int64]

NEEDED: Final = ("lon", "lat", "keywords")
_MOST_EAST: Final = 179.99
_MOST_NORTH: Final = 89.99
"""Places nearer to the antimeridian or a pole are left out: plain comparisons, as the floors make, are then right."""


class Recorded(NamedTuple):
    """Messages that have a place and words."""

    place: npt.NDArray[np.float64]
    word_start: Int64s
    word: Int64s
    """Rows of `words`, ascending and distinct within a message."""
    words: Arena
    """Every word, in code-point order."""

    @property
    def bounds(self) -> Bounds:
        """The box of all places."""
        (x0, y0), (x1, y1) = self.place.min(axis=0).tolist(), self.place.max(axis=0).tolist()
        return x0, y0, x1, y1

    def items_of(self, rows: Int64s) -> tuple[Int64s, Int64s]:
        """New offsets for these messages, and which items of `word` are theirs."""
        return items_of(self.word_start, rows)

    def some_words(self, rng: np.random.Generator, rows: Int64s, most: int) -> Int64s:
        """(n, most) distinct words of these messages in any order, -1 where a message has fewer."""
        start, items = self.items_of(rows)
        length = np.diff(start)
        of = np.repeat(np.arange(len(rows)), length)
        items = items[np.lexsort((rng.random(len(items)), of))]
        rank = np.arange(len(items)) - np.repeat(start[:-1], length)
        chosen = np.full((len(rows), most), -1)
        chosen[of[rank < most], rank[rank < most]] = self.word[items[rank < most]]
        return chosen


@lru_cache(maxsize=1)
def read_recorded(path: str) -> Recorded:
    """The messages of a file, or of all files of a directory that have what a message needs; read once."""
    import pyarrow as pa

    table = pa.concat_tables([_read(file) for file in _files(Path(path))])
    lon = table["lon"].to_numpy().astype(np.float64)
    lat = table["lat"].to_numpy().astype(np.float64)
    # A comparison with NaN is false, so what has no place falls out, too.
    good = np.flatnonzero((np.abs(lon) <= _MOST_EAST) & (np.abs(lat) <= _MOST_NORTH))
    words, row, number = _words_of(table["keywords"].combine_chunks())
    place, word_start, word = np.stack([lon, lat], axis=1), np.searchsorted(row, np.arange(len(lon) + 1)), number
    good = good[word_start[good + 1] > word_start[good]]
    if not len(good):
        raise FileError(Problem("file-format", path, "no message with a place and words", "at least one"))
    start, items = items_of(word_start, good)
    return Recorded(place[good], start, word[items], words)


def _files(path: Path) -> list[Path]:
    import pyarrow.parquet as pq

    if path.is_file():
        return [path]
    files = [file for file in sorted(path.glob("*.parquet")) if set(NEEDED) <= set(pq.read_schema(file).names)]
    if not files:
        what = "a Parquet file, or a directory of some, with the columns " + ", ".join(NEEDED)
        raise FileError(Problem("file-unreadable", str(path), expected=what))
    return files


def _read(file: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (OSError, pa.ArrowException) as error:
        raise FileError(Problem("file-format", str(file), str(error), "a Parquet file")) from error
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise FileError(Problem("file-schema", str(file), f"no column {', '.join(missing)}", ", ".join(NEEDED)))
    try:
        return pa.table(
            {
                "lon": table["lon"].cast(pa.float64()),
                "lat": table["lat"].cast(pa.float64()),
                "keywords": table["keywords"].cast(pa.large_list(pa.large_string())),
            }
        )
    except pa.ArrowException as error:
        raise FileError(Problem("file-schema", str(file), str(error), "numbers and lists of strings")) from error


def _words_of(lists: "pa.Array") -> tuple[Arena, Int64s, Int64s]:
    """All distinct words in code-point order; and, ordered by both, the messages' rows with the numbers of theirs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    row, values = pc.list_parent_indices(lists), pc.list_flatten(lists)
    used = pc.and_(pc.is_valid(values), pc.not_equal(values, ""))
    row, values = row.filter(used), values.filter(used).dictionary_encode()
    # Arrow sorts strings by their bytes, which is the order of code points.
    order = pc.sort_indices(values.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    pairs = np.unique(row.to_numpy().astype(np.int64) * len(order) + rank[values.indices.to_numpy()])
    return Arena.of_arrow(values.dictionary.take(pa.array(order))), *np.divmod(pairs, len(order))
