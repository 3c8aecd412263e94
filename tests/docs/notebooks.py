"""Notebooks, run without Jupyter: the code cells in order, in one namespace, and what each says.

`python -m tests.docs.notebooks` runs them all and writes down what they say.
"""

import ast
import contextlib
import io
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells with code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def said_by(cell: dict[str, Any]) -> str:
    """The text that a notebook keeps of a cell."""
    parts = []
    for output in cell["outputs"]:
        text = output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
        parts.append("".join(text).rstrip("\n") + "\n")
    return "".join(parts)


def run_cell(source: str, where: str, names: dict[str, Any]) -> tuple[str, str]:
    """What a cell prints, and the value of its last line."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    return printed.getvalue(), "" if value is None else repr(value)


def _write(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        printed, value = run_cell("".join(cell["source"]), f"{path.name}[{number}]", names)
        cell["execution_count"] = number
        cell["outputs"] = []
        if printed:
            text = printed.splitlines(keepends=True)
            cell["outputs"].append({"name": "stdout", "output_type": "stream", "text": text})
        if value:
            data = {"text/plain": value.splitlines(keepends=True)}
            result = {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
            cell["outputs"].append(result)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "docs" / "examples", Path(folder) / "docs" / "examples")
            os.chdir(folder)
            _write(notebook)
