"""One shard for a stream: built once on the driver, sent to the executors as a file, mapped by their processes.

The file is named by what is in it. A Python process of an executor maps it when its first batch comes and keeps it, so
that a batch costs nothing but its matching; the processes of one machine share the memory.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidings.columns.block_bytes import block_from_bytes
from tidings.matching.engine import Engine
from tidings.matching.shard import Shard
from tidings.spark.connecting import send_file, sent_file
from tidings.spark.delta_batches import matched_batches
from tidings.spark.matching_tasks import Plan, Registered
from tidings.spark.message_columns import block_of
from tidings.spark.message_rows import checked
from tidings.spark.row_problems import RowProblems
from tidings.words.analyser import Analyser

SHARDS_KEPT: Final = 4
"""So many are kept by a process."""


class StaticMatcher:
    """Rows of messages -> what they match in a shard that does not change."""

    def __init__(self, plan: Plan, file: str) -> None:
        self._plan = plan
        self._file = file

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The pairs of one partition."""
        plan = self._plan
        problems = RowProblems("messages", drops=plan.drops)
        analyser = Analyser(plan.configuration.analyser)
        for batch in batches:
            seen = checked(batch, plan.configuration.space)
            problems.add(seen.problems)
            if seen.good.num_rows and not problems:
                yield from matched_batches(_shard_in(self._file), block_of(seen.good, analyser), plan.positioned)
        problems.raise_all()


def send_shard(session: SparkSession, chunks: DataFrame, plan: Plan) -> str:
    """Build the shard of these chunks of subscriptions and send it to the executors; the name of its file."""
    table = chunks.select("payload").toArrow()
    payloads = sorted(bytes(payload.as_buffer()) for payload in table.column("payload"))
    name = f"tidings-{_digest(payloads, plan)}.shard"
    path = _folder() / name
    if not path.exists():
        engine = Engine(plan.configuration, **plan.methods)
        registered = Registered(engine.shard)
        for payload in payloads:
            registered.add(block_from_bytes(payload))
        registered.check()
        engine.save(path)
    send_file(session, path)
    return name


def _digest(payloads: list[bytes], plan: Plan) -> str:
    digest = blake2b(msgspec.json.encode((plan.configuration, plan.methods)), digest_size=16)
    for payload in payloads:
        digest.update(payload)
    return digest.hexdigest()


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tidings-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=SHARDS_KEPT)
def _shard_in(file: str) -> Shard:
    return Engine.load(sent_file(file)).shard
