"""Files that are durable before anybody can see them, in a folder on this machine or on another file system.

On this machine a file is written beside its name, made durable (fsync), then renamed, or linked where its name must
not be taken yet, and at last the folder is made durable. Elsewhere the file system has to do all of this itself, and
a name is taken in two steps: looked for, then moved to; two drivers that do so at the same moment may both believe
that they were first, so what was written is read once more.
"""

import errno
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from tidings.model.errors import FileError, Problem

PART: Final = ".part"
"""The end of the name of a file that is being written."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def file_errors(place: str | Path) -> Iterator[None]:
    """What the operating system says about a file, as an error of Tidings."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            hint = "nothing was changed; make room and go on"
            raise FileError(Problem("disk-full", str(place), reason, "room to write", hint)) from error
        raise FileError(
            Problem("file-unreadable", str(place), reason, "a file that can be read and written")
        ) from error


def write_durably(path: Path, data: bytes, *, exclusive: bool = False) -> bool:
    """Write a file in one step. With `exclusive`: only if its name is free; whether it was."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if exclusive:
            os.link(part, path)
        else:
            os.replace(part, path)
        make_durable(path.parent)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True


def make_durable(directory: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, durably."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    make_durable(path.parent)


class Folder(Protocol):
    """A folder of files, one level deep in named folders; names are `folder/name`."""

    place: str

    def make(self, folders: Iterable[str]) -> None:
        """Make the folder and these in it."""
        ...

    def names(self, folder: str) -> list[str]:
        """The files of a folder, in order; none where there is no such folder."""
        ...

    def parts(self, folder: str, older_s: float = 0.0) -> list[str]:
        """What was being written so long ago, and may be still."""
        ...

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes | None:
        """A file or a part of it; None when there is none."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Write a file if its name is free; whether it was."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Write a file, whether there is one or not."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that may be there."""
        ...


class LocalFolder:
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = str(path)

    def make(self, folders: Iterable[str]) -> None:
        """Make the folder and these in it."""
        with file_errors(self.place):
            for folder in folders:
                make_folder(self.path / folder)

    def names(self, folder: str) -> list[str]:
        """The files of a folder, in order; none where there is no such folder."""
        return sorted(entry.name for entry in self._entries(folder) if not entry.name.endswith(PART))

    def parts(self, folder: str, older_s: float = 0.0) -> list[str]:
        """What was being written so long ago, and may be still."""
        before = time.time() - older_s
        found = []
        for entry in self._entries(folder):
            with suppress(FileNotFoundError):
                if entry.name.endswith(PART) and entry.stat().st_mtime <= before:
                    found.append(entry.name)
        return found

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        with file_errors(self.path / folder), suppress(FileNotFoundError), os.scandir(self.path / folder) as entries:
            return list(entries)
        return []

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes | None:
        """A file or a part of it; None when there is none."""
        with file_errors(self.path / name):
            try:
                with (self.path / name).open("rb") as file:
                    file.seek(start)
                    return file.read(-1 if end is None else end - start)
            except FileNotFoundError:
                return None

    def create(self, name: str, data: bytes) -> bool:
        """Write a file if its name is free; whether it was."""
        with file_errors(self.path / name):
            return write_durably(self.path / name, data, exclusive=True)

    def replace(self, name: str, data: bytes) -> None:
        """Write a file, whether there is one or not."""
        with file_errors(self.path / name):
            write_durably(self.path / name, data)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that may be there."""
        for name in names:
            with file_errors(self.path / name):
                (self.path / name).unlink(missing_ok=True)


class DistantFolder:
    """A folder on any file system of `pyarrow.fs`."""

    def __init__(self, system: Any, path: str, place: str) -> None:
        self._system = system
        self._path = path.rstrip("/")
        self.place = place

    def make(self, folders: Iterable[str]) -> None:
        """Make the folder and these in it."""
        with file_errors(self.place):
            for folder in folders:
                self._system.create_dir(f"{self._path}/{folder}", recursive=True)

    def names(self, folder: str) -> list[str]:
        """The files of a folder, in order; none where there is no such folder."""
        return sorted(name for name, _ in self._entries(folder) if not name.endswith(PART))

    def parts(self, folder: str, older_s: float = 0.0) -> list[str]:
        """What was being written so long ago, and may be still."""
        before = time.time() - older_s
        return [name for name, time_s in self._entries(folder) if name.endswith(PART) and time_s <= before]

    def _entries(self, folder: str) -> list[tuple[str, float]]:
        from pyarrow.fs import FileSelector, FileType

        with file_errors(f"{self.place}/{folder}"):
            found = self._system.get_file_info(FileSelector(f"{self._path}/{folder}", allow_not_found=True))
        return [(entry.base_name, (entry.mtime_ns or 0) / 1e9) for entry in found if entry.type == FileType.File]

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes | None:
        """A file or a part of it; None when there is none."""
        if not self._is_there(name):
            return None
        with file_errors(f"{self.place}/{name}"), self._system.open_input_file(f"{self._path}/{name}") as file:
            file.seek(start)
            data: bytes = file.read(None if end is None else end - start)
            return data

    def create(self, name: str, data: bytes) -> bool:
        """Write a file if its name is free; whether it was, as far as can be told."""
        if self._is_there(name):
            return False
        self.replace(name, data)
        return self.read(name) == data

    def replace(self, name: str, data: bytes) -> None:
        """Write a file, whether there is one or not."""
        folder, _, last = name.rpartition("/")
        part = f"{self._path}/{folder}/.{last}.{secrets.token_hex(4)}{PART}"
        with file_errors(f"{self.place}/{name}"):
            with self._system.open_output_stream(part) as file:
                file.write(data)
            self._system.move(part, f"{self._path}/{name}")

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that may be there."""
        for name in names:
            if self._is_there(name):
                with file_errors(f"{self.place}/{name}"):
                    self._system.delete_file(f"{self._path}/{name}")

    def _is_there(self, name: str) -> bool:
        from pyarrow.fs import FileType

        with file_errors(f"{self.place}/{name}"):
            kind = self._system.get_file_info(f"{self._path}/{name}").type
        return bool(kind == FileType.File)


def folder_at(state: str | Path) -> Folder:
    """The folder at a path or URI."""
    if isinstance(state, Path) or "://" not in state:
        return LocalFolder(Path(state))
    from pyarrow.fs import FileSystem, LocalFileSystem

    try:
        with file_errors(state):
            system, path = FileSystem.from_uri(state)
    except ValueError as error:
        raise FileError(Problem("file-unreadable", state, str(error), "a path or a URI that pyarrow knows")) from None
    return LocalFolder(Path(path)) if isinstance(system, LocalFileSystem) else DistantFolder(system, path, state)
