"""Arrays in a file: written in one step, mapped back without reading what is not touched.

    8 bytes   "TIDINGS" and a zero
    4 bytes   the version of this format
    4 bytes   the length of the header that follows
    4 bytes   the CRC-32 of the header
    header    JSON: what the writer wants to remember, and of each array name, dtype, shape, offset and CRC-32
    arrays    each at a multiple of 64 bytes

A file is written beside its name, made durable and renamed, so that a name always holds a whole file. Every byte is
covered by a checksum or must be zero, and all are checked when the file is opened.
"""

import os
import struct
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from tidings.model.errors import FileError, Problem

MAGIC: Final = b"TIDINGS\0"
VERSION: Final = 1
_PREFIX: Final = struct.Struct("<8sIII")
_ALIGNMENT: Final = 64


class SavedArray(msgspec.Struct, frozen=True):
    """Where one array stands."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    checksum: int


class SavedHeader(msgspec.Struct, frozen=True):
    """What stands before the arrays."""

    about: msgspec.Raw
    size: int
    """Of the whole file after the header's own padding."""
    arrays: tuple[SavedArray, ...]


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def save_arrays(path: Path, about: object, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write arrays and what they are about to a file, in one step."""
    offset, listed = 0, []
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        listed.append(
            SavedArray(name, data.dtype.str, data.shape, offset, zlib.crc32(data.reshape(-1).view(np.uint8).data))
        )
        offset = _aligned(offset + data.nbytes)
    header = msgspec.json.encode(SavedHeader(msgspec.Raw(msgspec.json.encode(about)), offset, tuple(listed)))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(_PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header)) + header)
            base = _aligned(file.tell())
            for entry in listed:
                file.write(bytes(base + entry.offset - file.tell()))
                file.write(np.ascontiguousarray(arrays[entry.name]).reshape(-1).view(np.uint8).data)
            file.write(bytes(base + offset - file.tell()))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _make_durable(path.parent)
    except OSError as error:
        raise FileError(Problem("file-unreadable", str(path), str(error), "a place that can be written")) from error
    finally:
        temporary.unlink(missing_ok=True)


def _make_durable(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def map_arrays(path: Path) -> tuple[msgspec.Raw, dict[str, npt.NDArray[Any]]]:
    """What a file is about and its arrays, mapped copy-on-write: they can be changed, the file stays as it is."""
    try:
        with path.open("rb") as file:
            prefix = file.read(_PREFIX.size)
            if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
                raise FileError(Problem("file-format", str(path), "", "a file that Tidings saved"))
            _, version, length, checksum = _PREFIX.unpack(prefix)
            if version != VERSION:
                raise FileError(
                    Problem("file-format", str(path), f"version {version}", f"version {VERSION}", "save it anew")
                )
            raw = file.read(length)
            size = os.fstat(file.fileno()).st_size
        if len(raw) < length or zlib.crc32(raw) != checksum:
            raise _corrupt(path, "its header")
        header = msgspec.json.decode(raw, type=SavedHeader)
        base = _aligned(_PREFIX.size + length)
        if size != base + header.size:
            raise _corrupt(path, f"its length: {size} bytes instead of {base + header.size}")
        whole = np.memmap(path, np.uint8, "c")
    except (OSError, ValueError) as error:
        raise FileError(Problem("file-unreadable", str(path), str(error), "a file that can be read")) from error
    arrays: dict[str, npt.NDArray[Any]] = {}
    end = _PREFIX.size + length
    for entry in header.arrays:
        dtype = np.dtype(entry.dtype)
        start = base + entry.offset
        stop = start + int(np.prod(entry.shape, dtype=np.int64)) * dtype.itemsize
        data = np.asarray(whole[start:stop])
        if zlib.crc32(data.data) != entry.checksum or whole[end:start].any():
            raise _corrupt(path, f"the array {entry.name}")
        arrays[entry.name] = data.view(dtype).reshape(entry.shape)
        end = stop
    if whole[end:].any():
        raise _corrupt(path, "its end")
    return header.about, arrays


def _corrupt(path: Path, what: str) -> FileError:
    return FileError(
        Problem("file-corrupt", str(path), what, "bytes as they were written", "restore it, or make it again")
    )
