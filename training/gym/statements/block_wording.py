"""Say what stands before each branch of a block, in several ways, the most precise first (pure)."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import islice
from typing import Final

from training.gym.statements.condition_wording import list_conditions
from training.gym.statements.error_check import find_error_check, say_expected_error
from training.gym.statements.expression_wording import (
    align,
    combine,
    join_words,
    list_phrases,
    quote_code,
    write_code,
)

MOST_WAYS: Final = 12
"""Ways of a step within a block that are tried."""
LEFT_OUT: Final = ["`...`"]  # the way to say a long expression that has no other one
_LOOP_END: Final = "if no step ends the loop"


@dataclass(frozen=True, slots=True)
class Branch:
    """Some steps of a block that run together."""

    headers: Sequence[str]
    """Ways to say when they run, as a clause."""
    body: Sequence[ast.stmt]


@singledispatch
def list_branches(_: ast.stmt) -> Iterator[Branch]:
    """Yield the branches of a block. There is none for a step that is no block, or has no words here."""
    return iter(())


def name_bound(target: ast.expr) -> str:
    """Return the code of what an assignment binds, without the brackets of a pair."""
    code = write_code(target)
    return code[1:-1] if isinstance(target, ast.Tuple) and code.startswith("(") else code


@list_branches.register
def _list_loop(step: ast.For | ast.AsyncFor) -> Iterator[Branch]:
    header = f"for each {quote_code(name_bound(step.target))} of "
    header += "the async " if isinstance(step, ast.AsyncFor) else ""
    yield _make_branch((f"{header}{way}" for way in list_phrases(step.iter)), step.body)
    yield Branch([_LOOP_END], step.orelse)


@list_branches.register
def _list_repetition(step: ast.While) -> Iterator[Branch]:
    is_endless = isinstance(step.test, ast.Constant) and step.test.value
    headers = (f"as long as {way}" for way in list_conditions(step.test))
    yield _make_branch(iter(["again and again"]) if is_endless else headers, step.body)
    yield Branch([_LOOP_END], step.orelse)


@list_branches.register
def _list_choice(step: ast.If) -> Iterator[Branch]:
    yield _make_branch((f"if {way}" for way in list_conditions(step.test)), step.body)
    yield Branch(["otherwise"], step.orelse)


@list_branches.register
def _list_context(step: ast.With | ast.AsyncWith) -> Iterator[Branch]:
    check = find_error_check(step)
    headers = _say_contexts(step, [item for item in step.items if item.context_expr is not check])
    if check is None:
        yield _make_branch(headers, step.body)
        return
    errors = [f"expect {way} from this" for way in say_expected_error(check)]
    pairs = combine(list(islice(headers, MOST_WAYS)), errors)
    joined = (f"{header} and {error}" for header, error in pairs)
    yield _make_branch(joined if len(step.items) > 1 else iter(errors), step.body)


def _say_contexts(step: ast.With | ast.AsyncWith, items: Sequence[ast.withitem]) -> Iterator[str]:
    contexts = []
    for item in items:
        name = f" as {quote_code(name_bound(item.optional_vars))}" if item.optional_vars else ""
        phrases = list(list_phrases(item.context_expr)) or LEFT_OUT
        contexts.append([f"{phrase}{name}" for phrase in phrases])
    kind = "async context" if isinstance(step, ast.AsyncWith) else "context"
    yield from (f"enter the {kind} {join_words(ways)}" for ways in align(contexts))


@list_branches.register
def _list_attempt(step: ast.Try) -> Iterator[Branch]:
    yield Branch(["try this"], step.body)
    for handler in step.handlers:
        name = f" as {quote_code(handler.name)}" if handler.name else ""
        error = quote_code(write_code(handler.type or ast.Name("BaseException")))
        yield Branch([f"if it raises {error}{name}"], handler.body)
    yield Branch(["if it raises nothing"], step.orelse)
    yield Branch(["in the end"], step.finalbody)


def _make_branch(headers: Iterator[str], body: Sequence[ast.stmt]) -> Branch:
    return Branch(list(islice(headers, MOST_WAYS)), body)
