"""What `doctor` looks at."""

import inspect
import os
import platform
import re
import stat
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

from msgspec import Struct

import tidings
from tidings import kernels
from tidings.cli.options import KINDS, registry
from tidings.lab.report import this_machine
from tidings.matching.engine import Engine
from tidings.model.errors import FileError
from tidings.spark.java import find_java

DISTRIBUTIONS: Final = ("numba", "llvmlite", "numpy", "pyarrow", "msgspec", "regex", "click", "rich")
LITTLE_MEMORY: Final = 2 << 30
LITTLE_SPACE: Final = 256 << 20
"""Compiled kernels take some 20 MB per version."""


class Fix(Struct, frozen=True):
    """Something that is not as it should be, and what to do."""

    what: str
    how: str


class Examination(Struct, frozen=True):
    """What was found."""

    facts: dict[str, list[str]]
    fix: list[Fix]


def examine() -> Examination:
    """Look at everything."""
    directory, machine = kernels.cache_directory(), this_machine()
    versions = [f"{name} {metadata.version(name)}" for name in DISTRIBUTIONS]
    spark, unfit = _spark()
    facts = {
        "tidings": [f"{tidings.__version__} in {Path(tidings.__file__).parent}"],
        "python": [f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"],
        "machine": [f"{machine.cpu}, {machine.cores} cores, {_memory() / 2**30:.1f} GiB", platform.platform()],
        "methods": [_methods(kind) for kind in KINDS],
        "packages": [", ".join(versions[:4]), ", ".join(versions[4:])],
        "spark": spark,
        "kernels": [str(directory), _state(directory), f"{n_compiled()} of {n_kernels()} compiled"],
    }
    return Examination(facts, unfit + _fixes(directory))


def n_kernels() -> int:
    """Kernels in the sources."""
    package = Path(tidings.__file__).parent
    files = [file for room in kernels.ROOMS for file in (package / room).rglob("*.py")]
    return sum(len(re.findall(r"^@njit\(", file.read_text(encoding="utf-8"), re.MULTILINE)) for file in files)


def n_compiled() -> int:
    """Kernels that have been compiled, for whatever types."""
    return sum(1 for _ in kernels.cache_directory().rglob("*.nbi"))


def _fixes(directory: Path) -> list[Fix]:
    fixes: list[Fix] = []
    if os.environ.get(kernels.OURS) != os.environ.get(kernels.VARIABLE):
        how = f"Unset {kernels.VARIABLE}, or set TIDINGS_CACHE instead: it tells apart the versions of the kernels."
        fixes.append(Fix(f"{kernels.VARIABLE} is set, so kernels of another version may be run", how))
    elif directory.parent.name.startswith("tidings-"):
        how = "Set TIDINGS_CACHE to a directory of your own that nobody else can write to."
        fixes.append(Fix("Kernels are kept for one process only and compiled every time", how))
    elif not n_compiled():
        fixes.append(
            Fix("No kernel is compiled yet; the first commands will take long", "Run `tidings doctor --warm`.")
        )
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        fixes.append(Fix("NUMBA_DISABLE_JIT is set, so everything runs a hundred times slower", "Unset it."))
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        fixes.append(Fix("This Python is not one that Tidings is tested with", "Use Python 3.11 to 3.14."))
    if 0 < _memory() < LITTLE_MEMORY:
        how = "Keep windows and logs small: a million subscriptions take 150 MB, a million live messages 300 MB."
        fixes.append(Fix("There is little memory", how))
    state = os.statvfs(directory)
    if state.f_bavail * state.f_frsize < LITTLE_SPACE:
        fixes.append(Fix(f"There is little space left at {directory}", "Make room, or set TIDINGS_CACHE."))
    if sys.getfilesystemencoding().lower() != "utf-8":
        fixes.append(Fix(f"File names are {sys.getfilesystemencoding()} here", "Set LANG=C.UTF-8."))
    return fixes


def _spark() -> tuple[list[str], list[Fix]]:
    """What there is to run a pipeline on Spark with; who has not asked for Spark has nothing to fix."""
    try:
        facts = [f"pyspark {metadata.version('pyspark')}, pandas {metadata.version('pandas')}"]
    except metadata.PackageNotFoundError as error:
        return [f"{error.name} is not installed (python -m pip install 'tidings[spark]')"], []
    try:
        java = find_java()
    except FileError as error:
        problem = error.problems[0]
        return [*facts, f"Java: {problem.found}"], [Fix("Spark has no Java to run on", problem.hint)]
    return [*facts, f"Java {java.version} in {java.home}, found by way of {java.origin}"], []


def _methods(kind: str) -> str:
    """The methods of a kind; first the one that is taken when none is named."""
    default = inspect.signature(Engine).parameters[kind].default
    others = sorted(set(registry(kind)) - {default})
    return f"{kind}: {', '.join([f'{default} (default)', *others])}"


def _state(directory: Path) -> str:
    """Owner, mode and size of the directory of kernels."""
    import pwd

    state = directory.stat()
    try:
        owner = pwd.getpwuid(state.st_uid).pw_name
    except KeyError:
        owner = str(state.st_uid)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return f"of {owner}, {stat.filemode(state.st_mode)}, {size / 2**20:.1f} MiB"


def _memory() -> int:
    """Bytes of memory, 0 when the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
