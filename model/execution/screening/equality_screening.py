"""Find new methods that compare equal without a look at both values (pure).

A test such as `assert half(4) == 2` passes for an object that equals everything, so it says nothing about a patch with
such a method. A patch may still hide equality, for example in a metaclass, in another file or in text that it runs.
"""

import ast
import re
import unicodedata
from collections import ChainMap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from model.execution.screening.module_syntax import (
    MODULE_BYTES,
    hash_syntax,
    list_statements,
    parse_module,
    unpack_assignment,
)
from model.execution.tree_changes import TreeChanges

_POSITIVE: Final = frozenset({"__eq__", "__contains__", "__instancecheck__"})
"""Methods whose true result makes a test pass. For `__ne__` it is a false one."""
_METHODS: Final = _POSITIVE | {"__ne__"}
_COMPARISONS: Final = frozenset({"__eq__", "__ne__"})
"""Methods that say nothing about their object unless they read it. A container may look for its items elsewhere."""
_MENTION: Final = re.compile(r"__(?:eq|ne|contains|instancecheck)__")
_MOST_BYTES: Final = 512 * 1024
"""All files together that are read as Python."""

_BLOCKS: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
"""What has names of its own. A method also sees those of its class here, which Python does not let it see."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Scope = ChainMap[str, list[ast.AST]]


class _Method(NamedTuple):
    """A function that code gives to one of the methods, in whatever way."""

    name: str
    """The class, if there is one, and the method."""
    text: str
    """What the method is, without its place in the file."""
    is_blind: bool
    """Whether it can call values equal without a look at both."""


class _Description(NamedTuple):
    """What a function is and reads, whatever class it is given to."""

    text: str
    """The hash of the function."""
    is_blind: bool
    """Whether it can call anything equal without a look at the other value."""
    reads: frozenset[str] | None
    """The names that it reads; None if its own object is among them or has no name, and if it makes no test pass."""


def find_blind_equality(changes: TreeChanges) -> str | None:
    """Return the name of a new or changed method that can call values equal without a look at both; None without one.

    `changes` come from `keep_code`, so tests are not looked at. A method that stands on the base, in any of the changed
    files, is not new.
    """
    reader = _MethodReader()
    old = {
        (method.name, method.text)
        for path, content in changes.before.items()
        if path.endswith(".py")
        for method in reader.list_methods(content) or ()
    }
    for path, content in changes.written.items():
        if not path.endswith(".py"):
            continue
        methods = reader.list_methods(content)
        if methods is None and _mentions_more(content, changes.before.get(path, b"")):
            return path
        for method in methods or ():
            if method.is_blind and (method.name, method.text) not in old:
                return method.name
    return None


def _mentions_more(after: bytes, before: bytes) -> bool:
    """Return whether a file that cannot be read as Python has new lines about one of the methods."""
    old = frozenset(before.splitlines())
    return any(_mentions(line) for line in after.splitlines() if line not in old)


def _mentions(content: bytes) -> bool:
    """Return whether text names one of the methods. Python reads names in the form NFKC, so `__\uff45q__` is `__eq__`."""
    text = content.decode(errors="replace")
    return bool(_MENTION.search(text if text.isascii() else unicodedata.normalize("NFKC", text)))


class _MethodReader:
    """Reads files up to a size each and together, because a stranger chooses them and parsing can take quadratic time."""

    def __init__(self) -> None:
        self._left = _MOST_BYTES

    def list_methods(self, content: bytes) -> list[_Method] | None:
        """Return the functions that a file gives to the methods; None where it cannot be read."""
        if not _mentions(content):
            return []
        self._left -= len(content)
        if len(content) > MODULE_BYTES or self._left < 0:
            return None
        try:
            return list(_ModuleWalk().list_methods(parse_module(content), "", ChainMap()))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class _ModuleWalk:
    """Lists the methods of one module. It describes each function once, because thousands of lines may bind it."""

    def __init__(self) -> None:
        self._described: dict[tuple[int, bool], _Description] = {}

    def list_methods(self, node: ast.AST, owner: str, scope: _Scope) -> Iterator[_Method]:
        """Yield the methods inside a node that stands in the class `owner`, "" outside classes."""
        for method, value in _read_bindings(node):
            functions = scope.get(value.id, ()) if isinstance(value, ast.Name) else (value,)
            if functions and isinstance(functions[0], _Function) and method in _METHODS:
                name = f"{owner}.{method}" if owner else str(method)
                description = self._describe(functions, method in _POSITIVE)
                # A class may call all its objects equal: then it looks for its own name.
                reads_own = description.reads is None or owner in description.reads
                is_blind = description.is_blind or (method in _COMPARISONS and not reads_own)
                yield _Method(name, description.text, is_blind)
        if isinstance(node, ast.ClassDef):
            owner = node.name
        if isinstance(node, _BLOCKS):
            scope = scope.new_child(_list_functions(node.body))
        for child in ast.iter_child_nodes(node):
            yield from self.list_methods(child, owner, scope)

    def _describe(self, functions: Sequence[ast.AST | None], is_positive: bool) -> _Description:
        """Describe the first blind function of a name, or the last one."""
        key = (id(functions[0]), is_positive)
        if key not in self._described:
            real = [each for each in functions if isinstance(each, _Function)]
            blind = next((each for each in real if _is_blind(each, is_positive)), None)
            chosen = blind or real[-1]
            names = _list_names_without_self(chosen, is_positive)
            self._described[key] = _Description(hash_syntax(chosen), blind is not None, names)
        return self._described[key]


def _list_functions(body: Sequence[ast.stmt]) -> dict[str, list[ast.AST]]:
    """Return the functions of one scope by name. A name has several where `if` or `try` chooses between them."""
    functions: dict[str, list[ast.AST]] = {}
    for statement in list_statements(body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            for target in statement.targets:
                functions.setdefault(str(_name_target(target)), []).append(statement.value)
    return functions


def _read_bindings(node: ast.AST) -> Iterator[tuple[object, ast.AST | None]]:
    """Yield each name that a node gives a value, with the value: also names of attributes and keys of a dictionary."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name, node
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                parts = unpack_assignment(target, value)
                yield from ((_name_target(part), part_value) for part, part_value in parts)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
            yield _name_target(target), value
        case ast.Dict(keys=keys, values=values):
            named = zip(keys, values, strict=True)
            yield from ((getattr(key, "value", None), value) for key, value in named)
        case ast.Call(args=[_, ast.Constant(value=name), value], keywords=[]):
            yield name, value
        case ast.Call(keywords=keywords):
            yield from ((keyword.arg, keyword.value) for keyword in keywords)


def _name_target(target: ast.expr) -> object:
    """Return the name, the attribute or the constant key to which a value is assigned; None for another target."""
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=key)):
            return key
    return None


def _is_blind(function: _Function, passes: bool) -> bool:
    """Return whether a method can say "equal" without its argument, or never says anything else.

    `passes` is whether a true result makes a test pass. A coroutine and a generator are true, whatever they hold.
    """
    if _gives_an_object(function):
        return passes
    results = _list_results(function)
    if not _uses_argument(function):
        return any(not _is_harmless(result, passes=passes) for result in results)
    return bool(results) and all(_is_constant(result, passes) for result in results)


def _gives_an_object(function: _Function) -> bool:
    """Return whether a call of the function gives a coroutine or a generator."""
    body = function.body if isinstance(function.body, list) else [function.body]
    own = (node for part in body for node in _walk_own(part))
    return isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in own
    )


def _uses_argument(function: _Function) -> bool:
    """Return whether the body reads the compared value, or all values where it has no name of its own."""
    arguments = function.args
    named = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    compared = set(named[1:2] or named)
    compared |= {arguments.vararg.arg} if arguments.vararg and len(named) < 2 else set()
    body = function.body if isinstance(function.body, list) else [function.body]
    return any(
        isinstance(node, ast.Name) and node.id in compared and isinstance(node.ctx, ast.Load)
        for part in body
        for node in ast.walk(part)
    )


def _list_names_without_self(function: _Function, passes: bool) -> frozenset[str] | None:
    """Return the names that a function reads; None if it reads its first argument, has none, or makes no test pass."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    results = _list_results(function)
    if not arguments or all(_is_harmless(result, passes=passes) for result in results):
        return None
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    names = frozenset(node.id for node in nodes if isinstance(node.ctx, ast.Load))
    return None if names & {arguments[0].arg, "super", "__class__"} else names


def _list_results(function: _Function) -> list[ast.expr | None]:
    """Return the expression of each `return`; None for one without, and for an end of the body that may be reached."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    results = [
        node.value
        for part in function.body
        for node in _walk_own(part)
        if isinstance(node, ast.Return)
    ]
    return results if _ends(function.body) else [*results, None]


def _walk_own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those inside it, but not those of inner functions and classes."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield from _walk_own(child)


def _ends(body: list[ast.stmt]) -> bool:
    """Return whether a list of statements surely ends in `return` or `raise`."""
    match body[-1:]:
        case [ast.Return() | ast.Raise()]:
            return True
        case [ast.If(body=then, orelse=otherwise)]:
            return _ends(then) and _ends(otherwise)
        case [ast.With(body=inner)]:
            return _ends(inner)
        case [ast.Try(body=inner, handlers=handlers, orelse=otherwise, finalbody=last)]:
            parts = [otherwise or inner, *(handler.body for handler in handlers)]
            return _ends(last) or all(map(_ends, parts))
    return False


def _is_constant(result: ast.expr | None, expected: bool) -> bool:
    return isinstance(result, ast.Constant) and bool(result.value) is expected


def _is_harmless(result: ast.expr | None, *, passes: bool) -> bool:
    """Return whether a result without a look at the argument makes no test pass."""
    if isinstance(result, ast.Name) and result.id == "NotImplemented":
        return True
    if result is None:  # no value is a false one
        return passes
    return _is_constant(result, not passes)
