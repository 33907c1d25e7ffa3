"""Read the checks for errors and warnings around the steps of a test, and say what they wait for (pure)."""

import ast
from collections.abc import Iterator
from itertools import chain
from typing import Final

from training.gym.statements.expression_wording import list_phrases, quote_code, write_code

_ERROR_CHECKS: Final = ("raises", "assertRaises", "assertRaisesRegex")
_WARNING_CHECKS: Final = ("warns", "assertWarns", "assertWarnsRegex", "deprecated_call")
_PATTERNS: Final = ("match", "expected_regex")
_EXPECTED_CLASSES: Final = ("expected_exception", "expected_warning")
"""Keywords for the class that a check waits for."""


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


def _name_function(call: ast.Call) -> str:
    return write_code(call.func).rpartition(".")[2]
