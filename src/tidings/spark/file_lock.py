"""A lock that one process of a machine has at a time, and that a killed process gives back by dying."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tidings.model.errors import FileError, Problem

_LONGEST_NAP_S: Final = 0.05


@contextmanager
def locked(path: Path, wait_s: float) -> Iterator[None]:
    """Hold the lock of a file that is only there for it; FileError, with the holder, when it does not come in time.

    Nobody here ever removes the file. Where somebody else does, whoever waited for it begins again with the new one:
    the lock of a file without a name keeps nobody out.
    """
    deadline = time.monotonic() + wait_s
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _wait(path, descriptor, deadline, wait_s)
            if _is_at(path, descriptor):
                # Of a fixed length, so that whoever reads it while it is written sees digits.
                os.pwrite(descriptor, b"%10d\n" % os.getpid(), 0)
                try:
                    yield
                finally:
                    # A child that was forked meanwhile has the descriptor too; unlocking is for both.
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                return
        finally:
            os.close(descriptor)


def _wait(path: Path, descriptor: int, deadline: float, wait_s: float) -> None:
    nap = 0.001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise _busy(path, descriptor, wait_s) from None
            time.sleep(nap)
            nap = min(2 * nap, _LONGEST_NAP_S)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _busy(path: Path, descriptor: int, wait_s: float) -> FileError:
    holder = os.pread(descriptor, 10, 0).decode("ascii", "replace").strip() or "unknown"
    hint = "is another pipeline at work with the same folder, or does its process hang?"
    return FileError(Problem("log-busy", str(path), f"held by process {holder}", f"free within {wait_s:g} s", hint))
