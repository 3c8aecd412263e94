"""Files that are there whole or not at all."""

import errno
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa

from tidings.model.errors import FileError, Problem

STANDARD: Final = "-"
"""The name of standard input and output."""
SPOOLED_BYTES: Final = 16 << 20
"""An answer for standard output is kept in memory up to this size, and beyond it in a temporary file."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write says when the place cannot take more."""
_COMPRESSIONS: Final = {".gz": "gzip", ".zst": "zstd"}


def suffix_of(path: str | Path) -> tuple[str, str | None]:
    """The suffix that says the format, in small letters, and the compression around it, if any."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    return (suffixes[-1] if suffixes else ""), compression


@contextmanager
def whole_file(path: str | Path, *, streaming: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when the block ends well and never existed when it does not.

    It is written beside its final place and renamed. `-` is standard output: it gets everything at the end, or with
    `streaming` at once. A name that ends in `.gz` or `.zst` is compressed.
    """
    if str(path) == STANDARD:
        with _standard_output(streaming) as file:
            yield file
        return
    target = Path(path)
    if target.exists() and not target.is_file():
        # A pipe or a device cannot be replaced; it takes the bytes as they come.
        with _reported(path), target.open("wb") as file:
            yield file
        return
    target = target.resolve()
    name = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    with _reported(path):
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        with pa.output_stream(str(name), compression=suffix_of(target)[1]) as file:
            yield cast(BinaryIO, file)
        with _reported(path):
            _sync(name)
            os.replace(name, target)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _unwritable(path, error) from None
        raise


@contextmanager
def _standard_output(streaming: bool) -> Iterator[BinaryIO]:
    if streaming:
        yield sys.stdout.buffer
    else:
        with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as spool:
            yield cast(BinaryIO, spool)
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout.buffer)
    sys.stdout.buffer.flush()


@contextmanager
def _reported(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError) -> FileError:
    return FileError(Problem("file-unreadable", str(path), error.strerror or str(error), "a file to write"))


def _sync(name: Path) -> None:
    handle = os.open(name, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
