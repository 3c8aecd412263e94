"""The house: what must hold of the repository as a whole, on anybody's machine."""

import ast
import fnmatch
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tidings"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
LOCKS = ["requirements.lock", "requirements-dev.lock"]

# Put together from parts, so that this file passes its own test.
REGISTRY = re.compile(r"pypi\.(?:org|io)|python" + r"hosted|(?<!emit-)index-" + r"url|(?<!emit-)find-" + r"links[ =]")
MACHINE_PATH = re.compile(r"(?<![\w.~$}/])/(?:home|root|Users|work|opt|mnt|srv)/[\w.-]+")
ADDRESS = re.compile(r"(?<![\w.=-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
OWN_ADDRESSES = {"127.0.0.1", "0.0.0.0"}
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}")


def make(*arguments: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Run make as a person would, whether these tests were started by make or not."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=where, capture_output=True, text=True, env=environment)


def ours() -> Iterator[tuple[str, str]]:
    """Every text file that belongs to the repository, by its path: all but what `.gitignore` names."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split()] + [".git"]

    def belongs(name: str) -> bool:
        return not any(fnmatch.fnmatch(name, pattern) for pattern in ignored)

    for folder, folders, names in os.walk(ROOT):
        folders[:] = filter(belongs, folders)
        for path in (Path(folder, name) for name in filter(belongs, names)):
            try:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def test_no_file_names_a_registry_a_machine_or_an_address():
    found, seen = [], set()
    for name, text in ours():
        seen.add(name)
        for number, line in enumerate(text.splitlines(), 1):
            addresses = {
                address
                for address in ADDRESS.findall(line)
                if all(int(part) < 256 for part in address.split(".")) and address not in OWN_ADDRESSES
            }
            mails = [mail for mail in MAIL.findall(line) if "@example." not in mail]
            if REGISTRY.search(line) or MACHINE_PATH.search(line) or addresses or mails:
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert {"Makefile", "LICENSE", "pyproject.toml", "src/tidings/kernels.py", *LOCKS} <= seen
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "bad"),
    [
        (REGISTRY, "files.python" + "hosted.org"),
        (REGISTRY, "--index" + "-url somewhere"),
        (MACHINE_PATH, "see /ho" + "me/somebody/tidings"),
        (ADDRESS, "10.0" + ".0.7:8080"),
        (MAIL, "somebody@" + "mail.net"),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern, bad):
    assert pattern.search(bad)


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_is_exact_and_hashed(name):
    entries = [entry for entry in re.split(r"\n(?=\S)", (ROOT / name).read_text()) if not entry.startswith("#")]
    assert len(entries) > 10
    for entry in entries:
        assert re.match(r"[a-z0-9.-]+==\S+ ", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_lock_files_hold_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    asked = {
        "requirements.lock": [*project["project"]["dependencies"], *groups["build"]],
        "requirements-dev.lock": [*project["project"]["dependencies"], *groups["build"], *groups["dev"]],
    }
    pins = {name: set(re.findall(r"^([a-z0-9.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)) for name in LOCKS}
    for name, requirements in asked.items():
        pinned = {distribution for distribution, _ in pins[name]}
        for requirement in requirements:
            if isinstance(requirement, str):
                assert re.match(r"[\w.-]+", requirement)[0].lower() in pinned, f"{requirement}: run `make lock`"
    assert pins["requirements.lock"] <= pins["requirements-dev.lock"]


def test_every_room_says_its_job_and_imports_nothing():
    assert set(ROOMS) >= {"cli", "columns", "index", "lab", "language", "log", "matching", "model", "space", "words"}
    for room in ROOMS:
        tree = ast.parse((PACKAGE / room / "__init__.py").read_text())
        assert ast.get_docstring(tree), room
        if room in ("spark", "testing"):
            # People import from these two, and get what they ask for when they ask for it.
            imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
            assert imported <= {"importlib", "typing"}, f"{room}/__init__.py imports when it is asked"
        else:
            assert len(tree.body) == 1, f"{room}/__init__.py is its docstring and nothing else"


def test_every_module_can_be_imported_and_says_what_it_is():
    modules = [found.name for found in pkgutil.walk_packages(tidings.__path__, "tidings.")]
    assert len(modules) > len(ROOMS)
    for name in modules:
        assert importlib.import_module(name).__doc__, name


def test_importing_tidings_is_cheap():
    code = "import sys, tidings; print(*sorted({'numba', 'numpy', 'pyarrow', 'pathlib', 'hashlib'} & set(sys.modules)))"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); {code}"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert ran.stdout.split() == []


def test_ci_run_is_make_ci():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1].endswith("exec make ci")


def test_help_lists_every_command():
    told = make("help", where=ROOT).stdout
    listed = re.findall(r"^ *make ([a-z]+) +\S", told, re.MULTILINE)
    phony = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith(".PHONY:"))
    assert sorted(listed) == sorted(set(phony.split()[1:]) - {"always"})
    assert {"setup", "demo", "test", "lint", "type", "bench", "docs", "ci", "help"} <= set(listed)


@pytest.mark.parametrize("python", ["", "#!/bin/sh\nexit 1\n"])
def test_without_a_python_that_will_do_setup_says_so_in_one_sentence(tmp_path, python):
    for name in ["Makefile", "pyproject.toml", *LOCKS]:
        (tmp_path / name).symlink_to(ROOT / name)
    candidate = tmp_path / "python-of-another-time"
    if python:
        candidate.write_text(python)
        candidate.chmod(0o755)
    ran = make("setup", f"PYTHON={candidate}", where=tmp_path)
    said = [line for line in ran.stderr.splitlines() if not line.startswith("make")]
    assert ran.returncode != 0
    assert len(said) == 1
    assert said[0].startswith("Tidings needs Python 3.11")
    assert not (tmp_path / ".venv").exists()


def test_without_ensurepip_setup_says_so_in_one_sentence(tmp_path):
    for name in ["Makefile", "pyproject.toml", *LOCKS]:
        (tmp_path / name).symlink_to(ROOT / name)
    bare = tmp_path / "bare-python"
    bare.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n')
    bare.chmod(0o755)
    ran = make("setup", f"PYTHON={bare}", where=tmp_path)
    said = [line for line in ran.stderr.splitlines() if not line.startswith("make")]
    assert ran.returncode != 0
    assert len(said) == 1
    assert "ensurepip" in said[0]
    assert not (tmp_path / ".venv").exists()


def test_the_seed_is_printed_and_taken(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text("def test_it(seed):\n    assert seed == 0\n")

    def run(seed: str, workers: int = 0) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", str(workers), str(tmp_path)]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        environment["TIDINGS_SEED"] = seed
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
        return ran.stdout + ran.stderr

    assert "1 passed" in run("0")
    failed = run("77", workers=1)
    assert "seed: 77" in failed
    assert "TIDINGS_SEED=77 test_it.py::test_it" in failed
    assert "1 failed" in run("fresh")
    assert "whole number" in run("many")
