"""What sources say of themselves: constants, classes, fields and methods with their docstrings, from syntax trees."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Assigned(NamedTuple):
    """A constant of a module or a field of a class."""

    name: str
    type: str
    value: ast.expr
    default: str
    doc: str


class Function(NamedTuple):
    """A function or a method."""

    signature: str
    doc: str


class Described(NamedTuple):
    """A public class or function of a module."""

    name: str
    signature: str
    doc: str
    fields: list[Assigned]
    methods: list[Function]


_NOTHING = ast.Constant(value=None)


def docstring_of(path: Path) -> str:
    """The docstring of a module."""
    return ast.get_docstring(_tree(path)) or ""


def first_sentence(text: str) -> str:
    """The first sentence of a docstring."""
    return re.split(r"(?<=\.)\s", inspect.cleandoc(text), maxsplit=1)[0]


def assigned(path: Path) -> list[Assigned]:
    """The public constants of a module, each with the string that follows it."""
    return list(_assigned(_tree(path).body))


def described_classes(path: Path) -> Iterator[Described]:
    """The public classes and functions of a module, in order."""
    for node in _tree(path).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            fields = [field for field in _assigned(node.body) if field.type and "ClassVar" not in field.type]
            methods = [
                Function(_signature(method, method=True), ast.get_docstring(method) or "")
                for method in node.body
                if isinstance(method, ast.FunctionDef) and (method.name[0] != "_" or method.name == "__init__")
            ]
            signature = f"class {node.name}({bases})" if bases else f"class {node.name}"
            yield Described(node.name, signature, ast.get_docstring(node) or "", fields, methods)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield Described(node.name, f"{_signature(node)}", ast.get_docstring(node) or "", [], [])


def _assigned(body: list[ast.stmt]) -> Iterator[Assigned]:
    for i, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name, value, type_ = node.target.id, node.value or _NOTHING, ast.unparse(node.annotation)
        else:
            continue
        if name.startswith("_"):
            continue
        doc = ""
        if i + 1 < len(body):
            match body[i + 1]:
                case ast.Expr(ast.Constant(str(text))):
                    doc = inspect.cleandoc(text)
        default = f"`{ast.unparse(node.value)}`" if node.value is not None else ""
        yield Assigned(name, type_, value, default, doc)


def _signature(node: ast.FunctionDef, method: bool = False) -> str:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    if "property" in decorators:
        return node.name
    arguments = ast.unparse(node.args)
    if method:
        arguments = re.sub(r"^(?:self|cls)(?:, )?", "", arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and node.name != "__init__" else ""
    name = "Engine" if node.name == "__init__" else node.name
    return f"{name}({arguments}){returns}"


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
