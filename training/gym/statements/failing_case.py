"""Find what a failing test runs: the steps before the failure, the step that fails and those after it (pure)."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final, TypeGuard, TypeVar

from training.gym.statements.error_check import find_error_check, read_error_check
from training.gym.statements.expression_wording import is_literal, write_code
from training.gym.statements.failure_text import Failure
from training.gym.statements.parameters import list_parameters, read_parameters
from training.gym.statements.step_wording import is_docstring

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_Step = TypeVar("_Step", bound=ast.stmt)
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
    loop: Loop | None
    """The outermost loop whose rounds run the failing step. Its steps are neither in `before` nor in `after`."""
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
    loop: Loop | None = None


def parse_module(text: str) -> ast.Module | None:
    """Return the syntax tree of a module; None for the syntax of another Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def find_case(test: str, failure: Failure, module: ast.Module) -> FailingCase | None:
    """Return the case of a test in its module; None if its function is not there."""
    plain, _, parameter = test.partition("[")
    path, *nested_names = plain.split("::")
    owners, function = _find_function(module, nested_names)
    if function is None:
        return None
    lines = [line for place, line in failure.places if place == path]
    set_ups = [part for owner in owners for part in owner.body if _is_set_up(part)]
    *bodies, body = _rewrite_unittest([*set_ups, function]) if owners else [_list_body(function)]
    prepared = (step for steps in bodies for step in steps)
    set_up = [step for step in prepared if not write_code(step).startswith("super()")]
    split = next(filter(None, (_split_steps(body, line) for line in lines)), None)
    marked = (*owners, function)
    parametrised = list_parameters(marked)
    arguments = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    return FailingCase(
        (*set_up, *(split.before if split else ())),
        split.failing if split else None,
        split.loop if split else None,
        tuple(split.after if split else body),
        split.check if split else None,
        tuple(parametrised),
        read_parameters(marked, parameter.removesuffix("]"), failure),
        tuple(name for name in arguments if name not in {"self", "cls", *parametrised}),
        module,
    )


def write_out_values(case: FailingCase) -> FailingCase:
    """Return a case whose failing comparison names literals instead of the names that stand for them."""
    step = case.failing
    if not (isinstance(step, ast.Assert) and isinstance(step.test, ast.Compare)):
        return case
    sides = [step.test.left, *step.test.comparators]
    before = [*case.before, *([case.loop] if case.loop else [])]
    written = [_write_out(side, before, case.values) for side in sides]
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
        # The last definition of a name replaces those before it.
        step = next((part for part in body[::-1] if getattr(part, "name", None) == name), None)
        if isinstance(step, Function):
            return owners, step
        if not isinstance(step, ast.ClassDef):
            break
        owners.append(step)
        body = step.body
    return owners, None


def _is_set_up(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name in _SET_UPS


def _list_body(function: Function) -> list[ast.stmt]:
    return [step for step in function.body if not is_docstring(step)]


def _rewrite_unittest(methods: Sequence[Function]) -> Iterator[list[ast.stmt]]:
    """Yield the steps of methods as those of functions: without `self`, and with `assert`.

    An attribute keeps its `self` if a variable of a method has its name.
    """
    nodes = [node for method in methods for node in ast.walk(method)]
    variables = {node.id for node in nodes if isinstance(node, ast.Name)}
    variables |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for method in methods:
        yield [_UnittestRewriter(variables).visit(deepcopy(s)) for s in _list_body(method)]


def _split_steps(body: Sequence[ast.stmt], line: int) -> _Split | None:
    """Return the steps before, at and after a line; None if the line is in none of them."""
    for index, step in enumerate(body):
        if _find_start(step) <= line <= (step.end_lineno or step.lineno):
            blocks = (_split_block(step, *parts, line) for parts in _list_blocks(step))
            inner = next(filter(None, blocks), None) or _Split([], step, [])
            before = [*body[:index], *inner.before]
            return replace(inner, before=before, after=[*inner.after, *body[index + 1 :]])
    return None


def _split_block(
    step: ast.stmt, opening: Sequence[ast.stmt], block: Sequence[ast.stmt], line: int
) -> _Split | None:
    """Return the steps of a block before, at and after a line. The steps of a loop stay in it: earlier rounds run them all."""
    inner = _split_steps(block, line)
    if inner is None:
        return None
    if isinstance(step, Loop) and block is step.body:
        loop = _replace(step, orelse=[])
        return replace(inner, before=[], after=[], loop=loop)
    check = inner.check or find_error_check(step)
    return replace(inner, before=[*opening, *inner.before], check=check)


def _find_start(step: ast.stmt) -> int:
    """Return the first line of a step with its decorators."""
    decorators = step.decorator_list if isinstance(step, Function | ast.ClassDef) else []
    return min([step.lineno, *(mark.lineno for mark in decorators)])


def _list_blocks(step: ast.stmt) -> Iterator[tuple[list[ast.stmt], list[ast.stmt]]]:
    """Yield the parts of a step that run before a block in it, and the block. Contexts that check for errors are left out."""
    if isinstance(step, ast.With | ast.AsyncWith):
        items = [item for item in step.items if read_error_check(item) is None]
        yield [_replace(step, items=items, body=[])] if items else [], step.body
    elif isinstance(step, Loop):
        yield [], step.body
        yield [_replace(step, orelse=[])], step.orelse
    elif isinstance(step, ast.If):
        yield [], step.body
        yield [], step.orelse
    elif isinstance(step, ast.Try):
        yield [], step.body
        yield step.body, step.orelse
        yield [_replace(step, finalbody=[])] if step.handlers else step.body, step.finalbody


def _replace(step: _Step, **fields: Sequence[ast.AST]) -> _Step:
    return type(step)(**{**vars(step), **fields})


class _UnittestRewriter(ast.NodeTransformer):
    """Writes the assertions of unittest as `assert`, and `self.name` as `name` if no variable has that name."""

    def __init__(self, variables: AbstractSet[str]) -> None:
        self._variables = variables

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        """Return a class as it is: its `self` is another one."""
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Return the name of an attribute of `self`."""
        self.generic_visit(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if is_own and node.attr not in self._variables:
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
