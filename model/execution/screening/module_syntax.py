"""Read what a Python module defines and assigns, without comments, docstrings and layout (pure).

The module may be hostile. Each step of this code takes time that is linear in its size. Deep nesting ends the reading.
"""

import ast
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

MODULE_BYTES: Final = 128 * 1024
"""Limit for the size of a module. Python's parser takes quadratic time for an f-string: two seconds at this size."""
_DOCUMENTED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SEQUENCES: Final = (ast.Tuple, ast.List)
_SCOPES: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Expressions with variables of their own."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class DefinitionSyntax(NamedTuple):
    """A function or class of a module."""

    source: str
    """Equal for equal code: its words, or the hash of its syntax."""
    names: frozenset[str]
    """Names that it may read from its module."""


@dataclass(frozen=True, slots=True)
class ModuleContent:
    """What a module defines and assigns."""

    definitions: Mapping[str, Sequence[DefinitionSyntax]]
    """By dotted name, such as `TestShop.test_price`."""
    values: Mapping[str, Sequence[str]]
    """What each name of the module is assigned, in order; equal for equal code."""


def read_syntax(text: bytes, wanted: AbstractSet[str]) -> ModuleContent | None:
    """Return the content of a module with its `wanted` definitions; None for invalid syntax or nesting that is too deep.

    The caller must limit the size by `MODULE_BYTES`.
    """
    try:
        tree = parse_module(text)
        definitions: dict[str, list[DefinitionSyntax]] = {}
        for name, node in _list_definitions(tree):
            if name in wanted:
                reader = _NameReader()
                reader.visit(node)
                definition = DefinitionSyntax(hash_syntax(node), frozenset(reader.names))
                definitions.setdefault(name, []).append(definition)
        values: dict[str, list[str]] = {}
        for name, value in _list_values(tree):
            values.setdefault(name, []).append(value)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return ModuleContent(definitions, values)


def parse_module(text: bytes) -> ast.Module:
    """Return the syntax tree of a module without docstrings. Raises what `ast.parse` does, RecursionError too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree


def hash_syntax(node: ast.AST) -> str:
    """Return a hash that is equal for equal code, wherever it stands."""
    # A hash, because one value may belong to many names, and comparing its text for each would be quadratic.
    return hashlib.sha256(ast.dump(node).encode(errors="backslashreplace")).hexdigest()


def _list_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield each function and class outside functions, with its dotted name."""
    waiting: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    while waiting:
        scope, body = waiting.pop()
        for statement in list_statements(body):
            if isinstance(statement, _DOCUMENTED):
                yield f"{scope}{statement.name}", statement
            if isinstance(statement, ast.ClassDef):
                waiting.append((f"{scope}{statement.name}.", statement.body))


def list_statements(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield statements in order, with those in their blocks, such as `if` and `try`, but not in functions and classes."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        statement = waiting.pop()
        yield statement
        if not isinstance(statement, _DOCUMENTED):
            inner = list(ast.iter_child_nodes(statement))
            blocks = (ast.stmt, ast.excepthandler, ast.match_case)
            waiting += [node for node in reversed(inner) if isinstance(node, blocks)]


def _list_values(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that a module assigns, with the hash of what it gets."""
    for statement in list_statements(tree.body):
        for targets, value in _list_assignments(statement):
            assigned = hash_syntax(value)
            for target in targets:
                place = "" if isinstance(target, ast.Name) else hash_syntax(target)
                for name in _list_target_names(target):
                    yield name, f"{place} {assigned}"


def _list_assignments(statement: ast.AST) -> Iterator[tuple[list[ast.expr], ast.AST]]:
    """Yield targets with the value that each of them gets."""
    match statement:
        case ast.Assign(targets=[target], value=value):
            for part, part_value in unpack_assignment(target, value):
                yield [part], part_value
        case ast.Assign(targets=targets, value=value):
            yield targets, value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield [target], value
        case ast.AugAssign(target=target):
            yield [target], statement


def unpack_assignment(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target with its own value, as far as both sides show it: `A, B = 1, 2` assigns 2 to B."""
    waiting = [(target, value)]
    while waiting:
        target, value = waiting.pop()
        if (
            isinstance(target, _SEQUENCES)
            and isinstance(value, _SEQUENCES)
            and len(target.elts) == len(value.elts)
            and not any(isinstance(part, ast.Starred) for part in target.elts + value.elts)
        ):
            waiting += zip(target.elts, value.elts, strict=True)
        else:
            yield target, value


def _list_target_names(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment to `target` changes: A and B for `A, B["key"].limit`."""
    waiting = [target]
    while waiting:
        match waiting.pop():
            case ast.Name(id=name):
                yield name
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                waiting += parts
            case ast.Attribute(value=part) | ast.Subscript(value=part) | ast.Starred(value=part):
                waiting.append(part)


class _NameReader(ast.NodeVisitor):
    """Collects the names that a function reads from its module, in `names`.

    A name that the function or one around it binds is no name of the module. Bindings are counted on the way down and
    taken back on the way up, so that each node is visited twice at most: by its function and by the reader.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._bindings: Counter[str] = Counter()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and self._bindings[node.id] == 0:
            self.names.add(node.id)

    def _visit_function(self, node: _Function) -> None:
        # Decorators, defaults and annotations belong to the scope around the function.
        inside = node.body if isinstance(node.body, list) else [node.body]
        skipped = set(map(id, inside))
        for child in ast.iter_child_nodes(node):
            if id(child) not in skipped:
                self.visit(child)
        arguments = (arg.arg for arg in _list_arguments(node.args))
        self._visit_scope({*arguments, *_list_bindings(inside)}, inside)

    def _visit_comprehension(self, node: _Comprehension) -> None:
        targets = [part.target for part in node.generators]
        self._visit_scope(set(_list_bindings(targets)), ast.iter_child_nodes(node))

    def _visit_scope(self, bindings: AbstractSet[str], nodes: Iterable[ast.AST]) -> None:
        self._bindings.update(bindings)
        for node in nodes:
            self.visit(node)
        self._bindings.subtract(bindings)

    # `NodeVisitor` prescribes these names.
    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function  # noqa: N815
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension  # noqa: N815


def _list_arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument)


def _list_bindings(nodes: Iterable[ast.AST]) -> AbstractSet[str]:
    """Return the names that the nodes bind in their own scope."""
    bound: set[str] = set()
    stated: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
                continue
            case ast.alias():
                bound.add((node.asname or node.name).partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Global(names=names):
                stated.update(names)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return bound - stated
