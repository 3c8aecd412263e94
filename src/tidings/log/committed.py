"""What a commit says, whichever store keeps it, and how the deltas of a committed batch are read."""

import secrets
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
import numpy as np

from tidings.columns.deltas import Deltas
from tidings.log.deliveries import Answer, Batch, SnapshotParts
from tidings.log.pieces import merged_pieces
from tidings.log.segment_layout import HEADER_BYTES, corrupt, may_contain, segment_checksum
from tidings.log.segments import Segment, merged_deltas, open_segment, subscription_deltas
from tidings.model.errors import FileError, Problem

Read = Callable[[Answer, int, int | None], bytes | None]
"""Bytes of an answer's segment from one place to another or to its end; None when it is not there."""

SEGMENT: Final = ".segment"
PARQUET: Final = ".parquet"


class Commit(msgspec.Struct, frozen=True):
    """One batch that is done."""

    batch: Batch
    epoch: int
    time_ms: int
    """When it was committed; only retention looks at it."""
    answers: tuple[Answer, ...]
    snapshot: SnapshotParts | None = None

    @property
    def n_deltas(self) -> int:
        """Of all shards."""
        return sum(answer.n_deltas for answer in self.answers)

    @property
    def n_bytes(self) -> int:
        """Of all shards' segments."""
        return sum(answer.n_bytes for answer in self.answers)


def file_name(first: int, end: int, shard: int, epoch: int, suffix: str) -> str:
    """A name that no other attempt at the same answer has."""
    return f"{first:020d}-{end:020d}-{shard:05d}-{epoch}-{secrets.token_hex(4)}{suffix}"


class Attempt(NamedTuple):
    """Which answer a file is an attempt at."""

    first: int
    end: int
    shard: int
    epoch: int


def attempt_of(name: str) -> Attempt | None:
    """What the name of a file says, or of the part of one that was being written; None when it is not one of ours."""
    parts = name.removeprefix(".").split("-")
    if len(parts) != 5 or not all(part.isdigit() for part in parts[:4]):
        return None
    return Attempt(*map(int, parts[:4]))


def commit_deltas(
    commit: Commit, first: int, end: int, subscription: str | None, read: Read, place: str
) -> Deltas | None:
    """What a commit says about the events at first <= position < end, in the order of the answer; None for nothing."""
    answers = [answer for answer in commit.answers if answer.n_deltas]
    if any(_is_table(answer) for answer in answers):
        from tidings.log.deltas_parquet import deltas_of_tables

        pieces = [whole(commit, answer, read, place) for answer in answers]
        deltas = deltas_of_tables(pieces, subscription, [where(answer, place) for answer in answers])
    elif subscription is None:
        deltas = merged_deltas([_segment(commit, answer, read, place) for answer in answers]) if answers else None
    else:
        found = [_of_subscription(commit, answer, subscription, read, place) for answer in answers]
        deltas = merged_pieces([piece for piece in found if piece is not None])
    if deltas is None:
        return None
    deltas = _between(deltas, first, end)
    return deltas if len(deltas.position) else None


def whole(commit: Commit, answer: Answer, read: Read, place: str) -> bytes:
    """All bytes of an answer, checked to be those that were committed."""
    name = where(answer, place)
    data = read(answer, 0, None)
    if data is None:
        raise corrupt(name, f"missing, with {answer.n_deltas} deltas of {commit.batch.first}..{commit.batch.end}")
    if len(data) != answer.n_bytes:
        raise corrupt(name, f"its length: {len(data)} bytes instead of {answer.n_bytes}")
    checksum = zlib.crc32(data) if _is_table(answer) else segment_checksum(data)
    if checksum != answer.checksum:
        raise corrupt(name, f"its checksum: {checksum:08x} instead of {answer.checksum:08x}")
    return data


def damage(commit: Commit, read: Read, place: str) -> list[Problem]:
    """What is missing or damaged of a commit."""
    problems: list[Problem] = []
    for answer in commit.answers:
        if not answer.n_deltas:
            continue
        try:
            if _is_table(answer):
                whole(commit, answer, read, place)
            else:
                _segment(commit, answer, read, place)
        except FileError as error:
            problems += error.problems
    return problems


def where(answer: Answer, place: str) -> str:
    """What an error names."""
    return f"{place}/{answer.file}" if answer.file is not None else f"{place}, the answer of shard {answer.shard}"


def _is_table(answer: Answer) -> bool:
    return (answer.file or "").endswith(PARQUET)


def _segment(commit: Commit, answer: Answer, read: Read, place: str) -> Segment:
    name = where(answer, place)
    segment = open_segment(whole(commit, answer, read, place), name)
    header, batch = segment.header, commit.batch
    said = (header.shard, header.first, header.end, header.n_rows)
    meant = (answer.shard, batch.first, batch.end, answer.n_deltas)
    if said != meant:
        raise corrupt(name, f"it says (shard, first, end, deltas) {said}, the commit {meant}")
    return segment


def _of_subscription(commit: Commit, answer: Answer, subscription: str, read: Read, place: str) -> Deltas | None:
    name = where(answer, place)

    def part(start: int, end: int) -> bytes:
        data = read(answer, start, end)
        if data is None:
            raise corrupt(name, f"missing, with {answer.n_deltas} deltas of {commit.batch.first}..{commit.batch.end}")
        return data

    if segment_checksum(part(0, HEADER_BYTES)) != answer.checksum:
        raise corrupt(name, "its checksum")
    if not may_contain(subscription, part, name):
        return None
    return subscription_deltas(_segment(commit, answer, read, place), subscription)


def _between(deltas: Deltas, first: int, end: int) -> Deltas:
    low, high = np.searchsorted(deltas.position, [first, end]).tolist()
    if (low, high) == (0, len(deltas.position)):
        return deltas
    return Deltas(
        position=deltas.position[low:high],
        subscription=deltas.subscription._replace(offset=deltas.subscription.offset[low : high + 1]),
        message=deltas.message._replace(offset=deltas.message.offset[low : high + 1]),
        sign=deltas.sign[low:high],
        measure=deltas.measure[low:high],
        value=deltas.value[low:high],
        message_position=deltas.message_position[low:high],
    )
