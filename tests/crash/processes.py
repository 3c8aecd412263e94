"""Processes of one life of a pipeline: found by the session that they were started in, ended by their ids.

A number may be that of another session later, so all of them have a mark in their environment too.
"""

import os
import signal
from pathlib import Path
from typing import Final, NamedTuple

JVM: Final = "java"
DAEMONS: Final = ("-m tidings.spark.daemon", "-m pyspark.daemon")
READER: Final = "source_runner"
EXECUTOR: Final = "CoarseGrainedExecutorBackend"
_PARENT, _SESSION = 1, 3
_DEAD: Final = ("Z", "X")


class Process(NamedTuple):
    """What `/proc` says about one."""

    id: int
    parent: int
    command: str
    began: str
    """When, in ticks: with its id it tells a process from any other."""


class Session(NamedTuple):
    """What a life's processes have in common."""

    id: int
    mark: str
    """`NAME=value`, as the environment has it."""


def look_at(process: int) -> tuple[Process, int] | None:
    """A living process and its session."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    if fields[0] in _DEAD:
        return None
    return Process(process, int(fields[_PARENT]), command, fields[19]), int(fields[_SESSION])


def members(session: Session) -> list[Process]:
    """Everything alive that was started in a session, whoever its parent is by now."""
    found = (look_at(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return [process for process, its in filter(None, found) if its == session.id and _has(process, session.mark)]


def workers(session: Session) -> list[Process]:
    """The Python workers: what a daemon has forked."""
    found = members(session)
    daemons = {process.id for process in found if _is_daemon(process, found)}
    return [process for process in found if process.parent in daemons]


def daemons(session: Session) -> list[Process]:
    """The processes that Python workers are forked from."""
    found = members(session)
    return [process for process in found if _is_daemon(process, found)]


def named(session: Session, text: str) -> list[Process]:
    """Those with this text in their command line."""
    return [process for process in members(session) if text in process.command]


def jvms(session: Session) -> list[Process]:
    """Java of the driver, without executors."""
    return [
        process
        for process in named(session, JVM)
        if EXECUTOR not in process.command and "SparkSubmit" in process.command
    ]


def send(process: Process, number: int) -> bool:
    """A signal to this very process; False when it is gone."""
    now = look_at(process.id)
    if now is None or now[0].began != process.began:
        return False
    try:
        os.kill(process.id, number)
    except ProcessLookupError:
        return False
    return True


def end(session: Session) -> None:
    """Kill everything of a session; what is forked meanwhile is found at the next look."""
    while found := members(session):
        for process in found:
            send(process, signal.SIGKILL)


def _has(process: Process, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{process.id}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _is_daemon(process: Process, all_: list[Process]) -> bool:
    parent = next((other for other in all_ if other.id == process.parent), None)
    is_python = any(module in process.command for module in DAEMONS)
    return is_python and (parent is None or parent.command != process.command)
