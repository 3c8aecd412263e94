"""The state of shards in files of this machine: a cache that is trusted or thrown away, never repaired.

Any process may step any shard: it takes the shard's lock, maps its file and steps in place. A file counts only when it
is clean, of this session of the driver and this boot of the machine, for the same subscriptions and methods, and
exactly where the batch begins. One that is exactly where the batch ends, for the same batch, gives back what was
remembered with it. A file of another session counts when it was sealed and its contents are those that were sealed.
Everything else is made anew by the function that `opened` is given.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from tidings.columns import block as b
from tidings.columns.block import Block
from tidings.columns.deltas import Deltas
from tidings.columns.mapped import MappedArrays, boot_id
from tidings.columns.regions import Array
from tidings.log.durable_files import file_errors
from tidings.matching.shard import Shard
from tidings.model.errors import FileError, Problem, StaleEpochError
from tidings.model.events import Configure
from tidings.spark.file_lock import locked

T = TypeVar("T")

WAIT_S: Final = 60.0
"""So long a task waits for another that has the shard."""
_CHANGES_STANDING: Final = np.array([b.REGISTER, b.REPLACE, b.MOVE, b.REMOVE], np.uint8)
_SUFFIX: Final = ".shard"


class ShardKey(msgspec.Struct, frozen=True):
    """What a shard is; state of anything else is not its state."""

    shard: int
    n_shards: int
    plan: str
    methods: dict[str, str]
    configuration: Configure
    origin: str = ""
    """The log and the deliveries it belongs to. Epochs are compared, and files trusted, only within one origin."""

    def digest(self) -> str:
        """The same for equal keys."""
        return hashlib.sha256(msgspec.msgpack.encode(self, order="deterministic")).hexdigest()


class _About(msgspec.Struct, frozen=True, array_like=True):
    """What a file remembers beside the arrays."""

    key: str
    origin: str
    epoch: int
    position: int
    first: int
    """Where the last batch began,"""
    batch: bytes
    """which batch that was,"""
    extra: bytes
    """and what was to be remembered of it."""
    standing: str
    """Names what is in the table of subscriptions: equal only when that is equal."""


class _Kept(NamedTuple):
    """A file that this process has mapped, and the shard over it; as good as the file when nobody else changed it."""

    mapped: MappedArrays
    shard: Shard | None
    times_dirty: int
    n_bytes: int

    def holds(self) -> bool:
        """Whether the file is as it was left; of one that was cut, part of the last page would read as zeros."""
        mapped = self.mapped
        return (
            mapped.is_at_its_path()
            and _size_of(mapped.path) == self.n_bytes
            and mapped.clean
            and mapped.times_dirty == self.times_dirty
        )


_kept: Final[dict[Path, _Kept]] = {}
"""By path, what this process stepped last. Its entries are taken out while they are in use."""


class OpenShard:
    """A shard under its lock, at a position. `shard` and `step` change it; `advance` says that the change is whole."""

    def __init__(
        self,
        key: ShardKey,
        mapped: MappedArrays,
        shard: Shard | None,
        about: _About,
        batch: bytes,
        *,
        rebuilt: str = "",
        answered: bool = False,
    ) -> None:
        self.rebuilt: Final = rebuilt
        """Why the file was made anew; the empty string when it was there."""
        self.answered: Final = answered
        """Whether the shard has stepped over this batch already; `extra` is what was remembered then."""
        self._key: Final = key
        self._mapped: Final = mapped
        self._shard = shard
        self._about = about
        self._batch: Final = batch
        self._stands = True

    @property
    def position(self) -> int:
        """Where the shard stands: the position of the next event."""
        return self._about.position

    @property
    def extra(self) -> bytes:
        """What was remembered with the last batch."""
        return self._about.extra

    @property
    def standing(self) -> str:
        """Names the subscriptions' part of the state: as long as it is the same, so is that part."""
        return self._about.standing

    @property
    def shard(self) -> Shard:
        """The state, to be changed: the file is dirty from now on until `advance`."""
        self._stands = False
        return self._changing()

    def step(self, block: Block) -> list[Deltas]:
        """Replay a block."""
        return self.step_by(Shard.step, block)

    def step_by(self, step: Callable[[Shard, Block], T], block: Block) -> T:
        """Replay a block in another way than `Shard.step`."""
        shard = self._changing()
        self._stands = self._stands and not bool(np.isin(block.op, _CHANGES_STANDING).any())
        return step(shard, block)

    def arrays(self) -> dict[str, Array]:
        """The state to be read, as of the last `advance`; valid while the lock is held."""
        if not self._mapped.clean:
            raise ValueError("the shard is in the middle of a step")
        return self._mapped.arrays

    def advance(self, position: int, extra: bytes = b"") -> None:
        """The shard is whole and stands at this position; what to remember of the batch.

        FileError when there is no room: the file is then made anew by whoever comes next.
        """
        about = msgspec.structs.replace(
            self._about,
            position=position,
            first=self._about.position,
            batch=self._batch,
            extra=extra,
            standing=self._about.standing if self._stands else _standing(position),
        )
        with file_errors(str(self._mapped.path)):
            self._mapped.mark_dirty()
            if self._shard is not None and self._mapped.absorb(self._shard.arrays()):
                self._shard = _shard_of(self._key, self._mapped)
            self._mapped.mark_clean(msgspec.msgpack.encode(about))
        self._about, self._stands = about, True

    def _changing(self) -> Shard:
        if self.answered:
            raise ValueError("this batch has been answered already")
        if self._shard is None:
            self._shard = _shard_of(self._key, self._mapped)
        self._mapped.mark_dirty()
        return self._shard

    def _leave(self) -> None:
        _keep(self._mapped, self._shard)


class ShardStore:
    """The shard files in a folder of this machine, for one session of a driver."""

    def __init__(self, local: Path, session: str, boot: str | None = None, *, wait_s: float = WAIT_S) -> None:
        self._local: Final = local
        self._session: Final = session
        self._boot: Final = boot_id() if boot is None else boot
        self._wait_s: Final = wait_s

    def path_of(self, shard: int, origin: str = "") -> Path:
        """The file of a shard. What is of different origin lies in different folders and does not meet."""
        folder = hashlib.sha256(origin.encode()).hexdigest()[:16]
        return self._local / folder / f"{shard:05d}{_SUFFIX}"

    @contextmanager
    def opened(
        self, key: ShardKey, epoch: int, *, position: int, rebuild: Callable[[int], Shard], batch: bytes = b""
    ) -> Iterator[OpenShard]:
        """The shard at a position, under its lock. `batch` names the batch that is about to be stepped over: a file
        that has done just that is given as `answered`. `rebuild` is called for a file that does not count.

        StaleEpochError when a newer epoch has been here, FileError when the lock does not come or there is no room.
        """
        path = self.path_of(key.shard, key.origin)
        with file_errors(str(path.parent)):
            path.parent.mkdir(parents=True, exist_ok=True)
        with locked(_lock_of(path), self._wait_s):
            _forget_changed()
            handle = self._open(path, key, epoch, position, rebuild, batch)
            try:
                yield handle
            finally:
                handle._leave()

    def seal_all(self) -> int:
        """Give every clean file of this session a checksum, by which the next session trusts it; how many have one."""
        n = 0
        for path in sorted(self._local.glob(f"*/*{_SUFFIX}")):
            with locked(_lock_of(path), self._wait_s):
                mapped, shard = _taken(path)
                if mapped is None:
                    continue
                if mapped.clean and self._is_ours(mapped):
                    mapped.seal()
                    n += 1
                _keep(mapped, shard)
        return n

    def discard_from(self, shard: int, origin: str = "") -> None:
        """Remove the files of this shard and of all after it: there are fewer shards now."""
        for path in self.path_of(shard, origin).parent.glob(f"*{_SUFFIX}"):
            if path.stem.isdigit() and int(path.stem) >= shard:
                with locked(_lock_of(path), self._wait_s):
                    path.unlink(missing_ok=True)

    def _is_ours(self, mapped: MappedArrays) -> bool:
        return mapped.session == self._session and mapped.boot == self._boot

    def _open(
        self,
        path: Path,
        key: ShardKey,
        epoch: int,
        position: int,
        rebuild: Callable[[int], Shard],
        batch: bytes,
    ) -> OpenShard:
        mapped, shard = _taken(path)
        about = None if mapped is None else _about_of(mapped)
        if mapped is not None and about is not None and about.origin == key.origin and about.epoch > epoch:
            _keep(mapped, shard)
            hint = "another driver has taken over, and this one has to stop"
            raise StaleEpochError(Problem("stale-epoch", str(path), f"epoch {epoch}", f"epoch {about.epoch}", hint))
        digest = key.digest()
        answered = about is not None and batch != b"" and (about.first, about.batch) == (position, batch)
        against = self._against(mapped, about, digest, None if answered else position)
        if mapped is None or about is None or against:
            if mapped is not None:
                mapped.close()
            return self._made_anew(path, key, digest, epoch, position, rebuild(position), batch, against)
        if about.epoch != epoch or not self._is_ours(mapped):
            mapped.session, mapped.boot = self._session, self._boot
            about = msgspec.structs.replace(about, epoch=epoch)
            with file_errors(str(path)):
                mapped.mark_clean(msgspec.msgpack.encode(about))
        return OpenShard(key, mapped, shard, about, batch, answered=answered)

    def _against(self, mapped: MappedArrays | None, about: _About | None, digest: str, position: int | None) -> str:
        """Why a file does not count; the empty string when it does. No position: the one where it stands is right."""
        if mapped is None:
            return "missing or damaged"
        if not mapped.clean:
            return "left in the middle of a step"
        if about is None or about.key != digest:
            return "of another plan, configuration, method or log"
        if position is not None and about.position != position:
            return f"at position {about.position} instead of {position}"
        if not self._is_ours(mapped):
            if not mapped.sealed:
                return "of another session, and not sealed"
            if not mapped.verify():
                return "of another session, and not as it was sealed"
        return ""

    def _made_anew(
        self,
        path: Path,
        key: ShardKey,
        digest: str,
        epoch: int,
        position: int,
        shard: Shard,
        batch: bytes,
        against: str,
    ) -> OpenShard:
        about = _About(digest, key.origin, epoch, position, -1, b"", b"", _standing(position))
        with file_errors(str(path)):
            # There may be room for one of them only.
            path.unlink(missing_ok=True)
            mapped = MappedArrays.create(
                path, msgspec.msgpack.encode(about), shard.arrays(), session=self._session, boot=self._boot
            )
        return OpenShard(key, mapped, _shard_of(key, mapped), about, batch, rebuilt=against)


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


def _shard_of(key: ShardKey, mapped: MappedArrays) -> Shard:
    return Shard.from_arrays(key.configuration, key.methods, mapped.arrays)


def _standing(position: int) -> str:
    """A new name: where in the log, and which of the layouts that the same subscriptions can have."""
    return f"{position}-{secrets.token_hex(8)}"


def _about_of(mapped: MappedArrays) -> _About | None:
    try:
        return msgspec.msgpack.decode(mapped.about, type=_About)
    except msgspec.DecodeError:
        return None


def _taken(path: Path) -> tuple[MappedArrays | None, Shard | None]:
    """The file of a path, and the shard over it if this process was the last to step it; under the lock."""
    kept = _kept.pop(path, None)
    if kept is not None:
        if kept.holds():
            return kept.mapped, kept.shard
        kept.mapped.close()
    try:
        return MappedArrays.open(path), None
    except FileError:
        return None, None


def _keep(mapped: MappedArrays, shard: Shard | None) -> None:
    """Keep what is whole for this process's next time; let go of anything else."""
    if mapped.clean:
        _kept[mapped.path] = _Kept(mapped, shard, mapped.times_dirty, _size_of(mapped.path))
    else:
        mapped.close()


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _forget_changed() -> None:
    """Let go of what others have changed since: a file that was replaced takes up its disk until nobody maps it."""
    for path in list(_kept):
        kept = _kept.pop(path, None)
        # Taken out while it is looked at, since another thread may want it; then that one has the newer.
        if kept is not None and not (kept.holds() and _kept.setdefault(path, kept) is kept):
            kept.mapped.close()
