"""Where the state of shards is, for a task: files of this machine, snapshots that all machines reach."""

import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final

from tidings.spark.shard_store import ShardKey, ShardStore
from tidings.spark.snapshots import SnapshotStore
from tidings.spark.work import Origin, Work

_EXECUTOR_FOLDERS: Final = (("LOCAL_DIRS", ","), ("SPARK_EXECUTOR_DIRS", os.pathsep), ("SPARK_LOCAL_DIRS", ","))
"""Where YARN, a standalone worker and Kubernetes say which directories an executor has, and what is between them."""


def key_of(work: Work, shard: int) -> ShardKey:
    """What the shard of a task is."""
    spread, origin = work.spread, work.origin
    name = origin_name(origin, work.state)
    return ShardKey(shard, spread.shards, spread.plan, spread.methods, origin.configuration, name)


def origin_name(origin: Origin, state: str) -> str:
    """Which events and which deliveries files of shards belong to."""
    return f"{origin.log}\n{state}"


def store_of(work: Work) -> ShardStore:
    """The shard files of this machine."""
    return ShardStore(local_folder(work.local), work.session)


def local_folder(local: str | None) -> Path:
    """The folder of shard files. An executor has a directory of its own, which goes when it goes."""
    if local is not None:
        return Path(local)
    for name, separator in _EXECUTOR_FOLDERS:
        folder = os.environ.get(name, "").split(separator)[0]
        if folder:
            return Path(folder, "tidings-shards")
    return Path(tempfile.gettempdir(), "tidings-shards")


def snapshots_of(work: Work) -> SnapshotStore:
    """The snapshots that the state folder has."""
    return _snapshots(snapshots_uri(work.state))


def snapshots_uri(state: str) -> str:
    """Where snapshots are."""
    return f"{state.rstrip('/')}/snapshots"


@lru_cache(maxsize=8)
def _snapshots(uri: str) -> SnapshotStore:
    return SnapshotStore(uri)
