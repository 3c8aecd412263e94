"""The task of one shard: open its state, step over its events, write down what it answers.

It may run twice, be killed at any point, or run on another machine than before. Nothing that it leaves behind counts
until the driver commits: a segment that no commit names is swept, a shard file that is not exactly where the next
batch begins is made anew.
"""

import time
from collections.abc import Callable

import pyarrow as pa
from msgspec.structs import replace

from tidings.columns.block import Block
from tidings.columns.block_bytes import block_from_bytes
from tidings.columns.deltas import Deltas
from tidings.columns.subscriptions import COUNT
from tidings.log.deliveries import write_segment
from tidings.log.segments import segment_bytes
from tidings.matching.screening import step_screened
from tidings.matching.shard import Shard
from tidings.model.errors import Problem, StaleEpochError, TidingsError
from tidings.spark.exchange import taken
from tidings.spark.failures import STALE, STEP_FAILED
from tidings.spark.rebuilding import rebuilt_shard
from tidings.spark.shard_files import key_of, snapshots_of, store_of
from tidings.spark.shard_store import OpenShard
from tidings.spark.snapshots import write_shard
from tidings.spark.work import Refused, ShardAnswer, Timing, Work, packed, unpacked
from tidings.spark.worker_garbage import set_apart

SCHEMA = pa.schema([("shard", pa.int32()), ("answer", pa.binary())])


def step_of(work: Work) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """The function that Spark calls for each shard with its handle and its chunks."""
    data = packed(work)

    def step(handle: pa.Table, chunks: pa.Table) -> pa.Table:
        return answered(data, handle, chunks)

    return step


def answered(data: bytes, handle: pa.Table, chunks: pa.Table) -> pa.Table:
    """The answer of the shard of a handle to its chunks, as one row."""
    work: Work = unpacked(data, Work)
    shard = int(handle["shard"][0].as_py())
    chunks = chunks.sort_by("chunk")
    blocks = [block_from_bytes(taken(payload.as_buffer())) for payload in chunks["payload"] if payload.is_valid]
    refused = [
        event
        for payload in chunks["refused"]
        if payload.is_valid
        for event in unpacked(payload.as_py(), tuple[Refused, ...])
    ]
    try:
        answer = _answer(work, shard, blocks, tuple(refused))
    except StaleEpochError as error:
        raise RuntimeError(f"{STALE} {error}") from error
    set_apart()
    return pa.table({"shard": [shard], "answer": [packed(answer)]}, schema=SCHEMA)


def _answer(work: Work, shard: int, blocks: list[Block], refused: tuple[Refused, ...]) -> ShardAnswer:
    batch = work.batch
    started = time.perf_counter_ns()

    def rebuild(position: int) -> Shard:
        return rebuilt_shard(work, shard, position)

    # An answer of another epoch may name a file that has been swept since, so it is no answer.
    name = packed((work.epoch, batch))
    with store_of(work).opened(
        key_of(work, shard), work.epoch, position=batch.first, rebuild=rebuild, batch=name
    ) as handle:
        if handle.answered:
            answer: ShardAnswer = replace(unpacked(handle.extra, ShardAnswer), repeated=True)
        else:
            answer = _stepped(work, shard, blocks, refused, handle, started)
        n_subscriptions = int(handle.arrays()["table.state"][COUNT])
        if not work.takes_snapshot:
            return replace(answer, n_subscriptions=n_subscriptions)
        before = time.perf_counter_ns()
        previous = work.snapshot.parts[shard] if work.snapshot is not None else None
        part = write_shard(snapshots_of(work), shard, batch.end, handle.arrays(), handle.standing, previous, work.epoch)
        timing = replace(answer.timing, snapshot_us=(time.perf_counter_ns() - before) // 1000)
        return replace(answer, n_subscriptions=n_subscriptions, part=part, timing=timing)


def _stepped(
    work: Work, shard: int, blocks: list[Block], refused: tuple[Refused, ...], handle: OpenShard, started: int
) -> ShardAnswer:
    batch = work.batch
    opened = time.perf_counter_ns()
    deltas: list[Deltas] = []
    for block in blocks:
        found, problems = _step(handle, block, work.screened)
        deltas += found
        refused += tuple(Refused(position, problem) for position, problem in problems)
    stepped = time.perf_counter_ns()
    data = segment_bytes(shard, work.epoch, batch.first, batch.end, deltas)
    written = write_segment(work.state, work.epoch, shard, batch.first, batch.end, data)
    done = time.perf_counter_ns()
    answer = ShardAnswer(
        answer=written,
        n_events=sum(len(block.op) for block in blocks),
        timing=Timing((opened - started) // 1000, (stepped - opened) // 1000, (done - stepped) // 1000),
        rebuilt=handle.rebuilt if batch.first else "",
        refused=refused,
    )
    handle.advance(batch.end, packed(answer))
    return answer


def _step(handle: OpenShard, block: Block, screened: bool) -> tuple[list[Deltas], list[tuple[int, Problem]]]:
    try:
        return handle.step_by(step_screened, block) if screened else (handle.step(block), [])
    except (TidingsError, OSError, MemoryError):
        raise
    except Exception as error:
        first, last = int(block.position[0]), int(block.position[-1])
        raise RuntimeError(f"{STEP_FAILED} {type(error).__name__}: {error} (events {first} to {last})") from error
