"""Blocks from source tasks to shard tasks by files, where both are on one machine.

A row of a few megabytes is copied some eight times on its way through sockets, Java and the shuffle, once more for
every shard. A file that all shards map is written once. The row then says where it is.

Files are in the page cache and live as long as a batch: nothing waits until they are on the disk, and the driver
removes them after the commit. A row whose file is gone fails its task, and the batch runs again from the log.
"""

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from tidings.log.durable_files import file_errors

_IN_FILE: Final = b"TIDFILE\n"
_SUFFIX: Final = ".block"
SMALLEST: Final = 64 << 10
"""Fewer bytes than these travel in their row: a file costs about 0.1 ms."""


def handed_over(data: bytes, folder: str | None) -> bytes:
    """What a row says of a block: where it is, or itself when it is small or there is no folder."""
    if folder is None or len(data) < SMALLEST:
        return data
    path = Path(folder, f"{secrets.token_hex(12)}{_SUFFIX}")
    with file_errors(str(folder)):
        try:
            path.write_bytes(data)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return _IN_FILE + str(path).encode()


def taken(payload: pa.Buffer) -> pa.Buffer:
    """The block of which a row says where it is."""
    row = memoryview(payload)
    if bytes(row[: len(_IN_FILE)]) != _IN_FILE:
        return payload
    path = bytes(row[len(_IN_FILE) :]).decode()
    with pa.memory_map(path, "r") as file:
        return file.read_buffer()


def cleared(folder: str | None) -> None:
    """Remove all files: nobody needs them any more."""
    if folder is None:
        return
    for path in Path(folder).glob(f"*{_SUFFIX}"):
        with suppress(OSError):
            path.unlink()
