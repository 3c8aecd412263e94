"""Snapshots: the state of shards as files in a folder of any file system that pyarrow knows.

A shard's snapshot is one file that names others, so that what did not change is not written again:

    moving     around, best and nearest, and which of the other two it belongs to
    standing   subscriptions, vocabulary, and the index of `within`: changes only when subscriptions do. (What the
               index learns from messages changes its speed and not its answers; an older one of the same
               subscriptions will do.)
    window     the live messages and the weights: equal in all shards that have been through the same blocks

A file's name ends in a digest of its content. So a file is never replaced by another one, and shards with equal
windows write one file, whoever comes first. Files count only when a committed snapshot names them; `remove_unnamed`
removes the others. A name has the epoch of its driver too, and no driver removes what belongs to a newer one: one that
wakes up after another has taken over would else remove what it has never heard of.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs as pafs

from tidings.columns.saved import arrays_in, map_saved, pieces_of, read_header, save_pieces
from tidings.log.deliveries import SnapshotPart
from tidings.log.durable_files import file_errors, make_folder
from tidings.model.errors import FileError, InputError, Problem

_STANDING: Final = ("table", "vocabulary", "within")
_WINDOW: Final = ("window", "weighting")
_NAME: Final = re.compile(r"\.?(?:moving|standing|window)-(\d+)-")
_WHOLE_AT_CLOSE: Final = ("s3", "gcs", "abfs")
"""File systems on which a file is there when it is closed, and renaming is copying."""

Arrays = dict[str, npt.NDArray[Any]]


class ShardSnapshot(NamedTuple):
    """The state of one shard."""

    position: int
    arrays: Arrays


class _MovingAbout(msgspec.Struct, frozen=True):
    """What the file of a shard says beside its own arrays."""

    position: int
    standing: str
    parts: tuple[SnapshotPart, ...]


class SnapshotStore:
    """Files of arrays in a folder."""

    def __init__(self, uri: str | Path) -> None:
        self.uri: Final = str(uri)
        if "://" in self.uri:
            try:
                self._files, self._folder = pafs.FileSystem.from_uri(self.uri)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                expected = "a path or a URI of a file system that is known here"
                raise InputError(Problem("option-invalid", self.uri, str(error), expected)) from error
        else:
            self._files, self._folder = pafs.LocalFileSystem(), str(Path(self.uri).absolute())
        self._is_local: Final = self._files.type_name == "local"

    def write_part(self, name: str, about: object, arrays: Arrays) -> SnapshotPart:
        """Make arrays durable in a file of this name and a digest; nothing is written when it is there already."""
        saved = pieces_of(about, arrays)
        digest = hashlib.blake2b(digest_size=16)
        for piece in saved.pieces:
            digest.update(piece)
        part = SnapshotPart(f"{name}-{digest.hexdigest()}", saved.n_bytes, saved.checksum)
        with self._errors(part.name):
            if not self.holds(part):
                self._write(part.name, saved.pieces)
        return part

    def holds(self, part: SnapshotPart) -> bool:
        """Whether a part is there, by its length."""
        with self._errors(part.name):
            return bool(self._files.get_file_info(self._path(part.name)).size == part.n_bytes)

    def read_part(self, part: SnapshotPart) -> tuple[msgspec.Raw, Arrays]:
        """What a part is about and its arrays, every byte checked. They can be changed; the file stays as it is."""
        if self._is_local:
            header, arrays = map_saved(Path(self._path(part.name)), part.checksum)
            return header.about, arrays
        with self._errors(part.name), self._files.open_input_file(self._path(part.name)) as file:
            whole = np.empty(file.size(), np.uint8)
            if file.readinto(whole.data) != len(whole):
                raise OSError("the file became shorter while it was read")
            file.seek(0)
            header, arrays = arrays_in(whole, cast(BinaryIO, file), self._path(part.name), part.checksum)
        return header.about, arrays

    def about(self, part: SnapshotPart) -> msgspec.Raw:
        """What a part is about, without its arrays."""
        with self._errors(part.name), self._files.open_input_file(self._path(part.name)) as file:
            return read_header(cast(BinaryIO, file), self._path(part.name), part.checksum)[0].about

    def remove_unnamed(self, named: Iterable[SnapshotPart], epoch: int | None = None) -> int:
        """Remove every file but these parts, those that they name and those of an epoch newer than this one; how many.
        Not while anybody of this epoch writes.
        """
        kept = set()
        for part in named:
            kept.add(part.name)
            kept.update(other.name for other in _moving_about(self, part).parts)
        n = 0
        with self._errors(""):
            selector = pafs.FileSelector(self._folder, allow_not_found=True)
            for found in self._files.get_file_info(selector):
                is_newer = epoch is not None and _epoch_of(found.base_name) > epoch
                if found.type == pafs.FileType.File and found.base_name not in kept and not is_newer:
                    self._files.delete_file(found.path)
                    n += 1
        return n

    def _path(self, name: str) -> str:
        return f"{self._folder.rstrip('/')}/{name}"

    def _write(self, name: str, pieces: list[bytes | memoryview]) -> None:
        path = self._path(name)
        if self._is_local:
            make_folder(Path(self._folder))
            save_pieces(Path(path), pieces)
            return
        self._files.create_dir(self._folder)
        at_once = self._files.type_name in _WHOLE_AT_CLOSE
        beside = path if at_once else self._path(f".{name}.{secrets.token_hex(4)}")
        with self._files.open_output_stream(beside) as file:
            for piece in pieces:
                file.write(piece)
        if not at_once:
            self._files.move(beside, path)

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """What pyarrow says about a file, as an error of Tidings."""
        with file_errors(self._path(name)):
            try:
                yield
            except pa.ArrowException as error:
                raise OSError(str(error)) from error


def write_shard(
    store: SnapshotStore,
    shard: int,
    position: int,
    arrays: Arrays,
    standing: str,
    previous: SnapshotPart | None = None,
    epoch: int = 0,
) -> SnapshotPart:
    """Write the state of a shard before the event at a position. `standing` names the state of its subscriptions: when
    that of the previous snapshot has the same name, the same file serves again.
    """
    parts = tuple[SnapshotPart, ...]()
    if previous is not None:
        # A snapshot that cannot be read any more is no reason not to write one.
        with suppress(FileError):
            before = _moving_about(store, previous)
            if before.standing == standing:
                parts = tuple(part for part in before.parts if part.name.startswith("standing") and store.holds(part))
    if not parts:
        parts = (store.write_part(f"standing-{epoch}-{shard:05d}", None, _those_of(arrays, _STANDING)),)
    parts += (store.write_part(f"window-{epoch}", None, _those_of(arrays, _WINDOW)),)
    rest = {name: array for name, array in arrays.items() if _group(name) not in _STANDING + _WINDOW}
    return store.write_part(f"moving-{epoch}-{shard:05d}", _MovingAbout(position, standing, parts), rest)


def read_shard(store: SnapshotStore, part: SnapshotPart) -> ShardSnapshot:
    """The state of a shard from the file that `write_shard` answered with and those that it names."""
    about = _moving_about(store, part)
    arrays: Arrays = {}
    for each in (*about.parts, part):
        arrays.update(store.read_part(each)[1])
    return ShardSnapshot(about.position, arrays)


def _moving_about(store: SnapshotStore, part: SnapshotPart) -> _MovingAbout:
    try:
        return msgspec.json.decode(store.about(part), type=_MovingAbout)
    except msgspec.DecodeError as error:
        raise FileError(Problem("file-format", part.name, str(error), "the snapshot of a shard")) from error


def _epoch_of(name: str) -> int:
    """Whose a file is, or will be when it is whole; -1 for what no snapshot has."""
    found = _NAME.match(name)
    return int(found[1]) if found else -1


def _group(name: str) -> str:
    return name.partition(".")[0]


def _those_of(arrays: Arrays, groups: tuple[str, ...]) -> Arrays:
    return {name: array for name, array in arrays.items() if _group(name) in groups}
