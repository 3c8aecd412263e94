"""Parts of a benchmark in processes of their own: one process has one Spark, and memory that nobody else used.

A part is a function from one struct to another. They travel as JSON, in files, since Java writes where it likes.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, get_type_hints

import msgspec

from tidings.model.errors import InputError, Problem

Answer = TypeVar("Answer")
Given = TypeVar("Given")


def answered(
    part: Callable[[Given], Answer], given: Given, *, watch: Callable[[int, threading.Event], None] | None = None
) -> Answer:
    """What a part says, in a process of its own. `watch` is called with its id, and ends when it has ended."""
    with TemporaryDirectory(prefix="tidings-part-") as folder:
        asked, told, noise = Path(folder, "asked"), Path(folder, "told"), Path(folder, "noise")
        asked.write_bytes(msgspec.json.encode(given))
        name = f"{part.__module__}:{part.__name__}"
        with noise.open("wb") as out:
            process = subprocess.Popen([sys.executable, "-m", __name__, name, folder], stdout=out, stderr=out)
            over = threading.Event()
            watcher = threading.Thread(target=watch, args=(process.pid, over)) if watch is not None else None
            if watcher is not None:
                watcher.start()
            try:
                process.wait()
            finally:
                over.set()
                if process.poll() is None:
                    process.terminate()
                    process.wait()
                if watcher is not None:
                    watcher.join()
        if process.returncode or not told.exists():
            tail = noise.read_text(errors="replace")[-4_000:].strip()
            found = f"it ended with {process.returncode}: {tail}"
            raise InputError(Problem("job-failed", name, found, "a part of the benchmark that can be measured"))
        answer: Answer = msgspec.json.decode(told.read_bytes(), type=get_type_hints(part)["return"])
    return answer


def _main(name: str, folder: str) -> None:
    module, _, attribute = name.partition(":")
    part: Callable[[Any], Any] = getattr(import_module(module), attribute)
    (given,) = (kind for what, kind in get_type_hints(part).items() if what != "return")
    answer = part(msgspec.json.decode(Path(folder, "asked").read_bytes(), type=given))
    told = Path(folder, "told.new")
    told.write_bytes(msgspec.json.encode(answer))
    told.rename(Path(folder, "told"))


if __name__ == "__main__":
    _main(*sys.argv[1:])
