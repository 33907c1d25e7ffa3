"""Find what a failing test runs: the steps before the failure, the step that fails and those after it (pure)."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

from training.gym.statements.expression_wording import is_literal, write_code
from training.gym.statements.failure_text import Failure
from training.gym.statements.parameters import list_parameters, read_parameters
from training.gym.statements.step_wording import find_error_check, is_docstring, read_error_check

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SET_UPS: Final = ("setUp", "setup_method")
_COMPARISONS: Final[dict[str, type[ast.cmpop]]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertListEqual": ast.Eq,
    "assertTupleEqual": ast.Eq,
    "assertSetEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertMultiLineEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}
"""Methods of unittest that compare two values."""


@dataclass(frozen=True, slots=True)
class FailingCase:
    """A test as far as its source tells."""

    before: tuple[ast.stmt, ...]
    """Steps before the failure. A block around the failure stands here without its steps."""
    failing: ast.stmt | None
    """None if the place of the failure is not known. Then all steps are in `after`."""
    after: tuple[ast.stmt, ...]
    check: ast.Call | None
    """The call of `pytest.raises` around the failing step."""
    arguments: tuple[str, ...]
    """Names of the arguments that come from `parametrize`."""
    values: Mapping[str, ast.expr]
    """Their values, as far as they are known."""
    fixtures: tuple[str, ...]
    """Names of the other arguments."""
    module: ast.Module


@dataclass(frozen=True, slots=True)
class _Split:
    before: list[ast.stmt]
    failing: ast.stmt
    after: list[ast.stmt]
    check: ast.Call | None = None


def parse_module(text: str) -> ast.Module | None:
    """Return the syntax tree of a module; None for the syntax of another Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def find_case(test: str, failure: Failure, module: ast.Module) -> FailingCase | None:
    """Return the case of a test in its module; None if its function is not there."""
    plain, _, parameter = test.partition("[")
    path, *names = plain.split("::")
    owners, function = _find_function(module, names)
    if function is None:
        return None
    lines = [line for place, line in failure.places if place == path]
    body = _list_plain(function, owners)
    split = next(filter(None, (_split_steps(body, line) for line in lines)), None)
    set_up = [step for owner in owners for step in _list_set_up(owner, owners)]
    marked = (*owners, function)
    parametrised = list_parameters(marked)
    arguments = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    names = [name for name in arguments if name not in {"self", "cls"}]
    return FailingCase(
        (*set_up, *(split.before if split else ())),
        split.failing if split else None,
        tuple(split.after if split else body),
        split.check if split else None,
        tuple(parametrised),
        read_parameters(marked, parameter.removesuffix("]"), failure),
        tuple(name for name in names if name not in parametrised),
        module,
    )


def write_out_values(case: FailingCase) -> FailingCase:
    """Return a case whose failing comparison names literals instead of the names that stand for them."""
    step = case.failing
    if not (isinstance(step, ast.Assert) and isinstance(step.test, ast.Compare)):
        return case
    sides = [step.test.left, *step.test.comparators]
    written = [_write_out(side, case.before, case.values) for side in sides]
    if written == sides or all(map(is_literal, written)):
        return case
    test = ast.Compare(written[0], step.test.ops, written[1:])
    return replace(case, failing=ast.copy_location(ast.Assert(test), step))


def _write_out(
    node: ast.expr, before: Sequence[ast.stmt], values: Mapping[str, ast.expr]
) -> ast.expr:
    """Return the literal that a name stands for; the node itself where that is not sure."""
    if not isinstance(node, ast.Name):
        return node
    is_read = False
    for step in reversed(before):
        uses = [
            part for part in ast.walk(step) if isinstance(part, ast.Name) and part.id == node.id
        ]
        if any(isinstance(part.ctx, ast.Store) for part in uses):
            is_plain = isinstance(step, ast.Assign) and step.targets == uses
            value = step.value if is_plain and isinstance(step, ast.Assign) else node
            is_sure = isinstance(value, ast.Constant) or (is_literal(value) and not is_read)
            return value if is_sure else node
        is_read = is_read or bool(uses)
    value = values.get(node.id, node)
    return value if is_literal(value) else node


def list_names(test: str, module: ast.Module) -> set[str]:
    """Return the names that the function of a test uses."""
    _, function = _find_function(module, test.partition("[")[0].split("::")[1:])
    nodes = ast.walk(function) if function else ()
    return {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    }


def _find_function(
    module: ast.Module, names: Sequence[str]
) -> tuple[list[ast.ClassDef], Function | None]:
    owners: list[ast.ClassDef] = []
    body = module.body
    for name in names:
        step = next((part for part in body if getattr(part, "name", None) == name), None)
        if isinstance(step, Function):
            return owners, step
        if not isinstance(step, ast.ClassDef):
            break
        owners.append(step)
        body = step.body
    return owners, None


def _list_plain(function: Function, owners: Sequence[ast.ClassDef]) -> list[ast.stmt]:
    """Return the steps of a function; those of a method without `self`."""
    steps = [step for step in function.body if not is_docstring(step)]
    return [_UnittestRewriter().visit(deepcopy(step)) for step in steps] if owners else steps


def _list_set_up(owner: ast.ClassDef, owners: Sequence[ast.ClassDef]) -> Iterator[ast.stmt]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name in _SET_UPS:
            steps = _list_plain(node, owners)
            yield from (step for step in steps if not write_code(step).startswith("super()"))


def _split_steps(body: Sequence[ast.stmt], line: int) -> _Split | None:
    """Return the steps before, at and after a line; None if the line is in none of them."""
    for index, step in enumerate(body):
        if _find_start(step) <= line <= (step.end_lineno or step.lineno):
            before, after = list(body[:index]), list(body[index + 1 :])
            inner = next(
                filter(None, (_split_steps(part, line) for part in _list_blocks(step))), None
            )
            if inner is None:
                return _Split(before, step, after)
            check = find_error_check(step)
            return _Split(
                [*before, *_drop_body(step), *inner.before],
                inner.failing,
                [*inner.after, *after],
                inner.check or check,
            )
    return None


def _find_start(step: ast.stmt) -> int:
    """Return the first line of a step with its decorators."""
    decorators = step.decorator_list if isinstance(step, Function | ast.ClassDef) else []
    return min([step.lineno, *(mark.lineno for mark in decorators)])


def _list_blocks(step: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the steps of a block that run in place."""
    if isinstance(step, ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.If | ast.Try):
        yield step.body
        yield from (getattr(step, name, []) for name in ("orelse", "finalbody"))


def _drop_body(step: ast.stmt) -> list[ast.stmt]:
    """Return a loop or the contexts of a block without its steps, and nothing for checks and other blocks."""
    if isinstance(step, ast.With | ast.AsyncWith):
        items = [item for item in step.items if read_error_check(item) is None]
        block = ast.copy_location(type(step)(items=items, body=[]), step)
        return [block] if items else []
    if isinstance(step, ast.For | ast.AsyncFor):
        loop = type(step)(target=step.target, iter=step.iter, body=[], orelse=[])
        return [ast.copy_location(loop, step)]
    return []


class _UnittestRewriter(ast.NodeTransformer):
    """Writes `self.name` as `name`, and the assertions of unittest as `assert`."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        """Return a class as it is: its `self` is another one."""
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the name of an attribute of `self`."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Return the `assert` for a method of unittest."""
        self.generic_visit(node)
        test = _read_assertion(node.value)
        return ast.copy_location(ast.Assert(test), node) if test else node


def _read_assertion(node: ast.expr) -> ast.expr | None:
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name)):
        return None
    name, (first, *others) = node.func.id, node.args
    if name in _COMPARISONS and others:
        return ast.Compare(first, [_COMPARISONS[name]()], [others[0]])
    if name == "assertIsInstance" and others:
        return ast.Call(ast.Name("isinstance", ast.Load()), [first, others[0]], [])
    return {
        "assertTrue": first,
        "assertFalse": ast.UnaryOp(ast.Not(), first),
        "assertIsNone": ast.Compare(first, [ast.Is()], [ast.Constant(None)]),
        "assertIsNotNone": ast.Compare(first, [ast.IsNot()], [ast.Constant(None)]),
    }.get(name)
