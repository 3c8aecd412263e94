"""Jars by their Maven coordinates, kept in a folder of this user's own.

`mvn` finds them, with all that they need, and checks their checksums. A set of jars is fetched once: it appears in one
step under a name that says what was asked for, and from then on neither `mvn` nor a network is needed. Jars are run as
code, so they lie where the compiled kernels lie, in a directory that nobody else can write to.
"""

import os
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tidings import kernels
from tidings.model.errors import FileError, Problem, shortened

PATIENCE_S: Final = 600.0
"""The jars of a broker are 43 MB in 45 files: 7 s on a good line."""

_HINT: Final = "install Maven (on Debian and Ubuntu the package maven), and see that it reaches a repository"


def fetched(
    name: str,
    jars: Sequence[str],
    *,
    instead: Sequence[str] = (),
    without: Sequence[str] = (),
    anew: bool = True,
) -> list[Path]:
    """The jars of `group:artifact:version`s and all that they need when they run.

    What is needed in a version of `instead` is taken in that one, and what `without` names (`group:artifact`) not at
    all. Without `anew`, only what was fetched before is there.
    """
    pom = _pom(jars, instead, without)
    base = Path(kernels._base())
    folder = base / f"jars-{name}-{zlib.crc32(pom.encode()):08x}"
    if not folder.is_dir():
        if not anew:
            raise FileError(Problem("package-missing", " ".join(jars), "never fetched", "jars from Maven", _HINT))
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        _fetch(pom, folder, " ".join(jars))
    if not kernels._is_private(str(base)) or not kernels._is_private(str(folder)):
        hint = "set TIDINGS_CACHE to a directory of your own"
        raise FileError(Problem("file-unreadable", str(folder), "others can write to it", "a private folder", hint))
    return sorted(folder.glob("*.jar"))


def _fetch(pom: str, folder: Path, asked: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise FileError(Problem("package-missing", "mvn", "no Maven on PATH", asked, _HINT))
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as work:
        Path(work, "pom.xml").write_text(pom, encoding="utf-8")
        command = [
            maven, "--batch-mode", "--quiet", "--update-snapshots", "dependency:copy-dependencies",
            "-DincludeScope=runtime", "-DoutputDirectory=jars",
        ]  # fmt: skip
        try:
            ran = subprocess.run(
                command,
                cwd=work,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=PATIENCE_S,
                stdin=subprocess.DEVNULL,
            )
            reason = _reason(ran.stdout + ran.stderr) if ran.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = str(error)
        jars = Path(work, "jars")
        if reason or not any(jars.glob("*.jar")):
            raise FileError(Problem("package-missing", asked, reason or "no jar", "jars from Maven", _HINT))
        os.chmod(jars, 0o700)
        try:
            os.rename(jars, folder)
        except OSError:
            # Another process was faster, with the same jars.
            if not folder.is_dir():
                raise


def _reason(said: str) -> str:
    """What Maven says is the matter, without the colours of a terminal."""
    errors = re.findall(r"\[ERROR\] *(\S.*)", re.sub(r"\x1b\[[0-9;]*m", "", said))
    return shortened(re.sub(r"^Failed to execute goal.*?project [^:]*: ", "", errors[0]) if errors else said, 400)


def _pom(jars: Sequence[str], instead: Sequence[str], without: Sequence[str]) -> str:
    managed = "".join(_dependency(one, without) for one in instead)
    needed = "".join(_dependency(one, without) for one in jars)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
        "<groupId>tidings</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>\n"
        f"<dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>\n"
        f"<dependencies>{needed}</dependencies>\n</project>\n"
    )


def _dependency(coordinates: str, without: Sequence[str]) -> str:
    group, artifact, version = coordinates.split(":")
    left_out = "".join(
        f"<exclusion><groupId>{one.split(':')[0]}</groupId><artifactId>{one.split(':')[1]}</artifactId></exclusion>"
        for one in without
    )
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<exclusions>{left_out}</exclusions></dependency>\n"
    )
