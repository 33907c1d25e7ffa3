"""Write the fixtures of a test as steps before it (pure)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Final

from training.gym.statements.bound_names import walk_scope
from training.gym.statements.failing_case import Function
from training.gym.statements.step_wording import is_docstring

_MOST_FIXTURES: Final = 5


def expand_fixtures(
    names: Iterable[str], modules: Sequence[ast.Module], parameter: str
) -> Iterator[ast.stmt]:
    """Yield the steps of fixtures, those that they need first. Fixtures of pytest and of its plugins have none.

    `parameter` is the part of the test's id in brackets, which tells the value of `request.param`.
    """
    for name, function in _order_fixtures(names, modules, set()):
        yield from _write_steps(name, function, parameter)


def _order_fixtures(
    names: Iterable[str], modules: Sequence[ast.Module], visited: set[str]
) -> Iterator[tuple[str, Function]]:
    """Yield fixtures, each after those that it needs. `visited` holds the names so far, and grows."""
    for name in names:
        function = _find_fixture(name, modules)
        if name in visited or function is None or len(visited) >= _MOST_FIXTURES:
            continue
        visited.add(name)
        yield from _order_fixtures(_list_arguments(function), modules, visited)
        yield name, function


def _list_arguments(function: Function) -> list[str]:
    return [argument.arg for argument in function.args.args]


def _find_fixture(name: str, modules: Sequence[ast.Module]) -> Function | None:
    functions = (node for module in modules for node in module.body if isinstance(node, Function))
    return next(
        (node for node in functions if node.name == name and _find_mark(node) is not None), None
    )


def _find_mark(function: Function) -> ast.expr | None:
    """Return the decorator that makes a function a fixture."""
    marks = function.decorator_list
    return next((mark for mark in marks if "fixture" in ast.unparse(mark)), None)


def _write_steps(name: str, function: Function, parameter: str) -> list[ast.stmt]:
    """Return the steps of a fixture up to its value, which gets the fixture's name; none for one with several values."""
    body = [deepcopy(step) for step in function.body if not is_docstring(step)]
    nodes = [node for step in body for node in walk_scope(step)]
    values = [node.value for node in nodes if isinstance(node, ast.Yield | ast.Return)]
    if len(values) != 1 or values[0] is None:
        return []
    steps = _name_value(name, values[0], list(_cut_at_value(body)), _list_arguments(function))
    if (value := _read_parameter(function, parameter)) is not None:
        steps = [_NameReplacer("request.param", value).visit(step) for step in steps]
    return [part for step in steps for part in _fold(step)]


def _name_value(
    name: str, value: ast.expr, steps: list[ast.stmt], arguments: Sequence[str]
) -> list[ast.stmt]:
    """Return the steps with the fixture's name for its value. A value that they do not make gets a step of its own."""
    if isinstance(value, ast.Name) and value.id == name:
        return steps
    if not isinstance(value, ast.Name) or value.id in arguments or not _is_set(value.id, steps):
        return [*steps, ast.Assign([ast.Name(name, ast.Store())], value, lineno=0)]
    renamed = _NameReplacer(value.id, ast.Name(name, ast.Load()))
    return [renamed.visit(step) for step in steps]


def _is_set(name: str, steps: Iterable[ast.stmt]) -> bool:
    """Return whether a step sets a variable. The variables of functions are others."""
    nodes = (node for step in steps for node in walk_scope(step) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)


def _cut_at_value(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the steps before the value of a fixture, with those in the blocks around it."""
    for step in body:
        has_value = any(isinstance(node, ast.Yield | ast.Return) for node in walk_scope(step))
        if not has_value:
            yield step
            continue
        if isinstance(step, ast.With):
            yield ast.With(items=step.items, body=[])
        if isinstance(step, ast.With | ast.Try):
            yield from _cut_at_value(step.body)
        return


def _read_parameter(function: Function, parameter: str) -> ast.Constant | None:
    """Return the value among the fixture's `params` that the id of a test names."""
    mark = _find_mark(function)
    keywords = mark.keywords if isinstance(mark, ast.Call) else []
    params = next((keyword.value for keyword in keywords if keyword.arg == "params"), None)
    items = params.elts if isinstance(params, ast.List | ast.Tuple) else []
    named = [
        item
        for item in items
        if isinstance(item, ast.Constant) and str(item.value) in parameter.split("-")
    ]
    return named[0] if len(named) == 1 else None


def _fold(step: ast.stmt) -> list[ast.stmt]:
    """Replace an `if` that compares two constants by the branch that runs."""
    if isinstance(step, ast.If) and isinstance(step.test, ast.Compare):
        sides = [step.test.left, *step.test.comparators]
        values = [side.value for side in sides if isinstance(side, ast.Constant)]
        if len(values) == len(sides) == 2 and isinstance(step.test.ops[0], ast.Eq):
            taken = step.body if values[0] == values[1] else step.orelse
            return [part for inner in taken for part in _fold(inner)]
    return [step]


class _NameReplacer(ast.NodeTransformer):
    """Writes an expression in place of a name or of an attribute."""

    def __init__(self, code: str, value: ast.Name | ast.Constant) -> None:
        self._code, self._value = code, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the expression for the name."""
        if node.id != self._code:
            return node
        return ast.Name(self._value.id, node.ctx) if isinstance(self._value, ast.Name) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the expression for the attribute."""
        if ast.unparse(node) == self._code:
            return self._value
        self.generic_visit(node)
        return node
