"""Say the steps of a test in English, in several ways, the most precise first (pure)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import islice
from typing import Final

from training.gym.statements.condition_wording import list_conditions
from training.gym.statements.expression_wording import (
    align,
    combine,
    join_words,
    list_calls,
    list_phrases,
    quote_code,
    write_code,
)

_MOST_WAYS: Final = 12
"""Ways of a step within a block that are tried."""
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_ERROR_CHECKS: Final = ("raises", "assertRaises", "assertRaisesRegex")
_WARNING_CHECKS: Final = ("warns", "assertWarns", "deprecated_call")
_EXPECTED_CLASSES: Final = ("expected_exception", "expected_warning")
"""Keywords for the class that a check waits for."""


@singledispatch
def list_steps(_: ast.stmt) -> Iterator[str]:
    """Yield ways to say a step as a clause without a full stop. There is none for a step that has no words here."""
    return iter(())


def list_checks(step: ast.stmt) -> Iterator[str]:
    """Yield ways to say what a step is expected to do after the failure."""
    if isinstance(step, ast.Assert):
        yield from list_conditions(step.test)
    elif isinstance(step, ast.With | ast.AsyncWith) and (check := find_error_check(step)):
        yield from _say_error_check(list_steps_under_check(step), check)
    else:
        yield from list_steps(step)


def find_error_check(step: ast.stmt) -> ast.Call | None:
    """Return the call of `pytest.raises` or `pytest.warns` of a block; None for another step."""
    items = step.items if isinstance(step, ast.With | ast.AsyncWith) else ()
    return next(filter(None, map(read_error_check, items)), None)


def read_error_check(item: ast.withitem) -> ast.Call | None:
    """Return the call of `pytest.raises` or `pytest.warns` of one context; None for another context."""
    call = item.context_expr
    if isinstance(call, ast.Call) and _name_function(call) in _ERROR_CHECKS + _WARNING_CHECKS:
        return call
    return None


def list_steps_under_check(step: ast.With | ast.AsyncWith) -> list[ast.stmt]:
    """Return the steps under the check of a block, in a block of its other contexts if it has some."""
    check = find_error_check(step)
    others = [item for item in step.items if item.context_expr is not check]
    return [type(step)(items=others, body=step.body)] if others else step.body


def say_expected_error(check: ast.Call) -> Iterator[str]:
    """Yield ways to say the error or warning that a check waits for."""
    shown = _name_kind(check)
    for keyword in check.keywords:
        if keyword.arg == "match":
            for phrase in list_phrases(keyword.value):
                yield f"{shown} with a message that matches {phrase}"
    yield shown


def _name_kind(check: ast.Call) -> str:
    """Return the class that a check waits for; words for any error or any warning."""
    named = [word.value for word in check.keywords if word.arg in _EXPECTED_CLASSES]
    kind = next((quote_code(write_code(node)) for node in (*check.args, *named)), "")
    name = _name_function(check)
    if name in _WARNING_CHECKS and kind:
        return f"the warning {kind}"
    if name == "deprecated_call":
        return "a warning about deprecated use"
    return kind or ("a warning" if name in _WARNING_CHECKS else "an error")


def say_omission(step: ast.stmt) -> str:
    """Return the clause for a step that has no safe wording: the names that it binds."""
    stored = [
        node.id
        for node in ast.walk(step)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    names = join_words([quote_code(name) for name in dict.fromkeys(stored) if name.strip("_")])
    return f"make {names} (I leave out how)" if names else "take a step that I leave out here"


def name_bound(target: ast.expr) -> str:
    """Return the code of what an assignment binds, without the brackets of a pair."""
    code = write_code(target)
    return code[1:-1] if isinstance(target, ast.Tuple) and code.startswith("(") else code


def _name_function(call: ast.Call) -> str:
    return write_code(call.func).rpartition(".")[2]


def _say_error_check(body: Sequence[ast.stmt], check: ast.Call) -> Iterator[str]:
    blocks = list(islice(_list_blocks(body), _MOST_WAYS))
    for steps, error in combine(blocks, list(say_expected_error(check))):
        yield f"{steps}; this gives {error}"


def _list_blocks(steps: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield ways to say some steps in one clause."""
    ways = [list(islice(list_steps(step), _MOST_WAYS)) for step in steps if not is_docstring(step)]
    if all(ways):
        yield from map("; ".join, align(ways))


def is_docstring(step: ast.stmt) -> bool:
    """Return whether a step is a text alone, which does nothing."""
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


@list_steps.register
def _say_assignment(step: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = step.targets if isinstance(step, ast.Assign) else [step.target]
    phrases = list_phrases(step.value) if step.value is not None else iter(())
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple) and len(targets[0].elts) == 1:
        name = quote_code(write_code(targets[0].elts[0]))
        yield from (f"set {name} to the only item of {phrase}" for phrase in phrases)
        return
    name = join_words([quote_code(name_bound(target)) for target in targets])
    yield from (f"set {name} to {phrase}" for phrase in phrases)


@list_steps.register
def _say_change(step: ast.AugAssign) -> Iterator[str]:
    yield f"run {quote_code(write_code(step))}"
    for phrase in list_phrases(step.value):
        yield f"change {quote_code(write_code(step.target))} by {phrase}"


@list_steps.register
def _say_expression(step: ast.Expr) -> Iterator[str]:
    value = step.value.value if isinstance(step.value, ast.Await) else step.value
    if isinstance(value, ast.Yield | ast.YieldFrom):
        phrases = list_phrases(value.value) if value.value else iter(["nothing"])
        yield from (f"yield {phrase}" for phrase in phrases)
    elif isinstance(value, ast.Call):
        yield from (f"call {way}" for way in list_calls(value))
    elif not is_docstring(step):
        yield from (f"evaluate {phrase}" for phrase in list_phrases(value))


@list_steps.register
def _say_assertion(step: ast.Assert) -> Iterator[str]:
    yield from (f"check that {way}" for way in list_conditions(step.test))


@list_steps.register
def _say_block(step: ast.With | ast.AsyncWith) -> Iterator[str]:
    if check := find_error_check(step):
        yield from _say_error_check(list_steps_under_check(step), check)
        return
    contexts = []
    for item in step.items:
        name = f" as {quote_code(name_bound(item.optional_vars))}" if item.optional_vars else ""
        contexts.append([f"{phrase}{name}" for phrase in list_phrases(item.context_expr)])
    headers = (f"enter the context {join_words(ways)}" for ways in align(contexts))
    yield from _add_body(headers, step.body)


@list_steps.register
def _say_loop(step: ast.For | ast.AsyncFor) -> Iterator[str]:
    target = quote_code(name_bound(step.target))
    yield from _add_body(
        (f"for each {target} of {way}" for way in list_phrases(step.iter)), step.body
    )


@list_steps.register
def _say_choice(step: ast.If) -> Iterator[str]:
    ways = _add_body((f"if {way}" for way in list_conditions(step.test)), step.body)
    if step.orelse:
        ways = _add_body((f"{way}; otherwise" for way in ways), step.orelse)
    yield from ways


def _add_body(headers: Iterable[str], body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield headers with their steps: several stand in brackets. A header without steps stands alone."""
    if not body:
        yield from headers
        return
    blocks = list(islice(_list_blocks(body), _MOST_WAYS))
    for header, steps in combine(list(islice(headers, _MOST_WAYS)), blocks):
        yield f"{header} ({steps})" if len(body) > 1 else f"{header}, {steps}"


@list_steps.register
def _say_function(step: _FUNCTION) -> Iterator[str]:
    header = f"define {quote_code(f'{step.name}({write_code(step.args)})')}"
    marks = [list(islice(_list_marks(mark), _MOST_WAYS)) for mark in step.decorator_list]
    # Computed once: computing it for each decorator would take exponential time in nested functions.
    blocks = list(islice(_list_blocks(step.body), _MOST_WAYS))
    for ways in align(marks) if marks else [[]]:
        decorated = join_words(ways)
        shown = f"{header}{' decorated by ' if decorated else ''}{decorated}"
        yield from (f"{shown} ({steps})" for steps in blocks)
        yield f"{shown}, whose steps are left out here"


def _list_marks(mark: ast.expr) -> Iterator[str]:
    yield from list_calls(mark) if isinstance(mark, ast.Call) else list_phrases(mark)


@list_steps.register
def _say_class(step: ast.ClassDef) -> Iterator[str]:
    bases = join_words([quote_code(write_code(base)) for base in step.bases])
    header = f"define the class {quote_code(step.name)}{' from ' if bases else ''}{bases}"
    yield from (f"{header} ({steps})" for steps in _list_blocks(step.body))
    yield f"{header}, whose steps are left out here"


@list_steps.register
def _say_return(step: ast.Return) -> Iterator[str]:
    phrases = list_phrases(step.value) if step.value else iter(["nothing"])
    yield from (f"return {phrase}" for phrase in phrases)


@list_steps.register
def _say_raise(step: ast.Raise) -> Iterator[str]:
    phrases = list_phrases(step.exc) if step.exc else iter(["the error again"])
    yield from (f"raise {phrase}" for phrase in phrases)


@list_steps.register
def _say_deletion(step: ast.Delete) -> Iterator[str]:
    yield f"delete {join_words([quote_code(write_code(target)) for target in step.targets])}"


@list_steps.register
def _say_import(step: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [
        quote_code(alias.name) + (f" as {quote_code(alias.asname)}" if alias.asname else "")
        for alias in step.names
    ]
    module = "." * step.level + (step.module or "") if isinstance(step, ast.ImportFrom) else ""
    yield f"import {join_words(names)}{f' from {quote_code(module)}' if module else ''}"


@list_steps.register
def _say_scope(step: ast.Global | ast.Nonlocal) -> Iterator[str]:
    owner = "the module" if isinstance(step, ast.Global) else "the outer function"
    yield f"use {join_words(list(map(quote_code, step.names)))} of {owner}"


@list_steps.register
def _say_nothing(_: ast.Pass) -> Iterator[str]:
    yield "do nothing"


@list_steps.register
def _say_end(step: ast.Break | ast.Continue) -> Iterator[str]:
    yield "end the loop" if isinstance(step, ast.Break) else "go on with the next one"


@list_steps.register
def _say_attempt(step: ast.Try) -> Iterator[str]:
    errors = [write_code(handler.type) for handler in step.handlers if handler.type]
    caught = f" and catch {join_words(list(map(quote_code, errors)))}" if errors else ""
    for body in _list_blocks([*step.body, *step.orelse, *step.finalbody]):
        yield f"try this{caught} ({body})"


@list_steps.register
def _say_repetition(step: ast.While) -> Iterator[str]:
    is_endless = isinstance(step.test, ast.Constant) and step.test.value
    headers = (f"as long as {way}" for way in list_conditions(step.test))
    yield from _add_body(["again and again"] if is_endless else headers, step.body)
