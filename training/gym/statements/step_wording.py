"""Say the steps of a test in English, in several ways, the most precise first (pure)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import islice

from training.gym.statements.block_wording import (
    LEFT_OUT,
    MOST_WAYS,
    Branch,
    list_branches,
    name_bound,
)
from training.gym.statements.bound_names import list_bound
from training.gym.statements.condition_wording import list_conditions
from training.gym.statements.error_check import (
    find_error_check,
    list_steps_under_check,
    say_expected_error,
)
from training.gym.statements.expression_wording import (
    align,
    combine,
    join_words,
    list_calls,
    list_phrases,
    quote_code,
    write_code,
)

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


@singledispatch
def list_step_wordings(_: ast.stmt) -> Iterator[str]:
    """Yield ways to say a step as a clause without a full stop. There is none for a step that has no words here."""
    return iter(())


def list_check_wordings(step: ast.stmt) -> Iterator[str]:
    """Yield ways to say what a step is expected to do after the failure."""
    return list_conditions(step.test) if isinstance(step, ast.Assert) else list_step_wordings(step)


def say_omission(step: ast.stmt) -> str:
    """Return the clause for a step that has no safe wording: the names that it binds."""
    bound = dict.fromkeys(list_bound(step))
    names = join_words([quote_code(name) for name in bound if name.strip("_")])
    return f"make {names} (I leave out how)" if names else "take a step that I leave out here"


def _say_error_check(body: Sequence[ast.stmt], check: ast.Call) -> Iterator[str]:
    blocks = list(islice(_list_clauses(body), MOST_WAYS))
    for steps, error in combine(blocks, list(say_expected_error(check))):
        yield f"{steps}; this gives {error}"


def _list_clauses(steps: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield ways to say some steps in one clause."""
    acts = [step for step in steps if not is_docstring(step)] or [ast.Pass()]
    ways = [list(islice(list_step_wordings(step), MOST_WAYS)) for step in acts]
    if all(ways):
        yield from map("; ".join, align(ways))


def is_docstring(step: ast.stmt) -> bool:
    """Return whether a step is a text alone, which does nothing."""
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


@list_step_wordings.register
def _say_assignment(step: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = step.targets if isinstance(step, ast.Assign) else [step.target]
    if step.value is None:
        yield f"declare {quote_code(write_code(step))}"
        return
    phrases = list_phrases(step.value)
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple) and len(targets[0].elts) == 1:
        name = quote_code(write_code(targets[0].elts[0]))
        yield from (f"set {name} to the only item of {phrase}" for phrase in phrases)
        return
    name = join_words([quote_code(name_bound(target)) for target in targets])
    yield from (f"set {name} to {phrase}" for phrase in phrases)


@list_step_wordings.register
def _say_change(step: ast.AugAssign) -> Iterator[str]:
    yield f"run {quote_code(write_code(step))}"
    for phrase in list_phrases(step.value):
        yield f"change {quote_code(write_code(step.target))} by {phrase}"


@list_step_wordings.register
def _say_expression(step: ast.Expr) -> Iterator[str]:
    value = step.value
    call = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Yield | ast.YieldFrom):
        phrases = list_phrases(value.value) if value.value else iter(["nothing"])
        yield from (f"yield {phrase}" for phrase in phrases)
    elif isinstance(call, ast.Call):
        verb = "call" if call is value else "call and await"
        yield from (f"{verb} {way}" for way in list_calls(call))
    elif not is_docstring(step):
        yield from (f"evaluate {phrase}" for phrase in list_phrases(value))


@list_step_wordings.register
def _say_assertion(step: ast.Assert) -> Iterator[str]:
    yield from (f"check that {way}" for way in list_conditions(step.test))


@list_step_wordings.register
def _say_context(step: ast.With | ast.AsyncWith) -> Iterator[str]:
    if check := find_error_check(step):
        yield from _say_error_check(list_steps_under_check(step), check)
    else:
        yield from _say_block(step)


@list_step_wordings.register
def _say_flow(step: ast.For | ast.AsyncFor | ast.While | ast.If) -> Iterator[str]:
    yield from _say_block(step)


def _say_block(step: ast.stmt) -> Iterator[str]:
    first, *others = list_branches(step)
    yield from _add_branches(_add_body(first.headers, first.body), others)


@list_step_wordings.register
def _say_attempt(step: ast.Try) -> Iterator[str]:
    first, *others = list_branches(step)
    ways = (f"{header} ({body})" for header in first.headers for body in _list_clauses(first.body))
    yield from _add_branches(ways, others)


def _add_branches(ways: Iterable[str], branches: Iterable[Branch]) -> Iterable[str]:
    """Return ways with more branches: those that have steps. Each has one header, unlike the first branch of a block."""
    for branch in branches:
        [header] = branch.headers
        ways = _add_branch(ways, header, branch.body)
    return ways


def _add_branch(ways: Iterable[str], header: str, body: Sequence[ast.stmt]) -> Iterable[str]:
    """Return ways with one more branch, if it has steps."""
    return _add_body((f"{way}; {header}" for way in ways), body) if body else ways


def _add_body(headers: Iterable[str], body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield headers with their steps: several stand in brackets. A header without steps stands alone."""
    if not body:
        yield from headers
        return
    blocks = list(islice(_list_clauses(body), MOST_WAYS))
    for header, steps in combine(list(islice(headers, MOST_WAYS)), blocks):
        yield f"{header} ({steps})" if len(body) > 1 else f"{header}, {steps}"


@list_step_wordings.register
def _say_function(step: _FUNCTION) -> Iterator[str]:
    kind = "the async function " if isinstance(step, ast.AsyncFunctionDef) else ""
    code = quote_code(f"{step.name}({write_code(step.args)})")
    yield from _say_definition(step, f"define {kind}{code}")


def _say_definition(step: _FUNCTION | ast.ClassDef, header: str) -> Iterator[str]:
    """Yield ways to say a definition with its decorators and its steps."""
    marks = list(map(_list_marks, step.decorator_list))
    # Computed once: computing it for each decorator would take exponential time in nested functions.
    blocks = list(islice(_list_clauses(step.body), MOST_WAYS))
    for ways in align(marks) if marks else [[]]:
        shown = f"{header}{' decorated by ' if ways else ''}{join_words(ways)}"
        yield from (f"{shown} ({steps})" for steps in blocks)
        yield f"{shown}, whose steps are left out here"


def _list_marks(mark: ast.expr) -> list[str]:
    ways = list_calls(mark) if isinstance(mark, ast.Call) else list_phrases(mark)
    return list(islice(ways, MOST_WAYS)) or LEFT_OUT


@list_step_wordings.register
def _say_class(step: ast.ClassDef) -> Iterator[str]:
    bases = join_words([quote_code(write_code(base)) for base in (*step.bases, *step.keywords)])
    origin = f" from {bases}" if bases else ""
    yield from _say_definition(step, f"define the class {quote_code(step.name)}{origin}")


@list_step_wordings.register
def _say_return(step: ast.Return) -> Iterator[str]:
    phrases = list_phrases(step.value) if step.value else iter(["nothing"])
    yield from (f"return {phrase}" for phrase in phrases)


@list_step_wordings.register
def _say_raise(step: ast.Raise) -> Iterator[str]:
    phrases = list_phrases(step.exc) if step.exc else iter(["the error again"])
    yield from (f"raise {phrase}" for phrase in phrases)


@list_step_wordings.register
def _say_deletion(step: ast.Delete) -> Iterator[str]:
    yield f"delete {join_words([quote_code(write_code(target)) for target in step.targets])}"


@list_step_wordings.register
def _say_import(step: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [
        quote_code(alias.name) + (f" as {quote_code(alias.asname)}" if alias.asname else "")
        for alias in step.names
    ]
    module = "." * step.level + (step.module or "") if isinstance(step, ast.ImportFrom) else ""
    yield f"import {join_words(names)}{f' from {quote_code(module)}' if module else ''}"


@list_step_wordings.register
def _say_scope(step: ast.Global | ast.Nonlocal) -> Iterator[str]:
    owner = "the module" if isinstance(step, ast.Global) else "the outer function"
    yield f"use {join_words(list(map(quote_code, step.names)))} of {owner}"


@list_step_wordings.register
def _say_nothing(_: ast.Pass) -> Iterator[str]:
    yield "do nothing"


@list_step_wordings.register
def _say_end(step: ast.Break | ast.Continue) -> Iterator[str]:
    yield "end the loop" if isinstance(step, ast.Break) else "go on with the next one"
