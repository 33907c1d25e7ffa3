"""List the steps of a statement: a sentence for each, and a list of its own for a loop around the failure (pure)."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from training.gym.statements.block_wording import list_branches
from training.gym.statements.error_check import find_error_check
from training.gym.statements.failing_case import Loop
from training.gym.statements.step_wording import is_docstring, list_step_wordings, say_omission

MOST_WAYS: Final = 60
"""Ways of one sentence that are tried."""
MOST_STEPS: Final = 12
"""Steps of a test, and steps of a block on each side of the failure, that are told."""
_MARK: Final = "; this goes wrong in one of the rounds"
_OMITTED_HEADERS: Final[dict[type[ast.stmt], str]] = {
    ast.If: "if a condition that I leave out here is true",
    ast.With: "enter a context that I leave out here",
    ast.AsyncWith: "enter a context that I leave out here",
    ast.Try: "if it raises an error that I leave out here",
}
"""What stands before a branch without a safe wording. `repeat these steps` stands before a loop."""


@dataclass(frozen=True, slots=True)
class StepLine:
    """A line of the list of steps."""

    ways: Sequence[str]
    """Ways to say it as a clause, the most precise first."""
    depth: int = 0
    """In how many blocks of the list it stands."""
    is_header: bool = False
    """Whether the lines of a block follow."""


def list_lines(steps: Sequence[ast.stmt], depth: int = 0) -> list[StepLine]:
    """Return a line for each step."""
    return [
        StepLine([*islice(list_step_wordings(step), MOST_WAYS), say_omission(step)], depth)
        for step in steps
    ]


def limit_lines(steps: Sequence[ast.stmt], depth: int = 0) -> list[StepLine]:
    """Return the lines of at most `MOST_STEPS` steps: checks that passed go first, then steps in the middle."""
    if len(steps) > MOST_STEPS:
        steps = [step for step in steps if not isinstance(step, ast.Assert)]
    if len(steps) <= MOST_STEPS:
        return list_lines(steps, depth)
    half = MOST_STEPS // 2
    gap = f"more steps of this kind follow; {len(steps) - 2 * half} are left out here"
    first, last = list_lines(steps[:half], depth), list_lines(steps[-half:], depth)
    return [*first, StepLine([gap], depth), *last]


def outline_loop(loop: Loop, failing: ast.stmt) -> Iterator[StepLine]:
    """Yield the lines of a loop with all its steps. One of them is marked as the failing one.

    A round before the failure runs the steps after the failing one as well, so they must not stand after the loop.
    """
    yield from _outline_branches(loop, failing, 0)


def _outline_branches(step: ast.stmt, failing: ast.stmt, depth: int) -> Iterator[StepLine]:
    omitted = _OMITTED_HEADERS.get(type(step), "repeat these steps")
    mark = _MARK if _is_same(step, failing) else ""
    for branch in list_branches(step):
        if branch.body:
            ways = [f"{way}{mark}" for way in (*branch.headers, omitted)]
            yield StepLine(ways, depth, is_header=True)
            yield from _outline_body(branch.body, failing, depth + 1)


def _outline_body(body: Sequence[ast.stmt], failing: ast.stmt, depth: int) -> Iterator[StepLine]:
    steps = [step for step in body if not is_docstring(step)]
    place = next((i for i, step in enumerate(steps) if _holds(step, failing)), None)
    if place is None:
        yield from limit_lines(steps or [ast.Pass()], depth)
        return
    yield from limit_lines(steps[:place], depth)
    yield from _outline_step(steps[place], failing, depth)
    yield from limit_lines(steps[place + 1 :], depth)


def _outline_step(step: ast.stmt, failing: ast.stmt, depth: int) -> Iterator[StepLine]:
    """Yield the lines of the failing step, or of the block that holds it."""
    if not _is_same(step, failing) or find_error_check(step):
        yield from _outline_branches(step, failing, depth)
        return
    ways = [*islice(list_step_wordings(step), MOST_WAYS), _omit_failing(step)]
    yield StepLine([f"{way}{_MARK}" for way in ways], depth)


def _omit_failing(step: ast.stmt) -> str:
    return "make the check below" if isinstance(step, ast.Assert) else say_omission(step)


def _holds(step: ast.stmt, failing: ast.stmt) -> bool:
    return any(_is_same(node, failing) for node in ast.walk(step) if isinstance(node, ast.stmt))


def _is_same(step: ast.stmt, failing: ast.stmt) -> bool:
    """Return whether two steps start at one place of the source: the failing one may have its values written out."""
    places = [(node.lineno, node.col_offset, type(node)) for node in (step, failing)]
    return places[0] == places[1]
