"""What the tasks of a pipeline do, without Spark around them."""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tidings.log.deliveries import Answer, Batch, open_deliveries
from tidings.log.deltas_file import lines_of
from tidings.log.store import EventLog
from tidings.model.events import Configure
from tidings.spark.block_source import read_chunks
from tidings.spark.settings import DEFAULT_METHODS
from tidings.spark.shard_task import answered
from tidings.spark.work import Origin, ShardAnswer, Spread, Work, packed, unpacked

SHARDS: Final = 2


def run_shards(events: Path, folder: Path) -> int:
    """Lines to a log, chunks to shards, their answers to deliveries, and those read; how many deltas.

    In two batches of which the second is screened, so that shards are opened anew, grow and are made from the log.
    """
    path, state = folder / "events.log", str(folder / "state")
    with EventLog.open(path, create=True) as log:
        log.append(events.read_bytes().splitlines())
        end, configuration = log.end, log.configuration or Configure()
    origin, spread = Origin(str(path), configuration), Spread("hash", SHARDS, dict(DEFAULT_METHODS))
    deliveries = open_deliveries(state, create=True)
    epoch = deliveries.claim()
    for batch, aside in ((Batch(0, end // 2), ()), (Batch(end // 2, end), (end,))):
        chunks = pa.Table.from_batches(list(read_chunks(origin, spread, (), batch.first, batch.end)))
        work = Work(origin, spread, state, str(folder / "shards"), "warming", epoch, batch, aside=aside)
        answers = [_answer(work, shard, chunks) for shard in range(SHARDS)]
        deliveries.commit(epoch, batch, answers)
    n = sum(len(lines_of(deltas, None).splitlines()) for deltas in deliveries.read(0))
    first = next((names[0] for deltas in deliveries.read(0) if (names := deltas.subscription.strings())), "")
    list(deliveries.read(0, None, first))
    deliveries.close()
    return n


def _answer(work: Work, shard: int, chunks: pa.Table) -> Answer:
    mine = chunks.filter(pc.equal(chunks["shard"], shard))
    told = answered(packed(work), pa.table({"shard": pa.array([shard], pa.int32())}), mine)
    answer: ShardAnswer = unpacked(told["answer"][0].as_py(), ShardAnswer)
    return answer.answer
