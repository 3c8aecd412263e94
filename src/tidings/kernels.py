"""Where compiled kernels live: a directory of this user's own, one per state of the kernels' sources.

Numba looks at the file of a kernel, not at the files of the kernels which it calls, so it would go on running the
machine code of a callee that has changed since. Here the name of the directory covers every kernel source, the
interpreter and the compiler: when one of them changes, a new directory begins empty.

Compiled kernels are loaded as code. A directory that somebody else can write is therefore never used.

`import tidings` runs `prepare`, so it has to be quick (measured: 1 ms): neither Numba nor NumPy are imported, nor what
takes longer to import than all of this takes to run (typing 7 ms, pathlib 7 ms, hashlib 2 ms).
"""

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

ROOMS = ("columns", "index", "matching", "space", "spread", "words")
"""The rooms with kernels in them."""

COMPILER = ("llvmlite", "numba", "numpy")
"""The distributions whose versions decide what compiled code looks like."""

KEPT = 4
"""So many directories are kept, those used last: switching between a few versions does not compile again."""

VARIABLE = "NUMBA_CACHE_DIR"
"""What Numba reads when it is imported."""

OURS = "TIDINGS_KERNELS"
"""Holds what `prepare` set, so that a child process can tell it from what the user set."""

_PRIME = 2**89 - 1
_PREFIX = "kernels-"


def cache_directory() -> "Path":
    """The directory that this process compiles into, the one it began with: sources may change while it runs."""
    from pathlib import Path

    if not os.environ.get(VARIABLE):
        prepare()
    return Path(os.environ[VARIABLE])


def prepare() -> None:
    """Tell Numba where to compile into, whether it is imported already or not; what the user has set stays."""
    current = os.environ.get(VARIABLE)
    if current and current != os.environ.get(OURS):
        return
    name = _PREFIX + fingerprint()
    if current and os.path.basename(current) == name and _is_private(current):
        return
    directory = _usable(_base(), name)
    os.environ[VARIABLE] = os.environ[OURS] = directory
    settings = sys.modules.get("numba.core.config")
    if settings is not None:
        vars(settings)["CACHE_DIR"] = directory


def fingerprint() -> str:
    """A short name for the state of everything that compiled code depends on."""
    lines = [sys.version, str(sys.implementation.cache_tag), *_compiler(), *_sources(os.path.dirname(__file__))]
    # The remainder of a long number by a prime is as good as a checksum of 89 bits, and needs no import.
    return f"{int.from_bytes(chr(10).join(lines).encode(errors='surrogateescape')) % _PRIME:023x}"


def _compiler() -> list[str]:
    """What is installed of `COMPILER`, read from the names of the metadata directories: nothing is imported."""
    found: dict[str, str] = {}
    for entry in sys.path:
        try:
            names = os.listdir(entry or os.curdir)
        except OSError:
            continue
        for name in names:
            distribution = name.partition("-")[0]
            if distribution in COMPILER and name.endswith(".dist-info"):
                found.setdefault(distribution, name)
    return sorted(found.values())


def _sources(package: str) -> list[str]:
    """Path, size and time of every kernel source, and of the file that states the version of Tidings."""
    paths = [os.path.join(package, "__init__.py")]
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(package, room)):
            paths += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    states = [(path, os.stat(path)) for path in sorted(paths)]
    return [f"{path} {state.st_size} {state.st_mtime_ns}" for path, state in states]


def _base() -> str:
    """Where this user's directories of compiled kernels lie side by side."""
    chosen = os.environ.get("TIDINGS_CACHE")
    if chosen:
        return os.path.realpath(chosen)
    general = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(general):
        general = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.realpath(os.path.join(general, "tidings"))


def _usable(base: str, name: str) -> str:
    """`base/name`, private and writable; where that cannot be had, a temporary directory of this process."""
    directory = os.path.join(base, name)
    try:
        os.makedirs(os.path.dirname(base), 0o700, exist_ok=True)
        _make(base)
        if not _is_private(base):
            return _temporary(name, f"{base} belongs to somebody else, or others can write to it")
        fresh = _make(directory)
        if not _is_private(directory):
            return _temporary(name, f"{directory} belongs to somebody else, or others can write to it")
        if not os.access(directory, os.W_OK | os.X_OK):
            return _temporary(name, f"{directory} is read-only")
        os.utime(directory)
    except OSError as error:
        return _temporary(name, f"{directory} cannot be made ({error.strerror})")
    if fresh:
        _prune(base)
    return directory


def _make(directory: str) -> bool:
    """Make a directory for the owner alone; whether it was not there before."""
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        return False
    return True


def _is_private(directory: str) -> bool:
    """Whether it is a directory of this user that nobody else can write to."""
    try:
        state = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


def _temporary(name: str, reason: str) -> str:
    """A directory that goes when this process goes; every process then compiles anew, which the user should know."""
    import atexit
    import shutil
    import tempfile
    import warnings

    parent, owner = tempfile.mkdtemp(prefix="tidings-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(parent, ignore_errors=True)

    atexit.register(remove)
    directory = os.path.join(parent, name)
    os.mkdir(directory, 0o700)
    warnings.warn(
        f"{reason}; kernels are compiled for this process only (set TIDINGS_CACHE to a directory of your own)",
        RuntimeWarning,
        stacklevel=2,
    )
    return directory


def _prune(base: str) -> None:
    """Remove all directories of kernels but those used last. Two processes may do this at once."""
    import shutil

    used: list[tuple[int, str]] = []
    for name in os.listdir(base):
        path = os.path.join(base, name)
        if name.startswith(_PREFIX) and _is_private(path):
            used.append((os.lstat(path).st_mtime_ns, path))
    for _, path in sorted(used, reverse=True)[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
