"""Lines of a log to blocks, in columns: what every batch of the pipeline begins with.

Nearly every line is a plain message. A kernel scans those into columns (`columns.scanning`), so that no Python object
stands for one; all other lines are decoded one by one and go through the `BlockBuilder`, which gives the same block.

Measured, in microseconds of one core for a message of 150 bytes with a text of 8 words: 0.3 to scan it, 1.05 to analyse
its text (half of that is sorting the words by their strings), 1.5 in all; with a list of 8 words 1.4; with a text that
is not ASCII 5; 2.7 when nobody has judged it before. `decode_event` and the builder took 2.9 and 1.8. Without the
analysis, one `msgspec` decode of all lines into loose structs took 1.1, and Arrow's JSON reader 0.7, for lines that are
all alike. A registration of `within` takes 10, of which 7 are its expression and its region.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from tidings.columns import block as b
from tidings.columns.block import Block, MessageColumns, sealed
from tidings.columns.block_bytes import joined
from tidings.columns.encode import BlockBuilder, message_columns
from tidings.columns.rows import NO_EVENTS, by_position
from tidings.columns.scanning import PlainMessages, scan_messages
from tidings.log.plain import plain_messages
from tidings.log.trusted import trusted_event
from tidings.log.wire import decode_event
from tidings.model.errors import FileError, InputError, Problem
from tidings.model.events import Configure
from tidings.words.analyser import Analyser
from tidings.words.arenas import Arena
from tidings.words.batch import BagOfWords, analyse_batch
from tidings.words.counting import distinct_words
from tidings.words.hash_kernels import hash_strings

Int64s = npt.NDArray[np.int64]

_LINE_BREAK: Final = ord("\n")


class Refused(NamedTuple):
    """A record that is no event of this log."""

    position: int
    raw: bytes
    error: InputError


class Decoder:
    """Lines to blocks, under the configuration of a log. It remembers expressions from block to block."""

    def __init__(self, configuration: Configure) -> None:
        self._space: Final = configuration.space
        self._analyser: Final = Analyser(configuration.analyser)
        self._builder: Final = BlockBuilder(configuration)

    def block(self, frames: Iterable[tuple[int, int, bytes]], skipped: Collection[int] = ()) -> Block:
        """The events of frames, each its first position, their number and their lines, as one sealed block.

        The lines were found valid when they were appended, and are taken on trust. Positions ascend from frame to
        frame. Those that are `skipped` are left out, as if they had never been. `configure` gives no event. A line that
        is no event after all raises an `InputError` that names its position, and nothing of the block stays.
        """
        frames = [frame for frame in frames if frame[1]]
        for first, n, payload in frames:
            n_lines = payload.count(b"\n") + 1
            if n_lines != n:
                raise FileError(Problem("file-corrupt", f"position {first}", f"{n_lines} lines", f"{n} lines"))
        if not frames:
            return NO_EVENTS
        data = np.frombuffer(frames[0][2] if len(frames) == 1 else b"\n".join(frame[2] for frame in frames), np.uint8)
        breaks = np.flatnonzero(data == _LINE_BREAK)
        start, end = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(data)]])
        position = np.concatenate([np.arange(first, first + n) for first, n, _ in frames])
        if skipped:
            kept = ~np.isin(position, list(skipped))
            start, end, position = start[kept], end[kept], position[kept]
        return self._scanned(data, start, end, position)

    def checked_block(self, records: Iterable[tuple[int, bytes]]) -> tuple[Block, list[Refused]]:
        """The events among records that nobody has looked at, and the records that are none, in order of position.

        What is wrong with a record by itself is found here. Whether its id is taken or known is not: that depends on
        the events before it.
        """
        records = list(records)
        judged = plain_messages([raw for _, raw in records], self._space)
        lines, positions, refused = [], [], []
        for (position, raw), message in zip(records, judged, strict=True):
            if message is not None:
                lines.append(raw)
                positions.append(position)
                continue
            try:
                self._builder.add(position, decode_event(raw, self._space))
            except InputError as error:
                refused.append(Refused(position, raw, error))
        edges = np.cumsum([0, *map(len, lines)])
        data = np.frombuffer(b"".join(lines), np.uint8)
        return self._scanned(data, edges[:-1], edges[1:], np.array(positions, np.int64)), refused

    def _scanned(self, data: npt.NDArray[np.uint8], start: Int64s, end: Int64s, position: Int64s) -> Block:
        """The block of valid lines and of what the builder holds already."""
        found = scan_messages(data, start, end)
        for line in np.flatnonzero(~found.plain).tolist():
            self._add_trusted(int(position[line]), data[start[line] : end[line]].tobytes())
        others = self._builder.build()
        n = len(found.time)
        if not n:
            return by_position(others)
        plain = NO_EVENTS._replace(
            position=position[found.plain],
            op=np.full(n, b.PUBLISH, np.uint8),
            time=found.time,
            row=np.arange(n),
            messages=self._messages(found),
        )
        return by_position(joined([plain, others])) if len(others.op) else sealed(plain)

    def _add_trusted(self, position: int, line: bytes) -> None:
        try:
            self._builder.add(position, trusted_event(line, self._space))
        except InputError as error:
            self._builder.build()  # nothing of this block stays for the next
            raise InputError([replace(problem, line=position) for problem in error.problems], error.total) from None

    def _messages(self, found: PlainMessages) -> MessageColumns:
        texts, lists = analyse_batch(self._analyser, found.text), _bags_of_words(found.list_start, found.word)
        return message_columns(found.id, found.place, found.expires, found.is_text, texts, lists)


def _bags_of_words(start: Int64s, words: Arena) -> BagOfWords:
    """The bags of lists of words taken as they are; each word counts once."""
    start, occurrences, distinct = distinct_words(start, words, once=True)
    return BagOfWords(start, hash_strings(*distinct), occurrences, *distinct)
