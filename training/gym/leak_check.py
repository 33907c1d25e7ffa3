"""Find what a statement gives away of the solution or of its tests (pure)."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from model.errors import BadDiff
from model.patches import diff as diffs

_LEAST: Final = 20
"""Characters of an added line that nobody writes by chance."""
_WORD: Final = re.compile(r"\w+")
_TEST_MODULE: Final = re.compile(r"test_\w+|\w+_test")
"""A module name that only tests have: `tests` alone is an English word as well."""


class LeakGuard:
    """Knows what no statement of one task may hold."""

    def __init__(self, patch: str, test_patch: str) -> None:
        """Read the diffs. Raises BadDiff."""
        paths = sorted(diffs.list_touched_files(test_patch))
        hints = (*_list_file_names(paths), *_list_added(patch + test_patch))
        self._hints = {_squeeze(hint): hint for hint in hints}
        self._modules = sorted({*_list_modules(paths)})

    def find_leaks(self, text: str) -> tuple[str, ...]:
        """Return the names and the added lines that the text holds."""
        squeezed = _squeeze(text)
        words = set(_WORD.findall(text))
        lines = (hint for squeezed_hint, hint in self._hints.items() if squeezed_hint in squeezed)
        return (*lines, *(name for name in self._modules if name in words))

    def is_safe(self, text: str) -> bool:
        """Return whether the text gives nothing away."""
        return not self.find_leaks(text)


def find_leaks(statement: str, patch: str, test_patch: str) -> tuple[str, ...]:
    """Return the names of test files, and the added lines of both diffs, that the statement holds.

    Added lines count from 20 characters on. White space and the kind of quotes do not count. Raises BadDiff.
    """
    return LeakGuard(patch, test_patch).find_leaks(statement)


def remove_leaks(lines: list[str], patch: str, test_patch: str) -> list[str]:
    """Return the lines that give nothing away. Text that leaks across lines stays, and `find_leaks` finds it."""
    try:
        guard = LeakGuard(patch, test_patch)
    except BadDiff:
        return []
    return [line for line in lines if not guard.find_leaks(line)]


def _list_file_names(paths: list[str]) -> Iterator[str]:
    for path in paths:
        yield from (path, path.rpartition("/")[2])


def _list_modules(paths: list[str]) -> Iterator[str]:
    """Yield `test_totals` of `tests/test_totals.py`, which a text may name as `tests.test_totals`."""
    for path in paths:
        if _TEST_MODULE.fullmatch(name := PurePosixPath(path).stem):
            yield name


def _list_added(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line.startswith("+") and not line.startswith("+++ ") and len(line[1:].strip()) >= _LEAST:
            yield line[1:].strip()


def _squeeze(text: str) -> str:
    return "".join(text.split()).replace('"', "'")
