"""Say the steps of a test in English, in several ways, the most precise first (pure)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import chain, islice
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
_WARNING_CHECKS: Final = ("warns", "assertWarns", "assertWarnsRegex", "deprecated_call")
_PATTERNS: Final = ("match", "expected_regex")
_EXPECTED_CLASSES: Final = ("expected_exception", "expected_warning")
"""Keywords for the class that a check waits for."""
_LEFT_OUT: Final = ["`...`"]  # the way to say a long expression that has no other one
_LOOP_END: Final = "if no step ends the loop"


@singledispatch
def list_steps(_: ast.stmt) -> Iterator[str]:
    """Yield ways to say a step as a clause without a full stop. There is none for a step that has no words here."""
    return iter(())


def list_checks(step: ast.stmt) -> Iterator[str]:
    """Yield ways to say what a step is expected to do after the failure."""
    return list_conditions(step.test) if isinstance(step, ast.Assert) else list_steps(step)


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
    patterns = check.args[1:2] if _name_function(check).endswith("Regex") else []
    patterns += [word.value for word in check.keywords if word.arg in _PATTERNS]
    for phrase in chain.from_iterable(map(list_phrases, patterns)):
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
    acts = [step for step in steps if not is_docstring(step)] or [ast.Pass()]
    ways = [list(islice(list_steps(step), _MOST_WAYS)) for step in acts]
    if all(ways):
        yield from map("; ".join, align(ways))


def is_docstring(step: ast.stmt) -> bool:
    """Return whether a step is a text alone, which does nothing."""
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)


@list_steps.register
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


@list_steps.register
def _say_change(step: ast.AugAssign) -> Iterator[str]:
    yield f"run {quote_code(write_code(step))}"
    for phrase in list_phrases(step.value):
        yield f"change {quote_code(write_code(step.target))} by {phrase}"


@list_steps.register
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
        phrases = list(list_phrases(item.context_expr)) or _LEFT_OUT
        contexts.append([f"{phrase}{name}" for phrase in phrases])
    kind = "async context" if isinstance(step, ast.AsyncWith) else "context"
    headers = (f"enter the {kind} {join_words(ways)}" for ways in align(contexts))
    yield from _add_body(headers, step.body)


@list_steps.register
def _say_loop(step: ast.For | ast.AsyncFor) -> Iterator[str]:
    header = f"for each {quote_code(name_bound(step.target))} of "
    header += "the async " if isinstance(step, ast.AsyncFor) else ""
    ways = _add_body((f"{header}{way}" for way in list_phrases(step.iter)), step.body)
    yield from _add_branch(ways, _LOOP_END, step.orelse)


@list_steps.register
def _say_choice(step: ast.If) -> Iterator[str]:
    ways = _add_body((f"if {way}" for way in list_conditions(step.test)), step.body)
    yield from _add_branch(ways, "otherwise", step.orelse)


def _add_branch(ways: Iterable[str], header: str, body: Sequence[ast.stmt]) -> Iterable[str]:
    """Return ways with one more branch, if it has steps."""
    return _add_body((f"{way}; {header}" for way in ways), body) if body else ways


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
    kind = "the async function " if isinstance(step, ast.AsyncFunctionDef) else ""
    code = quote_code(f"{step.name}({write_code(step.args)})")
    yield from _say_definition(step, f"define {kind}{code}")


def _say_definition(step: _FUNCTION | ast.ClassDef, header: str) -> Iterator[str]:
    """Yield ways to say a definition with its decorators and its steps."""
    marks = list(map(_list_marks, step.decorator_list))
    # Computed once: computing it for each decorator would take exponential time in nested functions.
    blocks = list(islice(_list_blocks(step.body), _MOST_WAYS))
    for ways in align(marks) if marks else [[]]:
        shown = f"{header}{' decorated by ' if ways else ''}{join_words(ways)}"
        yield from (f"{shown} ({steps})" for steps in blocks)
        yield f"{shown}, whose steps are left out here"


def _list_marks(mark: ast.expr) -> list[str]:
    ways = list_calls(mark) if isinstance(mark, ast.Call) else list_phrases(mark)
    return list(islice(ways, _MOST_WAYS)) or _LEFT_OUT


@list_steps.register
def _say_class(step: ast.ClassDef) -> Iterator[str]:
    bases = join_words([quote_code(write_code(base)) for base in (*step.bases, *step.keywords)])
    origin = f" from {bases}" if bases else ""
    yield from _say_definition(step, f"define the class {quote_code(step.name)}{origin}")


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
    ways: Iterable[str] = (f"try this ({body})" for body in _list_blocks(step.body))
    for handler in step.handlers:
        name = f" as {quote_code(handler.name)}" if handler.name else ""
        error = quote_code(write_code(handler.type or ast.Name("BaseException")))
        ways = _add_branch(ways, f"if it raises {error}{name}", handler.body)
    ways = _add_branch(ways, "if it raises nothing", step.orelse)
    yield from _add_branch(ways, "in the end", step.finalbody)


@list_steps.register
def _say_repetition(step: ast.While) -> Iterator[str]:
    is_endless = isinstance(step.test, ast.Constant) and step.test.value
    headers = (f"as long as {way}" for way in list_conditions(step.test))
    ways = _add_body(["again and again"] if is_endless else headers, step.body)
    yield from _add_branch(ways, _LOOP_END, step.orelse)
