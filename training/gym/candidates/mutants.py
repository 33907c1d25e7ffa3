"""Make mutants of a patch: one small change to the syntax tree on a line that the patch adds (pure).

The operators are those that mutation tools have in common. Mutmut and cosmic-ray are no libraries: both mutate whole files
in a project of their own layout, and neither takes a set of lines.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from model.execution.tree_changes import TreeChanges
from training.gym.candidates.patch_blocks import is_valid, parse_python, split_patch

_COMPARISONS: Final = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: Final = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
_SIMPLE: Final = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete)


def list_mutants(changes: TreeChanges) -> Iterator[TreeChanges]:
    """Yield the patch with each mutation of each line that it adds to a Python file. The syntax is valid."""
    for path, content in sorted(changes.written.items()):
        lines = _list_new_lines(changes, path)
        tree = parse_python(content) if path.endswith(".py") else None
        for node in ast.walk(tree) if tree else ():
            if getattr(node, "lineno", None) in lines:
                for text in _mutate(node):
                    mutant = replace(
                        changes, written={**changes.written, path: _splice(content, node, text)}
                    )
                    if is_valid(mutant):
                        yield mutant


def _list_new_lines(changes: TreeChanges, path: str) -> set[int]:
    """Return the numbers, from 1, of the lines that the patch adds to a file."""
    numbers, shift = set(), 0
    for block in split_patch(changes):
        if block.path == path and block.lines is not None:
            first = block.start + shift + 1
            numbers |= set(range(first, first + len(block.lines)))
            shift += len(block.lines) - (block.end - block.start)
    return numbers


def _mutate(node: ast.AST) -> Iterator[str]:  # noqa: C901 - one case for each operator
    """Yield what may stand in place of a node."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            yield _change(node, ops=[_COMPARISONS[type(operator)]()])
        case ast.BoolOp(op=operator):
            yield _change(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            yield _change(node, op=_OPERATORS[type(operator)]())
        case ast.Constant(value=bool() | None as value):
            yield "None" if value is False else repr(not value)
        case ast.Constant(value=int() | float() as number):
            yield repr(number + 1)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "return None"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case ast.IfExp(test=test):
            yield _change(node, test=ast.UnaryOp(ast.Not(), test))
        case _ if isinstance(node, _SIMPLE) and not _is_docstring(node):
            yield "pass"


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _change(node: ast.AST, **fields: object) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    text = ast.unparse(changed)
    return f"({text})" if isinstance(node, ast.expr) else text


def _splice(content: bytes, node: ast.AST, text: str) -> bytes:
    """Return a file with `text` in the place of a node. Columns of syntax trees count bytes of UTF-8."""
    lines = content.split(b"\n")
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # type: ignore[attr-defined]
    head = lines[first][: node.col_offset]  # type: ignore[attr-defined]
    tail = lines[last][node.end_col_offset :]  # type: ignore[attr-defined]
    return b"\n".join([*lines[:first], head + text.encode() + tail, *lines[last + 1 :]])
