"""Arrays in a file: written in one step, mapped back without reading what is not touched.

    8 bytes   "TIDINGS" and a zero
    4 bytes   the version of this format
    4 bytes   the length of the header that follows
    4 bytes   the CRC-32 of the header
    header    JSON: what the writer wants to remember, and of each array name, dtype, shape, offset and CRC-32
    arrays    each at a multiple of 64 bytes

A file is written beside its name, made durable and renamed, so that a name always holds a whole file. Every byte is
covered by a checksum or must be zero, and all are checked when the file is opened. Where there is no name to rename
(an object store), the same bytes go out as `pieces_of` gives them and come back through `arrays_in`.
"""

import os
import secrets
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

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


class Pieces(NamedTuple):
    """What a file consists of, one piece after the other."""

    pieces: list[bytes | memoryview]
    n_bytes: int
    checksum: int
    """The CRC-32 of the header, which holds those of the arrays."""


def pieces_of(about: object, arrays: dict[str, npt.NDArray[Any]]) -> Pieces:
    """The bytes of a file of these arrays; nothing is copied that is contiguous."""
    offset, listed, contents = 0, [], []
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        contents.append(data.reshape(-1).view(np.uint8).data)
        listed.append(SavedArray(name, data.dtype.str, data.shape, offset, zlib.crc32(contents[-1])))
        offset = _aligned(offset + data.nbytes)
    header = msgspec.json.encode(SavedHeader(msgspec.Raw(msgspec.json.encode(about)), offset, tuple(listed)))
    checksum = zlib.crc32(header)
    pieces: list[bytes | memoryview] = [_PREFIX.pack(MAGIC, VERSION, len(header), checksum) + header]
    end = len(pieces[0])
    base = _aligned(end)
    for entry, content in zip(listed, contents, strict=True):
        pieces += [bytes(base + entry.offset - end), content]
        end = base + entry.offset + len(content)
    pieces.append(bytes(base + offset - end))
    return Pieces(pieces, base + offset, checksum)


def save_arrays(path: Path, about: object, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write arrays and what they are about to a file, in one step."""
    try:
        save_pieces(path, pieces_of(about, arrays).pieces)
    except OSError as error:
        raise FileError(Problem("file-unreadable", str(path), str(error), "a place that can be written")) from error


def save_pieces(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file beside its name, make it durable and rename it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _make_durable(path.parent)
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
    header, arrays = map_saved(path)
    return header.about, arrays


def map_saved(path: Path, checksum: int | None = None) -> tuple[SavedHeader, dict[str, npt.NDArray[Any]]]:
    """The header of a file and its arrays, mapped copy-on-write. With a checksum: only of the file that has it."""
    try:
        with path.open("rb") as file:
            header, base, end = read_header(file, str(path), checksum)
        whole = np.memmap(path, np.uint8, "c")
    except (OSError, ValueError) as error:
        raise FileError(Problem("file-unreadable", str(path), str(error), "a file that can be read")) from error
    return header, _arrays_in(np.asarray(whole), str(path), header, base, end)


def arrays_in(
    whole: npt.NDArray[np.uint8], stream: BinaryIO, place: str, checksum: int
) -> tuple[SavedHeader, dict[str, npt.NDArray[Any]]]:
    """The header of a file that was read into memory, and its arrays there; `stream` gives the same bytes."""
    header, base, end = read_header(stream, place, checksum)
    return header, _arrays_in(whole, place, header, base, end)


def read_header(stream: BinaryIO, place: str, expected: int | None = None) -> tuple[SavedHeader, int, int]:
    """The header, where the arrays begin, and where it ends itself."""
    prefix = stream.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise FileError(Problem("file-format", place, "", "a file that Tidings saved"))
    _, version, length, checksum = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise FileError(Problem("file-format", place, f"version {version}", f"version {VERSION}", "save it anew"))
    raw = stream.read(length)
    if len(raw) < length or zlib.crc32(raw) != checksum:
        raise _corrupt(place, "its header")
    if expected not in (None, checksum):
        raise _corrupt(place, f"its checksum: {checksum:08x} instead of {expected:08x}")
    end = _PREFIX.size + length
    return msgspec.json.decode(raw, type=SavedHeader), _aligned(end), end


def _arrays_in(
    whole: npt.NDArray[np.uint8], place: str, header: SavedHeader, base: int, end: int
) -> dict[str, npt.NDArray[Any]]:
    if len(whole) != base + header.size:
        raise _corrupt(place, f"its length: {len(whole)} bytes instead of {base + header.size}")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for entry in header.arrays:
        dtype = np.dtype(entry.dtype)
        start = base + entry.offset
        stop = start + int(np.prod(entry.shape, dtype=np.int64)) * dtype.itemsize
        data = whole[start:stop]
        if zlib.crc32(data.data) != entry.checksum or whole[end:start].any():
            raise _corrupt(place, f"the array {entry.name}")
        arrays[entry.name] = data.view(dtype).reshape(entry.shape)
        end = stop
    if whole[end:].any():
        raise _corrupt(place, "its end")
    return arrays


def _corrupt(place: str, what: str) -> FileError:
    return FileError(Problem("file-corrupt", place, what, "bytes as they were written", "restore it, or make it again"))
