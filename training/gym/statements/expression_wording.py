"""Say expressions of a test in English, in several ways, the most precise first (pure).

A test's lines must not stand in a statement. So some ways name a call and its arguments apart, and some leave values out.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import product
from typing import Final

_MOST_LETTERS: Final = 300
"""Letters of an expression that is shown in full."""
_LEAST_TEXT: Final = 20
"""Letters of a text that may be left out."""
_MOST_ITEMS: Final = 12
"""Items of a list, and lines of a text, that are named one by one."""
_MOST_LINE: Final = 60
"""Letters of one line of a text."""
_MOST_GAPS: Final = 3
"""Values that may be left out of an expression, as long as it says something."""
_CONTAINERS: Final[dict[type[ast.expr], str]] = {
    ast.List: "list",
    ast.Tuple: "tuple",
    ast.Set: "set",
}


def quote_code(text: str) -> str:
    """Return code between backticks; between more of them, with spaces inside, if it holds backticks itself."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    marks = "`" * (longest + 1)
    return f"{marks} {text} {marks}" if longest else f"`{text}`"


def write_code(node: ast.AST) -> str:
    """Return the source of a node in one line; `...` for one that cannot be written."""
    try:
        return " ".join(ast.unparse(node).splitlines())
    except (ValueError, RecursionError):  # such as a number of too many digits
        return "..."


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Return words with commas, and `and` before the last one."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def align(ways: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the first way of each part, then the second ones, and so on. A part with fewer ways repeats its last."""
    for index in range(max(map(len, ways), default=0)):
        yield [way[min(index, len(way) - 1)] for way in ways]


def combine(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield all pairs of ways of two parts, the most precise pairs first."""
    places = product(range(len(first)), range(len(second)))
    yield from ((first[i], second[j]) for i, j in sorted(places, key=sum))


def list_phrases(node: ast.expr) -> Iterator[str]:
    """Yield ways to say an expression: its code, its parts, and its code without texts."""
    code = write_code(node)
    if len(code) <= _MOST_LETTERS:
        yield quote_code(code)
    yield from _name_parts(node)
    yield from _list_shorter(node)
    if isinstance(node, ast.Call) and (node.args or node.keywords):
        yield quote_code(f"{_shorten(write_code(node.func))}(...)")


def list_calls(node: ast.Call) -> Iterator[str]:
    """Yield ways to say what is called and with which arguments."""
    code = write_code(node)
    if len(code) <= _MOST_LETTERS:
        yield quote_code(code)
    yield from _name_arguments(node)
    yield quote_code(f"{_shorten(write_code(node.func))}(...)")


def _list_shorter(node: ast.AST) -> Iterator[str]:
    """Yield the code of an expression without long texts, and without any."""
    code = write_code(node)
    for least in (_LEAST_TEXT, 1):
        shorter = write_code(_StringRemover(least).visit(deepcopy(node)))
        is_telling = shorter not in {code, "..."} and shorter.count("...") <= _MOST_GAPS
        if is_telling and len(shorter) <= _MOST_LETTERS:
            yield quote_code(shorter)


def is_literal(node: ast.expr) -> bool:
    """Return whether an expression is a value that is written out."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _name_parts(node: ast.expr) -> Iterator[str]:
    """Yield the items of a list, the lines of a text or the arguments of a call, each between its own backticks."""
    if isinstance(node, ast.Call):
        if lines := _read_items(node):
            yield f"the lines {_join_codes(lines)}"
        elif node.args or node.keywords:
            yield from (f"the result of {way}" for way in _name_arguments(node))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _name_lines(node.value)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and 0 < len(node.elts) <= _MOST_ITEMS:
        for items in align([list(_list_argument(item)) for item in node.elts]):
            yield f"the {_CONTAINERS[type(node)]} of {join_words(items)}"
    elif isinstance(node, ast.Dict) and 0 < len(node.keys) <= _MOST_ITEMS:
        pairs = zip(node.keys, node.values, strict=True)
        texts = [f"{write_code(key)}: {write_code(value)}" for key, value in pairs if key]
        yield f"the dictionary of {join_words(list(map(quote_code, texts)))}"


def _name_lines(text: str) -> Iterator[str]:
    """Yield ways to say a text of several lines: with whole lines, with half of each long line, and with short lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return
    more = [f"{len(lines) - _MOST_ITEMS} more"] if len(lines) > _MOST_ITEMS else []
    for cut in (_cut_end, _cut_half):
        shown = [quote_code(cut(line)) for line in lines[:_MOST_ITEMS]]
        yield f"a text of {len(lines)} lines ({join_words(shown + more)})"
    short = [quote_code(line) for line in lines if len(line) < _LEAST_TEXT][:_MOST_ITEMS]
    yield f"a text of {len(lines)} lines{' such as ' if short else ''}{join_words(short)}"


def _cut_end(line: str) -> str:
    return line if len(line) <= _MOST_LINE else f"{line[:_MOST_LINE]}…"


def _cut_half(line: str) -> str:
    """Return a short line, and the first half of another one."""
    most = max(_LEAST_TEXT - 1, min(len(line) // 2, _MOST_LINE))
    return line if len(line) < _LEAST_TEXT else f"{line[:most]}…"


def _read_items(node: ast.Call) -> list[ast.expr]:
    """Return the items of a list whose lines are joined."""
    if write_code(node.func) == "'\\n'.join" and len(node.args) == 1:
        items = node.args[0]
        if isinstance(items, ast.List | ast.Tuple) and len(items.elts) <= _MOST_ITEMS:
            return items.elts
    return []


def _name_arguments(node: ast.Call) -> Iterator[str]:
    """Yield ways to say a function and its arguments, each between its own backticks."""
    name = quote_code(_shorten(write_code(node.func)))
    arguments: list[ast.AST] = [*node.args, *node.keywords]
    if not arguments:
        yield name
        return
    for ways in align([list(_list_argument(argument)) for argument in arguments]):
        yield f"{name} with {join_words(ways)}"


def _list_argument(node: ast.AST) -> Iterator[str]:
    """Yield ways to say one argument of a call or one item of a list; there is always one."""
    code = write_code(node)
    if len(code) <= _MOST_LETTERS:
        yield quote_code(code)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _name_lines(node.value)
    yield from _list_shorter(node)
    if len(code) > _MOST_LETTERS:
        yield quote_code(_shorten(code))


def _join_codes(nodes: Iterable[ast.expr]) -> str:
    return join_words([quote_code(_shorten(write_code(node))) for node in nodes])


def _shorten(code: str) -> str:
    return code if len(code) <= _MOST_LETTERS else f"{code[:_MOST_LETTERS]}..."


class _StringRemover(ast.NodeTransformer):
    """Leaves out texts from a length on."""

    def __init__(self, least: int) -> None:
        self._least = least

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Return `...` for a long text."""
        is_long = isinstance(node.value, str | bytes) and len(node.value) >= self._least
        return ast.Constant(...) if is_long else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Return `...` for a text with values in it."""
        return ast.Constant(...) if len(write_code(node)) >= self._least else node
