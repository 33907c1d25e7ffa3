"""Write the lines of a statement about one failing test: what is run, what happens and what is expected (pure)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final

from training.gym.leak_check import LeakGuard
from training.gym.statements.condition_wording import list_results, order_comparison
from training.gym.statements.error_check import find_error_check, list_steps_under_check
from training.gym.statements.expression_wording import list_calls, quote_code
from training.gym.statements.failing_case import FailingCase, write_out_values
from training.gym.statements.failure_text import Failure, find_call
from training.gym.statements.outcome_wording import Outcome, describe_outcome
from training.gym.statements.step_choice import choose_steps, list_used
from training.gym.statements.step_outline import (
    MOST_STEPS,
    MOST_WAYS,
    StepLine,
    limit_lines,
    list_lines,
    outline_loop,
)
from training.gym.statements.step_wording import list_check_wordings, say_omission

_MOST_CHECKS: Final = 6
_MOST_LINES: Final = 10
"""Lines of an error."""
_FOLDERS: Final = {"tmpdir": "an empty folder", "tmp_path": "the path of an empty folder"}


@dataclass(frozen=True, slots=True)
class FailedTest:
    """A fail-to-pass test with its failure before the patch."""

    id: str
    failure: Failure
    case: FailingCase | None
    """None if its source cannot be read."""
    modules: tuple[ast.Module, ...] = ()
    """Where its fixtures are: its own module and the `conftest.py` files around it."""

    @property
    def parameter(self) -> str:
        """The part of the id in brackets."""
        return self.id.partition("[")[2].removesuffix("]")


def describe_test(test: FailedTest, guard: LeakGuard) -> Iterator[str]:
    """Yield the lines about a test."""
    case = write_out_values(test.case) if test.case else None
    outcome = describe_outcome(test.failure, case)
    has_place = case is None or case.failing is not None
    title = "What I run:" if has_place else "What I want to run:"
    if steps := list(_number(_list_run(replace(test, case=case), outcome), guard)):
        yield from (title, "", *steps, "")
    happens = "What happens then:" if steps and has_place else "What happens:"
    if case and case.loop:
        happens = "What happens in that round:"
    yield from _describe_outcome(happens, test.failure, outcome, guard)
    after = case.after if case and case.failing else ()
    checks = [_say(chain(list_check_wordings(step), _omit(step)), guard) for step in after]
    if shown := [check for check in checks if check][:_MOST_CHECKS]:
        yield from ("", "After that, this should work:", "", *(f"- {check}" for check in shown))


def _omit(step: ast.stmt) -> Iterator[str]:
    """Yield the clause for a step that has no safe wording, but none for a check: later steps do not need it."""
    if not isinstance(step, ast.Assert):
        yield say_omission(step)


def _number(lines: Iterable[StepLine], guard: LeakGuard) -> Iterator[str]:
    """Yield the lines of a numbered list. Those within a block stand in a bullet list under its header."""
    number = 0
    for line in lines:
        if text := _say(line.ways, guard, end=":" if line.is_header else "."):
            number += line.depth == 0
            yield f"{'    ' * line.depth}- {text}" if line.depth else f"{number}. {text}"


def _list_run(test: FailedTest, outcome: Outcome) -> Iterator[StepLine]:
    """Yield the lines of the steps up to the failure, and of all steps of a loop around it."""
    case = test.case
    if case is None:
        if call := find_call(test.failure.marked):
            yield StepLine([f"call {way}" for way in list_calls(call)])
        return
    failing = case.loop or case.failing
    shown = [*([failing] if failing else []), *case.after[:_MOST_CHECKS]]
    chosen = choose_steps(case, shown, test.modules, test.parameter)
    used = {name for step in (*chosen.steps, *shown) for name in list_used(step)}
    folders = {name: text for name, text in _FOLDERS.items() if name in used}
    yield from list_lines(chosen.definitions)
    for name, text in folders.items():
        yield StepLine([f"take {text} as {quote_code(name)}"])
    yield from limit_lines(chosen.steps)
    yield from _list_failing(case, outcome)


def _list_failing(case: FailingCase, outcome: Outcome) -> list[StepLine]:
    """Return the lines of the step that fails, or of the loop around it; none for a comparison, of which the outcome tells."""
    step = case.failing
    if step is None:
        steps: Sequence[ast.stmt] = case.after[:MOST_STEPS]
        return [StepLine(list(islice(list_check_wordings(part), MOST_WAYS))) for part in steps]
    if case.loop:
        return list(outline_loop(case.loop, step))
    if isinstance(step, ast.With | ast.AsyncWith) and find_error_check(step):
        return list_lines(list_steps_under_check(step))
    if not isinstance(step, ast.Assert):
        return list_lines([step])
    if outcome.is_comparison:
        return []
    result = step.test
    if isinstance(result, ast.Compare) and len(result.ops) == 1:
        result = order_comparison(result)[0]
    return [StepLine([f"evaluate {way}" for way in islice(list_results(result), MOST_WAYS)])]


def _describe_outcome(
    title: str, failure: Failure, outcome: Outcome, guard: LeakGuard
) -> Iterator[str]:
    happens = _say(outcome.happens, guard, begins_sentence=False)
    expected = _say((f"I expect {way}" for way in outcome.expected), guard)
    lines = list(_list_error(failure, outcome, guard))
    if happens or lines:
        yield from (f"{title} {happens}" if happens else title, "")
    if lines:
        yield from (*(f"    {line}" for line in lines), "")
    if outcome.has_diff and any(line[:1] in "+-" for line in lines):
        signs = "+-" if outcome.is_turned else "-+"
        yield from (
            f"Lines with `{signs[0]}` are what I expect, and lines with `{signs[1]}` are what I get.",
            "",
        )
    yield expected or "The value that I expect is left out here."


def _list_error(failure: Failure, outcome: Outcome, guard: LeakGuard) -> Iterator[str]:
    """Yield the lines of an error that are safe; of a failed comparison its diff, without marks of single letters."""
    lines = [line for line in failure.lines if guard.is_safe(line)]
    if outcome.is_comparison:
        shown = lines[1:] if outcome.has_diff else []
        lines = [line.removeprefix("  ") for line in shown if not line.startswith("  ? ")]
        if not any(line[:1] in {"-", "+"} for line in lines):
            lines = [line for line in lines if not line.startswith("  ")]
    elif outcome.happens:
        lines = []
    yield from [line.rstrip() for line in lines if line.strip()][:_MOST_LINES]


def _say(
    clauses: Iterable[str], guard: LeakGuard, *, begins_sentence: bool = True, end: str = "."
) -> str | None:
    """Return the first clause that gives nothing away, with its end."""
    for clause in islice(clauses, MOST_WAYS + 1):
        first = clause[:1].upper() if begins_sentence else clause[:1]
        if guard.is_safe(sentence := f"{first}{clause[1:]}{end}"):
            return sentence
    return None
