"""Collect calls that stand alone from the tests and docstrings of a tree: each name in them is a module's (pure).

Local variables are replaced by the expressions that were assigned to them, and names by their dotted path. So
`p = parse(SQL)` and `p.get_type()` give `package.parse('select 1').get_type()`.
"""

import ast
import builtins
import copy
import doctest
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from training.gym.candidates.patch_blocks import parse_python

_MOST_CHARACTERS: Final = 300
"""Longest text of a call."""
_MOST_ROWS: Final = 4
"""Rows of `pytest.mark.parametrize` that are used."""
STANDARD: Final = frozenset(
    ["collections", "datetime", "decimal", "fractions", "functools", "io", "itertools", "math", "operator", "re", "string", "uuid"]
)  # fmt: skip
"""Modules of the standard library that calls may use, and that reach no file, process or clock of their own."""
_BUILTINS: Final = frozenset(dir(builtins)) - frozenset(
    ["breakpoint", "compile", "eval", "exec", "exit", "globals", "help", "id", "input", "locals", "object", "open", "print", "quit", "vars"]
)  # fmt: skip
Names = dict[str, ast.expr]


def name_modules(paths: Iterable[str]) -> dict[str, str]:
    """Return the dotted name of each Python module by its path. A folder `src` at the top is left out."""
    names = {}
    for path in paths:
        if path.endswith(".py"):
            steps = (
                path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").split("/")
            )
            if all(step.isidentifier() for step in steps):
                names[path] = ".".join(steps)
    return names


def collect_calls(
    files: Mapping[str, bytes], modules: frozenset[str], own_names: str | None = None
) -> Iterator[str]:
    """Yield the calls of `files` that stand alone. `modules` are the dotted names of the package's modules.

    `own_names` is the module whose docstrings are read; None reads the functions of test modules.
    """
    packages = frozenset(name.partition(".")[0] for name in modules)
    for content in files.values():
        tree = parse_python(content)
        if tree is None:
            continue
        names = _read_imports(tree, packages)
        if own_names is None:
            yield from _collect_of_functions(tree, names, packages)
        else:
            yield from _collect_of_docstrings(tree, names, packages, own_names)


def _read_imports(tree: ast.Module, packages: frozenset[str]) -> Names:
    names: Names = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    root = alias.name.partition(".")[0]
                    if root in packages | STANDARD:
                        path = alias.name if alias.asname else root
                        names[alias.asname or root] = _parse(path)
            case ast.ImportFrom(module=str() as module, names=aliases, level=0):
                if module.partition(".")[0] in packages | STANDARD:
                    for alias in aliases:
                        names[alias.asname or alias.name] = _parse(f"{module}.{alias.name}")
    return names


def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _collect_of_functions(
    tree: ast.Module, names: Names, packages: frozenset[str]
) -> Iterator[str]:
    outer = dict(names)
    for _ in _read_block(tree.body, outer, packages):
        pass
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for row in _list_rows(node):
                yield from _read_block(node.body, {**outer, **row}, packages)


def _list_rows(function: ast.FunctionDef) -> list[Names]:
    """Return the values of parameters in `pytest.mark.parametrize`, a row each; one empty row without it."""
    rows: list[Names] = [{}]
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[
                    ast.Constant(value=str() as text),
                    ast.List(elts=values) | ast.Tuple(elts=values),
                    *_,
                ],
            ):
                fields = [name.strip() for name in text.split(",")]
                rows = [
                    dict(zip(fields, [value] if len(fields) == 1 else getattr(value, "elts", []), strict=False))
                    for value in values[:_MOST_ROWS]
                ]  # fmt: skip
    return rows


def _read_block(block: Iterable[ast.stmt], names: Names, packages: frozenset[str]) -> Iterator[str]:
    """Yield the calls of statements in order, and record assigned expressions in `names`."""
    for statement in block:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and (text := _close(node, names, packages)):
                yield text
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names.pop(name, None)
                if closed := _substitute(value, names):
                    names[name] = closed
            case ast.With(body=inner) | ast.For(body=inner) | ast.If(body=inner):
                yield from _read_block(inner, names, packages)


def _close(node: ast.expr, names: Names, packages: frozenset[str]) -> str | None:
    """Return an expression with everything it needs; None if something is missing, or nothing of the package is used."""
    closed = _substitute(node, names)
    if closed is None:
        return None
    uses_package = any(
        isinstance(part, ast.Name) and part.id in packages for part in ast.walk(closed)
    )
    text = ast.unparse(closed)
    return text if uses_package and len(text) <= _MOST_CHARACTERS else None


def _substitute(node: ast.expr, names: Names) -> ast.expr | None:
    inner = {
        part.arg if isinstance(part, ast.arg) else part.id
        for part in ast.walk(node)
        if isinstance(part, ast.arg)
        or (isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    }
    is_closed = not any(
        isinstance(part, ast.Await | ast.Yield | ast.YieldFrom | ast.JoinedStr)
        for part in ast.walk(node)
    )

    class Substitution(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            nonlocal is_closed
            if name.id in names and name.id not in inner:
                return copy.deepcopy(names[name.id])
            is_closed = is_closed and (name.id in inner or name.id in _BUILTINS)
            return name

    result: ast.expr = Substitution().visit(copy.deepcopy(node))
    if not is_closed or sum(1 for _ in ast.walk(result)) > _MOST_CHARACTERS:
        return None
    return result


def _collect_of_docstrings(
    tree: ast.Module, names: Names, packages: frozenset[str], module: str
) -> Iterator[str]:
    """Yield the calls of doctests. The names of the module itself are its own."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = _parse(f"{module}.{node.name}")
    for holder in ast.walk(tree):
        if isinstance(holder, ast.Module | ast.ClassDef | ast.FunctionDef):
            block: list[ast.stmt] = []
            try:
                examples = doctest.DocTestParser().get_examples(ast.get_docstring(holder) or "")
            except ValueError:
                continue
            for example in examples:
                parsed = parse_python(example.source.encode(errors="replace"))
                block += parsed.body if parsed else []
            yield from _read_block(block, dict(names), packages)
