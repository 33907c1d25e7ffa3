"""Find what a failing test runs: the steps before the failure, the step that fails and those after it (pure)."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final, TypeGuard, TypeVar

from training.gym.statements.bound_names import list_bound
from training.gym.statements.error_check import find_error_check, read_error_check
from training.gym.statements.expression_wording import is_literal, write_code
from training.gym.statements.failure_text import Failure
from training.gym.statements.parameters import list_parameters, read_parameters
from training.gym.statements.step_wording import is_docstring
from training.gym.statements.unittest_rewriter import UnittestRewriter

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_Step = TypeVar("_Step", bound=ast.stmt)
_SET_UPS: Final = ("setUp", "setup_method")


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
    shared: AbstractSet[str]
    """Names that any call may bind anew: global names, and attributes of `self`, which stand here without it."""
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
    methods = [*set_ups, function]
    (*bodies, body), attributes = (
        _rewrite_unittest(methods) if owners else ([_list_body(function)], set[str]())
    )
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
        attributes | _list_declared(methods),
        module,
    )


def write_out_values(case: FailingCase) -> FailingCase:
    """Return a case whose failing comparison names literals instead of the names that stand for them."""
    step = case.failing
    if not (isinstance(step, ast.Assert) and isinstance(step.test, ast.Compare)):
        return case
    sides = [step.test.left, *step.test.comparators]
    written = [_write_out(side, case) for side in sides]
    if written == sides or all(map(is_literal, written)):
        return case
    test = ast.Compare(written[0], step.test.ops, written[1:])
    return replace(case, failing=ast.copy_location(ast.Assert(test), step))


def _write_out(node: ast.expr, case: FailingCase) -> ast.expr:
    """Return the literal that a name stands for; the node itself where that is not sure.

    A list may change where it is read, and a shared name where anything is called: after its assignment or in the comparison.
    """
    if not isinstance(node, ast.Name):
        return node
    is_shared = node.id in case.shared
    is_read, is_called = False, _has_call(case.failing)
    for step in reversed([*case.before, *([case.loop] if case.loop else [])]):
        uses = [
            part for part in ast.walk(step) if isinstance(part, ast.Name) and part.id == node.id
        ]
        # An inner function may bind a variable of the test, so its names count as well.
        is_stored = any(isinstance(part.ctx, ast.Store) for part in uses)
        if is_stored or node.id in list_bound(step):
            is_plain = isinstance(step, ast.Assign) and step.targets == uses
            value = step.value if is_plain and isinstance(step, ast.Assign) else node
            is_sure = isinstance(value, ast.Constant) or (is_literal(value) and not is_read)
            return value if is_sure and not (is_shared and is_called) else node
        is_read = is_read or bool(uses)
        is_called = is_called or _has_call(step)
    value = case.values.get(node.id, node)
    return value if is_literal(value) else node


def _has_call(step: ast.stmt | None) -> bool:
    return step is not None and any(isinstance(node, ast.Call) for node in ast.walk(step))


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


def _rewrite_unittest(methods: Sequence[Function]) -> tuple[list[list[ast.stmt]], set[str]]:
    """Return the steps of methods as those of functions, without `self` and with `assert`, and the names that lost `self`.

    An attribute keeps its `self` if a variable of a method has its name.
    """
    nodes = [node for method in methods for node in ast.walk(method)]
    variables = {node.id for node in nodes if isinstance(node, ast.Name)}
    variables |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    rewriter = UnittestRewriter(variables)
    bodies = [[rewriter.visit(deepcopy(s)) for s in _list_body(method)] for method in methods]
    return bodies, rewriter.attributes


def _list_declared(functions: Sequence[Function]) -> set[str]:
    """Return the names that functions, or those within them, declare as global or nonlocal."""
    nodes = [node for function in functions for node in ast.walk(function)]
    declarations = (node for node in nodes if isinstance(node, ast.Global | ast.Nonlocal))
    return {name for node in declarations for name in node.names}


def _split_steps(body: Sequence[ast.stmt], line: int) -> _Split | None:
    """Return the steps before, at and after a line; None if the line is in none of them."""
    for index, step in enumerate(body):
        if _find_start(step) <= line <= (step.end_lineno or step.lineno):
            blocks = (_split_block(step, *parts, line) for parts in _list_inner_blocks(step))
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


def _list_inner_blocks(step: ast.stmt) -> Iterator[tuple[list[ast.stmt], list[ast.stmt]]]:
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
