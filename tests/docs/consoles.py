"""Running the commands of a `console` block as a person would type them, and comparing what they say."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_TIMES = re.compile(r"\d[\d,.]* (?:s|ms|µs|events/s)\b")
_END = "\x1eend of command\x1e"
_DEADLINE_S = 120


class Command(NamedTuple):
    """What is typed, and what is said to it."""

    typed: str
    said: str


def commands_of(body: str) -> list[Command]:
    """The commands of a block; a line that begins with `> ` goes on with the one before it."""
    commands: list[Command] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], ""))
        elif not commands:
            raise ValueError(f"a console block begins with a command, not with {line!r}")
        elif line.startswith("> ") and not commands[-1].said:
            commands[-1] = commands[-1]._replace(typed=f"{commands[-1].typed}\n{line[2:]}")
        else:
            commands[-1] = commands[-1]._replace(said=f"{commands[-1].said}{line}\n")
    return commands


def run(commands: list[Command], where: Path) -> list[str]:
    """What each command says, in one shell, so that `$?` and variables hold from one to the next."""
    script = "".join(f"{command.typed}\nstatus=$?; printf '{_END}'; (exit $status)\n" for command in commands)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=where,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env=environment,
        timeout=_DEADLINE_S,
    )
    return ran.stdout.decode().split(_END)[: len(commands)]


def difference(wanted: str, got: str) -> str | None:
    """How what was said differs from what was told: `...` stands for anything, and a time for any other."""
    wanted, got = (_TIMES.sub("# s", _trimmed(text)) for text in (wanted, got))
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS
    if checker.check_output(wanted, got, flags):
        return None
    return checker.output_difference(doctest.Example("", wanted), got, flags | doctest.REPORT_NDIFF)


def _trimmed(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)
