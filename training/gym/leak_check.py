"""Find what a statement gives away of the solution or of its tests (pure)."""

from collections.abc import Iterator
from typing import Final

from model.errors import BadDiff
from model.patches import diff as diffs

_LEAST: Final = 20
"""Characters of an added line that nobody writes by chance."""


def find_leaks(statement: str, patch: str, test_patch: str) -> tuple[str, ...]:
    """Return the names of test files, and the added lines of both diffs, that the statement holds.

    Added lines count from 20 characters on. White space does not count. Raises BadDiff.
    """
    text = _squeeze(statement)
    hints = (*_list_test_names(test_patch), *map(_squeeze, _list_added(patch + test_patch)))
    return tuple(dict.fromkeys(hint for hint in hints if hint in text))


def remove_leaks(lines: list[str], patch: str, test_patch: str) -> list[str]:
    """Return the lines that give nothing away. Text that leaks across lines stays, and `find_leaks` finds it."""
    try:
        return [line for line in lines if not find_leaks(line, patch, test_patch)]
    except BadDiff:
        return []


def _list_test_names(test_patch: str) -> Iterator[str]:
    for path in sorted(diffs.list_touched_files(test_patch)):
        yield from (path, path.rpartition("/")[2])


def _list_added(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line.startswith("+") and not line.startswith("+++ ") and len(line[1:].strip()) >= _LEAST:
            yield line[1:]


def _squeeze(text: str) -> str:
    return " ".join(text.split())
