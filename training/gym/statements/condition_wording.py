"""Say conditions of a test in English, in several ways, the most precise first (pure)."""

import ast
from collections.abc import Iterator
from itertools import product
from typing import Final

from training.gym.statements.expression_wording import (
    is_literal,
    join_words,
    list_phrases,
    quote_code,
    write_code,
)

OPERATORS: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", ""),
    ast.Is: ("is", ""),
    ast.NotEq: ("!=", "not "),
    ast.IsNot: ("is not", "not "),
    ast.In: ("in", "in "),
    ast.NotIn: ("not in", "not in "),
    ast.Lt: ("<", "less than "),
    ast.LtE: ("<=", "at most "),
    ast.Gt: (">", "more than "),
    ast.GtE: (">=", "at least "),
}
"""Each comparison as pytest writes it, and in words after `is` or `should be`."""
_MIRRORED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
"""The operator after the two sides are swapped."""
_EQUALS: Final = {
    "is": ("does not equal", "equals"),
    "should be": ("should not equal", "should equal"),
}


def list_conditions(node: ast.expr, verb: str = "is") -> Iterator[str]:
    """Yield ways to say that a condition holds. `verb` is `is` or `should be`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _say_false(node.operand, verb)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _say_comparison(node, verb)
    elif isinstance(node, ast.BoolOp):
        word = "and" if isinstance(node.op, ast.And) else "or"
        for ways in zip(*(list_conditions(part, verb) for part in node.values), strict=False):
            yield join_words(ways, word)
    elif instance := read_instance(node):
        for way, kind in product(*map(list_phrases, instance)):
            yield f"{way} {verb} an instance of {kind}"
    else:
        yield from (f"{phrase} {verb} true" for phrase in list_phrases(node))


def _say_comparison(node: ast.Compare, verb: str) -> Iterator[str]:
    """Yield ways to say a comparison in words; that its code is true where words could be wrong, as for sets."""
    left, operator, right = order_comparison(node)
    words = OPERATORS[type(operator)][1]
    if type(operator) in _MIRRORED and not is_literal(right):
        yield f"{quote_code(write_code(node))} {verb} true"
        return
    if isinstance(operator, ast.Eq | ast.NotEq) and not is_literal(right):
        is_equal = isinstance(operator, ast.Eq)
        verb = _EQUALS[verb][is_equal]
    for result, value in product(list_results(left), list_phrases(right)):
        yield f"{result} {verb} {words if verb in _EQUALS else ''}{value}"


def order_comparison(node: ast.Compare) -> tuple[ast.expr, ast.cmpop, ast.expr]:
    """Return the result, the comparison and the expected value. Some tests write the expected value first."""
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    is_turned = _is_expected(left) and not _is_expected(right)
    if not is_turned or isinstance(operator, ast.In | ast.NotIn):
        return left, operator, right
    return right, _MIRRORED.get(type(operator), type(operator))(), left


def read_instance(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the arguments of a call of `isinstance`; None for another expression."""
    if isinstance(node, ast.Call) and write_code(node.func) == "isinstance" and len(node.args) == 2:
        return node.args[0], node.args[1]
    return None


def _say_false(node: ast.expr, verb: str) -> Iterator[str]:
    if instance := read_instance(node):
        for way, kind in product(*map(list_phrases, instance)):
            yield f"{way} {verb} no instance of {kind}"
    else:
        yield from (f"{phrase} {verb} false" for phrase in list_phrases(node))


def list_results(node: ast.expr) -> Iterator[str]:
    """Yield ways to say the result that a test compares. Generated tests compare the description of a value."""
    if isinstance(node, ast.Call) and write_code(node.func) == "describe_value" and node.args:
        yield from (f"the description of {phrase}" for phrase in list_phrases(node.args[0]))
    else:
        yield from list_phrases(node)


def _is_expected(node: ast.expr) -> bool:
    """Return whether an expression is a literal, or a name that tests give to expected values."""
    if isinstance(node, ast.Name):
        return node.id.startswith(("expect", "want"))
    return is_literal(node)
