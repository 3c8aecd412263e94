"""`python -m tests.mutants [PART OF A NAME]`: put each fault into a copy of the code and see whether the tests notice.

First the tests run on a copy without a fault, where all must pass; that also compiles the kernels once. Each fault then
starts with those kernels but for the ones that the faulty file could be in, since Numba does not notice that a function
called from another file has changed.
"""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 600.0
PASSED, FAILED = 0, 1


class Copy:
    """A copy of the sources, and a directory of kernels for it."""

    def __init__(self, directory: Path) -> None:
        self.source = directory / "src"
        self.warm, self.kernels = directory / "warm", directory / "kernels"
        shutil.copytree(ROOT / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))
        self.warm.mkdir(mode=0o700)
        self.imports = {path: _imported(path, self.source) for path in self.source.rglob("*.py")}

    def test(self, arguments: tuple[str, ...], kernels: Path) -> tuple[int, str]:
        """The exit status of pytest on this copy, and how its report ends."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
        environment |= {"PYTHONPATH": str(self.source), "NUMBA_CACHE_DIR": str(kernels), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *arguments]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return FAILED, "no end in sight"
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return done.returncode, lines[0] if lines else done.stdout[-300:] + done.stderr[-300:]

    def with_fault(self, fault: Fault) -> tuple[int, str]:
        """What the tests say about a fault; the copy is whole again afterwards."""
        path = self.source / "tidings" / fault.file
        right, state = path.read_text(encoding="utf-8"), path.stat()
        shutil.rmtree(self.kernels, ignore_errors=True)
        shutil.copytree(self.warm, self.kernels)
        for other in self._dependents(path):
            for kernel in self.kernels.glob(f"{other.parent.name}_*/{other.stem}.*"):
                kernel.unlink()
        try:
            path.write_text(right.replace(fault.right, fault.wrong), encoding="utf-8")
            return self.test(fault.tests, self.kernels)
        finally:
            path.write_text(right, encoding="utf-8")
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    def _dependents(self, path: Path) -> set[Path]:
        """The file and all that import it, directly or not."""
        found, before = {path}, set[Path]()
        while found != before:
            before = set(found)
            found |= {other for other, imported in self.imports.items() if imported & before}
        return found


def _imported(path: Path, source: Path) -> set[Path]:
    """The files of this package that a file imports from."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    files = (source / (name.replace(".", "/") + ".py") for name in names)
    return {file for file in files if file.exists()}


def _without_place(faults: list[Fault]) -> list[Fault]:
    """Those whose snippet does not stand in its file exactly once."""
    texts = {fault.file: (ROOT / "src/tidings" / fault.file).read_text(encoding="utf-8") for fault in faults}
    return [fault for fault in faults if texts[fault.file].count(fault.right) != 1]


def main(arguments: list[str]) -> int:
    """The exit status: 0 when every fault was noticed."""
    faults = [fault for fault in FAULTS if not arguments or any(part in fault.what + fault.file for part in arguments)]
    lost = _without_place(faults)
    for fault in lost:
        print(f"no longer applies   {fault.file}: {fault.what}")
    if lost or not faults:
        return 2
    with tempfile.TemporaryDirectory(prefix="tidings-mutants-") as directory:
        copy = Copy(Path(directory))
        files = sorted({argument for fault in faults for argument in fault.tests if argument.endswith(".py")})
        status, said = copy.test(tuple(files), copy.warm)
        if status != PASSED:
            print(f"the tests fail without any fault: {said}")
            return 2
        survived = 0
        for fault in faults:
            begun = time.perf_counter()
            status, said = copy.with_fault(fault)
            survived += status != FAILED
            verdict = {PASSED: "SURVIVED", FAILED: "found"}.get(status, f"pytest says {status}")
            print(f"{verdict:9} {time.perf_counter() - begun:4.0f} s  {fault.file}: {fault.what}", flush=True)
            print(f"                  {said.splitlines()[0] if said else ''}"[:160], flush=True)
    print(f"{len(faults) - survived} of {len(faults)} faults were found")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
