"""Messages of a DataFrame as a block: Arrow columns become the block's, without a Python object per row."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidings.columns.block import NEVER, NO_TIME, PUBLISH, Block, MessageColumns, sealed
from tidings.columns.encode import BlockBuilder
from tidings.model.events import Configure
from tidings.words.analyser import Analyser
from tidings.words.arenas import Arena
from tidings.words.batch import BagOfWords, analyse_batch, bags_of_arrow_lists

_NOTHING: Final = BlockBuilder(Configure()).build()


def block_of(batch: pa.RecordBatch, analyser: Analyser) -> Block:
    """Rows that `message_rows.checked` found good as publications; at their positions, or numbered from 0."""
    n = batch.num_rows
    bags = _bags(batch, analyser)
    return sealed(
        _NOTHING._replace(
            position=whole_numbers(batch, "position", 0) if "position" in batch.schema.names else np.arange(n),
            op=np.full(n, PUBLISH, np.uint8),
            time=whole_numbers(batch, "ts", NO_TIME),
            row=np.arange(n),
            messages=MessageColumns(
                id=Arena.of_arrow(batch.column("id")),
                place=places(batch),
                expires=whole_numbers(batch, "expires", NEVER),
                word_start=bags.start,
                word_hash=bags.hash,
                word_count=bags.occurrences,
            ),
        )
    )


def whole_numbers(batch: pa.RecordBatch, name: str, absent: int) -> npt.NDArray[np.int64]:
    """A column of integers, or of timestamps as milliseconds; `absent` where there is none."""
    if name not in batch.schema.names:
        return np.full(batch.num_rows, absent, np.int64)
    column = batch.column(name)
    if pa.types.is_timestamp(column.type):
        # Rounded down, before 1970 too: Spark's timestamps are finer.
        milliseconds = pc.cast(pc.floor_temporal(column, unit="millisecond"), pa.timestamp("ms", column.type.tz))
        column = milliseconds.view(pa.int64())
    return np.asarray(pc.fill_null(pc.cast(column, pa.int64()), absent).to_numpy(zero_copy_only=False))


def places(batch: pa.RecordBatch) -> npt.NDArray[np.float64]:
    """(n, 4): the box of each message, a point as a box without extent; NaN where there is none or it is no place."""
    place = np.full((batch.num_rows, 4), np.nan)
    names = batch.schema.names
    if "lon" in names:
        place[:, 0] = place[:, 2] = _floats(batch.column("lon"))
        place[:, 1] = place[:, 3] = _floats(batch.column("lat"))
    if "at" in names:
        rows, values = _lists_of(batch.column("at"), 2)
        place[rows] = np.concatenate((values, values), axis=1)
    if "box" in names:
        rows, values = _lists_of(batch.column("box"), 4)
        place[rows] = values
    return place


def _floats(column: pa.Array) -> npt.NDArray[np.float64]:
    return np.asarray(pc.fill_null(column, np.nan).to_numpy(zero_copy_only=False))


def _lists_of(column: pa.Array, length: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """The rows with a list of this length, and the lists."""
    rows = np.asarray(
        pc.fill_null(pc.equal(pc.list_value_length(column), length), False).to_numpy(zero_copy_only=False)
    )
    values = _floats(column.filter(pa.array(rows)).flatten())
    return rows, values.reshape(-1, length)


def _bags(batch: pa.RecordBatch, analyser: Analyser) -> BagOfWords:
    names = batch.schema.names
    if "text" not in names:
        return bags_of_arrow_lists(batch.column("words"))
    text = batch.column("text")
    if "words" not in names or not text.null_count:
        return analyse_batch(analyser, Arena.of_arrow(text))
    if text.null_count == len(text):
        return bags_of_arrow_lists(batch.column("words"))
    # A null list is an empty bag, and so is an empty text: of each row, one of the two is that.
    texts = analyse_batch(analyser, Arena.of_arrow(pc.fill_null(text, "")))
    return _merged(texts, bags_of_arrow_lists(batch.column("words")))


def _merged(one: BagOfWords, other: BagOfWords) -> BagOfWords:
    """The bags of rows of which at most one of the two has words."""
    mine, others = np.diff(one.start), np.diff(other.start)
    start = one.start + other.start
    from_one = np.repeat(mine > 0, mine + others)
    hashes, counts = np.empty(start[-1], np.uint64), np.empty(start[-1], np.uint32)
    hashes[from_one], hashes[~from_one] = one.hash, other.hash
    counts[from_one], counts[~from_one] = one.occurrences, other.occurrences
    return one._replace(start=start, hash=hashes, occurrences=counts)
