"""Start-up is part of the product: what the help costs, and what a small log costs."""

import os
import re
import subprocess
import sys
import time

import click
import pytest
from click.testing import CliRunner
from tests.unit.cli.conftest import COMMAND, environment

import tidings as package
from tidings.cli.main import COMMANDS, cli

HELP_CPU_S = 0.3
RUN_WALL_S = 2.0
HEAVY = {"numba", "numpy", "pyarrow", "rich", "matplotlib"}


def child_seconds(*arguments: str) -> tuple[float, float]:
    """The CPU time and the wall time of one run."""
    before, start = os.times(), time.monotonic()
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True, env=environment())
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.monotonic() - start


def test_help_costs_less_than_the_budget():
    assert min(child_seconds("--help")[0] for _ in range(3)) < HELP_CPU_S


def test_a_log_of_ten_lines_is_done_within_two_seconds(log, tmp_path):
    arguments = ["run", str(log), "--out", str(tmp_path / "deltas.ndjson")]
    child_seconds(*arguments)
    cpu, wall = min(child_seconds(*arguments) for _ in range(3))
    # On a machine that does more than this test, the CPU time tells.
    assert min(cpu, wall) < RUN_WALL_S


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_imports_nothing_heavy(arguments):
    code = f"""
import sys, atexit
from tidings.cli.main import main
atexit.register(lambda: print('heavy:', *sorted({HEAVY!r} & set(sys.modules))))
main({arguments!r})"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1].split() == ["heavy:"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_and_begins_as_the_list_says(name):
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert (command.help or "").startswith(COMMANDS[name].partition(".")[0].partition(";")[0])
    below = sorted(command.commands) if isinstance(command, click.Group) else []
    told = [CliRunner().invoke(cli, [name, *more, "--help"]).output for more in ([], *([one] for one in below))]
    described = "".join(text.partition("Examples:")[0] for text in told)
    examples = "".join(text.partition("Examples:")[2] for text in told)
    own = re.findall(rf"tidings {name}(?![a-z])[^|\n]*(?:\\\n[^|\n]*)?", examples)
    assert own, examples
    for option in re.findall(r"(?<= )--[a-z][a-z-]+", " ".join(own)):
        assert option in described, option


def test_the_examples_of_the_help_name_real_commands():
    told = CliRunner().invoke(cli, ["--help"]).output
    named = re.findall(r"^  +(?:.*\| )?tidings ([a-z]+)", told, re.MULTILINE)
    assert len(named) >= 4
    assert set(named) <= set(COMMANDS)
    assert package.__version__ in CliRunner().invoke(cli, ["--version"]).output


@pytest.mark.parametrize("arguments", [[], ["bench"]])
def test_without_a_command_the_help_is_told(tidings, arguments):
    ran = tidings(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("Usage:")
    assert "error" not in ran.stderr


def test_a_command_that_is_nearly_right_is_named(tidings):
    ran = tidings("explian")
    assert ran.returncode == 2
    assert "'explain'" in ran.stderr
    assert ran.stdout == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(tidings, shell):
    ran = tidings("completion", shell)
    assert ran.returncode == 0
    assert "_TIDINGS_COMPLETE" in ran.stdout


def test_completion_completes_commands_and_methods(tmp_path):
    def complete(words: str, number: int) -> list[str]:
        asked = {"_TIDINGS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        ran = subprocess.run(COMMAND, capture_output=True, text=True, env=environment() | asked, check=True)
        return [line.partition(",")[2] for line in ran.stdout.splitlines()]

    assert complete("tidings ex", 1) == ["explain"]
    assert {"pyramid", "brute"} <= set(complete("tidings run log --within ", 4))
