"""Segments: what one shard answered to one batch, as bytes.

Nearly all deltas say that one message came to many subscriptions, so rows that follow each other with one position
and one message are a run, which names both once. What is the same in all rows is not there at all.

    header    magic, version, shard, epoch, first and end position, counts, how each column is stored, checksums
    filter    checksums of its pages, then the pages (see `segment_layout`)
    columns   of runs: rows, position from the first one, message position*, length of the message id*
              of rows: length of the subscription id*, sign*, measure*, value where there is a measure
              the bytes of the message ids, the bytes of the subscription ids

(*: not there when it is the same for all, or the position itself.) Numbers are little-endian, and every column begins
at a multiple of eight bytes. Every byte is covered by a checksum, and the checksums are covered by that of the header.
"""

import zlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidings.columns import segment_kernels as kernels
from tidings.columns.deltas import NO_VALUE, Deltas
from tidings.columns.segment_kernels import Survey
from tidings.log import segment_layout as layout
from tidings.log.segment_layout import ALL_MINUS, ALL_PLUS, MEASURES, SIGNS, Header, corrupt, header_of
from tidings.model.errors import InputError, Problem
from tidings.words.arenas import Arena, read_only

_MAX_EVENTS: Final = 1 << 32
_MAX_LENGTH: Final = 0xFFFF
_NO_LENGTHS: Final = read_only(np.zeros(0, np.uint16))

Array = npt.NDArray[Any]


class Segment(NamedTuple):
    """A segment's header and its columns, as views."""

    header: Header
    run_rows: npt.NDArray[np.uint32]
    position: npt.NDArray[np.uint32]
    message_position: npt.NDArray[np.int64]
    message_length: npt.NDArray[np.uint16]
    subscription_length: Array
    sign: npt.NDArray[np.uint8]
    measure: npt.NDArray[np.uint8]
    value: npt.NDArray[np.float64]
    message: npt.NDArray[np.uint8]
    subscription: npt.NDArray[np.uint8]


class _Pieces:
    """Columns as they are written one behind the other."""

    def __init__(self) -> None:
        self.pieces: list[Any] = []
        self.size = 0
        self.checksum = 0

    def add(self, *parts: Array) -> None:
        """One column, in parts, filled up to a multiple of eight bytes."""
        for part in parts:
            self._append(np.ascontiguousarray(part).view(np.uint8).data)
        if self.size % 8:
            self._append(bytes(-self.size % 8))

    def _append(self, piece: Any) -> None:
        self.pieces.append(piece)
        self.size += len(piece)
        self.checksum = zlib.crc32(piece, self.checksum)


def segment_bytes(shard: int, epoch: int, first: int, end: int, deltas: Sequence[Deltas]) -> bytes:
    """The segment of what a shard answered to the events at first <= position < end, in the order of the answer."""
    parts = [part for part in deltas if len(part.position)]
    begins = [np.empty(len(part.position), np.int32) for part in parts]
    surveys = [_survey(part, rows) for part, rows in zip(parts, begins, strict=True)]
    _check(parts, surveys, first, end)
    runs = [(part, rows[: seen.n_runs]) for part, rows, seen in zip(parts, begins, surveys, strict=True)]
    message_width, message_length = _width([(seen.shortest_message, seen.longest_message) for seen in surveys], 2)
    width, length = _width([(seen.shortest, seen.longest) for seen in surveys], 1)
    elsewhere = not all(seen.here for seen in surveys)
    signs, sign = _signs(parts)
    measured, measure, value = _measures(parts)
    messages = [_message_ids(*run, seen.message_bytes) for run, seen in zip(runs, surveys, strict=True)]
    ids = [part.subscription.data[part.subscription.offset[0] : part.subscription.offset[-1]] for part in parts]
    columns = _Pieces()
    columns.add(*(np.diff(rows, append=np.int32(len(part.position))).astype(np.uint32) for part, rows in runs))
    columns.add(*((part.position[rows] - first).astype(np.uint32) for part, rows in runs))
    columns.add(*(part.message_position[rows] for part, rows in runs if elsewhere))
    columns.add(*(np.diff(part.message.offset)[rows].astype(np.uint16) for part, rows in runs if message_width))
    columns.add(*(np.diff(part.subscription.offset).astype(f"u{width}") for part in parts if width))
    columns.add(sign)
    columns.add(measure)
    columns.add(value)
    columns.add(*messages)
    columns.add(*ids)
    n_rows = sum(len(part.position) for part in parts)
    n_pages, page_bytes = layout.filter_size(n_rows)
    pages = _pages(parts, n_pages, page_bytes)
    table = _Pieces()
    table.add(np.array([zlib.crc32(page.data) for page in pages.reshape(n_pages, page_bytes)], np.uint32))
    header = Header(
        magic=layout.MAGIC,
        version=layout.VERSION,
        shard=shard,
        epoch=epoch,
        first=first,
        end=end,
        n_rows=n_rows,
        n_runs=sum(seen.n_runs for seen in surveys),
        n_values=len(value),
        message_bytes=sum(len(part) for part in messages),
        subscription_bytes=sum(len(part) for part in ids),
        column_bytes=columns.size,
        n_pages=n_pages,
        page_bytes=page_bytes,
        message_length=message_length,
        subscription_length=length,
        message_width=message_width,
        subscription_width=width,
        elsewhere=int(elsewhere),
        signs=signs,
        measure=measured,
        table_checksum=table.checksum,
        column_checksum=columns.checksum,
    )
    return b"".join([layout.packed(header), *table.pieces, pages.data, *columns.pieces])


def open_segment(data: bytes | memoryview, place: str = "segment") -> Segment:
    """A segment's columns, all checksums checked; no copy is made."""
    header = header_of(data, place)
    view = memoryview(data)
    start = layout.columns_start(header)
    if len(view) != start + header.column_bytes:
        raise corrupt(place, f"its length: {len(view)} bytes instead of {start + header.column_bytes}")
    layout.check_filter(header, view[:start], place)
    if zlib.crc32(view[start:]) != header.column_checksum:
        raise corrupt(place, "its columns")
    columns = np.frombuffer(view[start:], np.uint8)
    if columns.ctypes.data % 8:
        columns = columns.copy()
    at = 0

    def column(n: int, dtype: Any) -> Array:
        nonlocal at
        size = n * np.dtype(dtype).itemsize
        part, at = columns[at : at + size], at + layout.aligned(size)
        return read_only(part.view(dtype))

    n_runs, n_rows, width = header.n_runs, header.n_rows, header.subscription_width
    return Segment(
        header=header,
        run_rows=column(n_runs, np.uint32),
        position=column(n_runs, np.uint32),
        message_position=column(n_runs if header.elsewhere else 0, np.int64),
        message_length=column(n_runs if header.message_width else 0, np.uint16),
        subscription_length=column(n_rows if width else 0, f"u{width or 1}"),
        sign=column(-(-n_rows // 8) if header.signs == SIGNS else 0, np.uint8),
        measure=column(n_rows if header.measure == MEASURES else 0, np.uint8),
        value=column(header.n_values, np.float64),
        message=column(header.message_bytes, np.uint8),
        subscription=column(header.subscription_bytes, np.uint8),
    )


def segment_deltas(data: bytes | memoryview, place: str = "segment") -> Deltas:
    """The deltas of a segment."""
    return merged_deltas([open_segment(data, place)])


def merged_deltas(segments: Sequence[Segment]) -> Deltas:
    """The deltas of the shards' segments of one batch, in the order of the answer."""
    bounds = np.cumsum([0, *(segment.header.n_rows for segment in segments)])
    n_rows = int(bounds[-1])
    lengths = [_run_lengths(segment) for segment in segments]
    n_bytes = sum(int(part.run_rows.astype(np.int64) @ length) for part, length in zip(segments, lengths, strict=True))
    position, message_position = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    message = Arena(np.zeros(n_rows + 1, np.int64), np.empty(n_bytes + 8, np.uint8))
    at = 0
    for segment, length, row in zip(segments, lengths, bounds.tolist(), strict=False):
        at = kernels.expand_runs(
            segment.header.first,
            segment.run_rows,
            segment.position,
            segment.message_position,
            read_only(length),
            segment.message,
            row,
            at,
            position,
            message_position,
            message.offset,
            message.data,
        )
    measures = [_measures_of(segment) for segment in segments]
    deltas = Deltas(
        position=position,
        subscription=_subscriptions(segments, bounds),
        message=message._replace(data=message.data[:n_bytes]),
        sign=_joined([_signs_of(segment) for segment in segments], np.int8),
        measure=_joined(measures, np.uint8),
        value=_joined([_values_of(*pair) for pair in zip(segments, measures, strict=True)], np.float64),
        message_position=message_position,
    )
    return kernels.merged(deltas, bounds)


def subscription_deltas(segment: Segment, subscription: str) -> Deltas:
    """The deltas of one subscription; nothing else of the segment is written out."""
    header = segment.header
    width = header.subscription_width
    lengths = segment.subscription_length.astype(np.uint16) if width else _NO_LENGTHS
    wanted = subscription.encode()
    rows = kernels.find_rows(
        read_only(lengths),
        header.subscription_length,
        header.n_rows,
        segment.subscription,
        np.frombuffer(wanted, np.uint8),
    )
    n = len(rows)
    run = np.searchsorted(np.cumsum(segment.run_rows, dtype=np.int64), rows, "right")
    position = header.first + segment.position[run].astype(np.int64)
    length = _run_lengths(segment)
    offset = np.zeros(n + 1, np.int64)
    np.cumsum(length[run], out=offset[1:])
    start = (np.cumsum(length, dtype=np.int64) - length)[run]
    pieces = [segment.message[low : low + size] for low, size in zip(start.tolist(), length[run].tolist(), strict=True)]
    measure = _measures_of(segment)
    return Deltas(
        position=position,
        subscription=Arena(np.arange(n + 1) * len(wanted), np.frombuffer(wanted * n, np.uint8)),
        message=Arena(offset, _joined(pieces, np.uint8)),
        sign=_signs_of(segment)[rows],
        measure=measure[rows],
        value=_values_of(segment, measure)[rows],
        message_position=segment.message_position[run] if header.elsewhere else position.copy(),
    )


def _survey(part: Deltas, rows: npt.NDArray[np.int32]) -> Survey:
    message, subscription = part.message, part.subscription
    return Survey(
        *kernels.survey(
            read_only(part.position),
            read_only(subscription.offset),
            read_only(message.offset),
            read_only(message.data),
            read_only(part.message_position),
            rows,
        )
    )


def _check(parts: list[Deltas], surveys: list[Survey], first: int, end: int) -> None:
    """What could not be stored is a mistake of the caller, and better found now than when it is read."""
    edges = [first] + [int(place) for part in parts for place in (part.position[0], part.position[-1])] + [end - 1]
    if parts and not (all(seen.ascending for seen in surveys) and edges == sorted(edges)):
        raise InputError(Problem("option-invalid", "deltas", "positions out of order", f"{first} to {end}, ascending"))
    if end - first > _MAX_EVENTS:
        raise InputError(Problem("option-invalid", "batch", f"{end - first} events", f"at most {_MAX_EVENTS}"))
    longest = max((max(seen.longest, seen.longest_message) for seen in surveys), default=0)
    if longest > _MAX_LENGTH:
        raise InputError(Problem("id-invalid", "deltas", f"{longest} bytes", f"at most {_MAX_LENGTH}"))


def _width(ranges: list[tuple[int, int]], narrow: int) -> tuple[int, int]:
    """The bytes of a length, 0 when all are the same, and this one length."""
    shortest, longest = min((low for low, _ in ranges), default=0), max((high for _, high in ranges), default=0)
    if shortest == longest:
        return 0, longest
    return (narrow if longest <= 0xFF else 2), 0


def _signs(parts: list[Deltas]) -> tuple[int, Array]:
    positive = [part.sign > 0 for part in parts]
    nothing = np.zeros(0, np.uint8)
    if all(bool(part.all()) for part in positive):
        return ALL_PLUS, nothing
    if not any(bool(part.any()) for part in positive):
        return ALL_MINUS, nothing
    return SIGNS, np.packbits(np.concatenate(positive), bitorder="little")


def _measures(parts: list[Deltas]) -> tuple[int, Array, Array]:
    nothing = np.zeros(0, np.uint8)
    first = int(parts[0].measure[0]) if parts else NO_VALUE
    same = all(bool((part.measure == first).all()) for part in parts)
    if same and first == NO_VALUE:
        return NO_VALUE, nothing, np.zeros(0)
    values = np.concatenate([part.value[part.measure != NO_VALUE] for part in parts])
    return (first, nothing, values) if same else (MEASURES, np.concatenate([part.measure for part in parts]), values)


def _message_ids(part: Deltas, rows: npt.NDArray[np.int32], n_bytes: int) -> Array:
    out, ends = np.empty(n_bytes + 8, np.uint8), np.empty(len(rows), np.int64)
    message = part.message
    kernels.copy_ids(read_only(message.offset), read_only(message.data), read_only(rows), ends, out)
    return out[:n_bytes]


def _pages(parts: list[Deltas], n_pages: int, page_bytes: int) -> npt.NDArray[np.uint8]:
    pages = np.zeros(n_pages * page_bytes, np.uint8)
    for part in parts:
        offset, data = read_only(part.subscription.offset), read_only(part.subscription.data)
        kernels.mark(offset, data, n_pages, page_bytes, pages)
    return pages


def _run_lengths(segment: Segment) -> npt.NDArray[np.uint16]:
    header = segment.header
    return segment.message_length if header.message_width else np.full(header.n_runs, header.message_length, np.uint16)


def _subscriptions(segments: Sequence[Segment], bounds: npt.NDArray[np.int64]) -> Arena:
    offset = np.empty(int(bounds[-1]) + 1, np.int64)
    offset[0] = at = 0
    for segment, row in zip(segments, bounds.tolist(), strict=False):
        header = segment.header
        ends = offset[row + 1 : row + 1 + header.n_rows]
        if header.subscription_width:
            np.cumsum(segment.subscription_length, dtype=np.int64, out=ends)
            ends += at
        else:
            kernels.step_offsets(at, header.subscription_length, ends)
        at += header.subscription_bytes
    return Arena(offset, _joined([segment.subscription for segment in segments], np.uint8))


def _signs_of(segment: Segment) -> npt.NDArray[np.int8]:
    n_rows = segment.header.n_rows
    if segment.header.signs != SIGNS:
        return np.full(n_rows, 1 if segment.header.signs == ALL_PLUS else -1, np.int8)
    positive = np.unpackbits(segment.sign, count=n_rows, bitorder="little").view(np.int8)
    return positive + positive - np.int8(1)


def _measures_of(segment: Segment) -> npt.NDArray[np.uint8]:
    constant = segment.header.measure
    return segment.measure if constant == MEASURES else np.full(segment.header.n_rows, constant, np.uint8)


def _values_of(segment: Segment, measure: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    if segment.header.n_values == segment.header.n_rows:
        return segment.value
    value = np.full(segment.header.n_rows, np.nan)
    if segment.header.n_values:
        value[measure != NO_VALUE] = segment.value
    return value


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
