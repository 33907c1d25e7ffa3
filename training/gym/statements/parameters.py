"""Read the values of a parametrised test, from its source or from the text of its failure (pure)."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.gym.statements.expression_wording import write_code
from training.gym.statements.failure_text import Failure

Marked = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Mark:
    """A call of `pytest.mark.parametrize`."""

    names: tuple[str, ...]
    rows: tuple[ast.expr, ...]
    ids: tuple[str | None, ...]

    def find_row(self, parameter: str, *, is_only: bool) -> ast.expr | None:
        """Return the row that the part of a test's id in brackets names.

        None if no row, or more than one row, can match.
        """
        for name in self.names:
            if number := re.search(rf"(?:^|-){re.escape(name)}(\d{{1,9}})(?:-|$)", parameter):
                index = int(number[1])
                return self.rows[index] if index < len(self.rows) else None
        ids = [self._name_row(row, given) for row, given in zip(self.rows, self.ids, strict=True)]
        matches = [row for row, name in zip(self.rows, ids, strict=True) if name == parameter]
        return matches[0] if is_only and len(matches) == 1 else None

    def _name_row(self, row: ast.expr, given: str | None) -> str | None:
        """Return the id of a row, as pytest makes it of constants, classes and members of enumerations."""
        if given is not None:
            return given
        values = self.split(row)
        names = [
            str(value.value) if isinstance(value, ast.Constant) else write_code(value)
            for value in values
            if isinstance(value, ast.Constant | ast.Name | ast.Attribute)
        ]
        return "-".join(names) if names and len(names) == len(values) else None

    def split(self, row: ast.expr) -> list[ast.expr]:
        """Return the values of a row, one for each name; none for a row that is made of others."""
        values = row.elts if isinstance(row, ast.Tuple | ast.List) else []
        if _is_param(row):
            values = row.args if isinstance(row, ast.Call) else []
        elif len(self.names) == 1:
            values = [row]
        return (
            values if len(values) == len(self.names) and not any(map(_is_starred, values)) else []
        )


def list_parameters(nodes: Sequence[Marked]) -> list[str]:
    """Return the names of the arguments that `pytest.mark.parametrize` gives to a function or to its classes."""
    return [name for mark in _read_marks(nodes) for name in mark.names]


def read_parameters(
    nodes: Sequence[Marked], parameter: str, failure: Failure
) -> dict[str, ast.expr]:
    """Return the values of the parametrised arguments, by name.

    `parameter` is the part of the test's id in brackets.
    """
    marks = list(_read_marks(nodes))
    values = {}
    for name, text in failure.read_arguments(list_parameters(nodes)).items():
        if text and "..." not in text:
            values[name] = _read_value(text)
    for mark in marks:
        row = mark.find_row(parameter, is_only=len(marks) == 1)
        if row is not None:
            values |= dict(zip(mark.names, mark.split(row), strict=False))
    return values


def _read_marks(nodes: Sequence[Marked]) -> Iterator[_Mark]:
    calls = (mark for node in nodes for mark in node.decorator_list if isinstance(mark, ast.Call))
    for call in calls:
        if write_code(call.func).endswith("parametrize") and call.args:
            given = call.args[1] if len(call.args) > 1 else _find_keyword(call, "argvalues")
            rows = tuple(given.elts) if isinstance(given, ast.List | ast.Tuple) else ()
            yield _Mark(tuple(_list_words(call.args[0])), rows, tuple(_list_ids(call, rows)))


def _list_words(node: ast.expr) -> Iterator[str]:
    for word in ast.walk(node):
        if isinstance(word, ast.Constant) and isinstance(word.value, str):
            yield from (name.strip() for name in word.value.split(",") if name.strip())


def _list_ids(call: ast.Call, rows: Sequence[ast.expr]) -> Iterator[str | None]:
    """Yield the id that each row is given; None for a row without one."""
    given = _find_keyword(call, "ids")
    ids = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    for index, row in enumerate(rows):
        own = _find_keyword(row, "id") if isinstance(row, ast.Call) and _is_param(row) else None
        node = own or (ids[index] if index < len(ids) else None)
        value = node.value if isinstance(node, ast.Constant) else None
        yield value if isinstance(value, str) else None


def _find_keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((word.value for word in call.keywords if word.arg == name), None)


def _is_param(row: ast.expr) -> bool:
    return isinstance(row, ast.Call) and write_code(row.func) in {"pytest.param", "param"}


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _read_value(text: str) -> ast.expr:
    """Return the expression of a value as pytest prints it. One without a syntax becomes a name."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Name(text, ast.Load())
