"""List the names that a piece of code binds in its own scope (pure)."""

import ast
from collections.abc import Iterator
from typing import Final

_SCOPES: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it, each before its parts. The parts of functions and classes are left out."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, _SCOPES):
            waiting += reversed(list(ast.iter_child_nodes(part)))


def list_bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds in its own scope. The variables of a comprehension belong to that alone."""
    parts = list(walk_scope(node))
    loops = (part.target for part in parts if isinstance(part, ast.comprehension))
    skipped = {id(part) for target in loops for part in ast.walk(target)}
    for part in parts:
        if id(part) not in skipped and (name := _read_bound(part)):
            yield name


def _read_bound(node: ast.AST) -> str | None:
    """Return the name that a node itself binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case ast.alias():
            return (node.asname or node.name).partition(".")[0]
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return node.name
        case ast.MatchMapping():
            return node.rest
    return None
