"""Say what happens in a failing test and what is expected, in several ways, the most precise first (pure)."""

import ast
import re
from dataclasses import dataclass
from itertools import chain, product
from typing import Final

from training.gym.statements.condition_wording import (
    OPERATORS,
    list_conditions,
    list_results,
    order_comparison,
    read_instance,
)
from training.gym.statements.error_check import find_error_check, say_expected_error
from training.gym.statements.expression_wording import list_phrases, quote_code, write_code
from training.gym.statements.failing_case import FailingCase
from training.gym.statements.failure_text import Failure

_EXPECTED: Final = {
    "": "",
    "not ": "something other than ",
    "less than ": "it to be less than ",
    "at most ": "it to be at most ",
    "more than ": "it to be more than ",
    "at least ": "it to be at least ",
}
"""Words between `I expect` and a value, by those of a comparison."""
_MISSING: Final = re.compile(
    r"(?:cannot import name|module '[\w.]+' has no attribute|No module named|unexpected keyword argument) '([\w.]+)'"
)
_INSTANCE: Final = re.compile(r"\+\s+where (?:False|True) = isinstance\((.*), (?:<class |\()")
_NO_MATCH: Final = re.compile(
    r"AssertionError: (?:Regex p|P)attern .*not (?:match|found)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happens and what is expected."""

    happens: tuple[str, ...]
    """Ways to say what happens, without a full stop; none if the lines of the error tell it."""
    expected: tuple[str, ...]
    """Ways to say what is expected, after `I expect`."""
    is_comparison: bool = False
    """Whether a comparison failed, not a call."""
    has_diff: bool = False
    """Whether the lines of the error tell more: how the result differs from what is expected."""
    is_turned: bool = False
    """Whether the test names the expected value first."""


def describe_outcome(failure: Failure, case: FailingCase | None) -> Outcome:
    """Return what happens in a test and what is expected there."""
    step = case.failing if case else None
    values = failure.find_assertion()
    is_own = step is not None and failure.is_raised_in(step.lineno, step.end_lineno)
    if isinstance(step, ast.Assert) and is_own and values is not None:
        return _compare(step.test, values, failure)
    if step is not None and (check := find_error_check(step)):
        return _miss_error(check, failure)
    if case and case.check:
        return Outcome((), tuple(say_expected_error(case.check)))
    if isinstance(step, ast.Assert):
        hopes = list_conditions(step.test, "should be")
        return Outcome((), (*(f"no error: {hope}" for hope in hopes), "no error"))
    return Outcome((), (_expect_no_error(failure, has_place=step is not None),))


def find_missing(failure: Failure) -> str | None:
    """Return the name that an error says is missing."""
    match = _MISSING.search("\n".join(failure.lines))
    return match[1] if match else None


def _expect_no_error(failure: Failure, *, has_place: bool) -> str:
    if missing := find_missing(failure):
        return f"{quote_code(missing)} to be there and to work"
    if failure.headline.startswith("Failed: DID NOT"):
        return "the error that is named above"
    return "no error" if has_place else "this to work"


def _miss_error(check: ast.Call, failure: Failure) -> Outcome:
    expected = tuple(say_expected_error(check))
    if failure.headline.startswith("Failed: DID NOT WARN"):
        return Outcome(("no warning is given",), expected)
    if failure.headline.startswith("Failed: DID NOT"):
        return Outcome(("no error is raised",), expected)
    return Outcome((), expected)


def _compare(test: ast.expr, values: str, failure: Failure) -> Outcome:
    """Return the outcome of an `assert` whose values are known."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compare_sides(test, values, failure)
    is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    plain = test.operand if isinstance(test, ast.UnaryOp) and is_not else test
    value = values.removeprefix("not ") if is_not else values
    if instance := read_instance(plain):
        return _compare_kind(*instance, failure, is_not=is_not)
    if isinstance(plain, ast.BoolOp) or (len(value.split()) > 1 and value[:1] not in "<'\"[{("):
        return Outcome(
            tuple(
                f"this is {'true' if is_not else 'not true'}: {way}" for way in list_phrases(plain)
            ),
            ("it to be false" if is_not else "it to be true",),
            is_comparison=True,
        )
    expected = "a false value" if is_not else "a true value"
    if value in {"True", "False"}:
        expected = quote_code(str(value == "False"))
    happens = (f"{way} is {quote_code(value)}" for way in list_phrases(plain))
    return Outcome(tuple(happens), (expected,), is_comparison=True)


def _compare_kind(value: ast.expr, kind: ast.expr, failure: Failure, *, is_not: bool) -> Outcome:
    match = next(filter(None, map(_INSTANCE.search, failure.lines)), None)
    what = "an instance" if is_not else "no instance"
    shown = [f"is {quote_code(match[1])}"] if match else []
    happens = (
        f"{way} {verb}"
        for verb in (*shown, f"is {what} of {quote_code(write_code(kind))}")
        for way in list_phrases(value)
    )
    hopes = (f"{'no ' if is_not else 'an '}instance of {way}" for way in list_phrases(kind))
    return Outcome(tuple(happens), tuple(hopes), is_comparison=True)


def _compare_sides(test: ast.Compare, values: str, failure: Failure) -> Outcome:
    symbol, _ = OPERATORS[type(test.ops[0])]
    left, operator, right = order_comparison(test)
    is_turned = left is not test.left
    if isinstance(operator, ast.NotEq):
        pairs = product(list_results(left), list_phrases(right))
        happens = (f"{result} equals {value}" for result, value in pairs)
        return Outcome(tuple(happens), ("the two to differ",), is_comparison=True)
    if isinstance(operator, ast.In | ast.NotIn):
        return _compare_content(test, _split_values(values, symbol))
    sides = _split_values(values, symbol) or failure.read_texts(values)
    result, wanted = (sides[::-1] if is_turned else sides) if sides else (None, None)
    ways = [f"{way} is {quote_code(result)}" for way in list_results(left)] if result else []
    ways += [f"{way} is another value" for way in list_results(left)] if result else []
    if result is None:
        pairs = product(list_results(left), list_phrases(right))
        ways = [f"{way} does not equal {value}" for way, value in pairs]
    ways.append("the result is another one")
    words = _EXPECTED[OPERATORS[type(operator)][1]]
    named = [quote_code(wanted)] if wanted and isinstance(right, ast.Name) else []
    expected = (f"{words}{way}" for way in chain(named, list_phrases(right)))
    return Outcome(tuple(ways), tuple(expected), True, result is None, is_turned)


def _compare_content(test: ast.Compare, sides: tuple[str, str] | None) -> Outcome:
    """Return the outcome of a test for something in a text or in a list."""
    what, where = list(list_phrases(test.left)), list(list_phrases(test.comparators[0]))
    is_not = isinstance(test.ops[0], ast.NotIn)
    happens = [f"{way} is {quote_code(sides[1])}" for way in where] if sides else []
    verb = "contains" if is_not else "does not contain"
    happens += [f"{way} {verb} {part}" for way in where for part in (*what, "what I expect")]
    hope = "it not to contain" if is_not else "it to contain"
    return Outcome(tuple(happens), tuple(f"{hope} {part}" for part in what), is_comparison=True)


def _split_values(values: str, symbol: str) -> tuple[str, str] | None:
    """Return the two values of a comparison; None if pytest cut one of them or if they cannot be told apart."""
    parts = values.split(f" {symbol} ")
    if len(parts) != 2:
        parts = _split_by_syntax(values)
    is_whole = len(parts) == 2 and not any("..." in part for part in parts)
    return (parts[0], parts[1]) if is_whole else None


def _split_by_syntax(values: str) -> list[str]:
    try:
        node = ast.parse(values, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(node, ast.Compare):
        return []
    return [ast.get_source_segment(values, side) or "" for side in (node.left, *node.comparators)]
