"""Find what a statement gives away of the solution or of its tests (pure)."""

from collections.abc import Iterator
from typing import Final

from model.errors import BadDiff
from model.patches import diff as diffs

_LEAST: Final = 20
"""Characters of an added line that nobody writes by chance."""


class LeakGuard:
    """Knows what no statement of one task may hold."""

    def __init__(self, patch: str, test_patch: str) -> None:
        """Read the diffs. Raises BadDiff."""
        hints = (*_list_test_names(test_patch), *_list_added(patch + test_patch))
        self._hints = tuple(dict.fromkeys(map(_squeeze, hints)))

    def find_leaks(self, text: str) -> tuple[str, ...]:
        """Return the hints that the text holds, with single spaces and single quotes."""
        squeezed = _squeeze(text)
        return tuple(hint for hint in self._hints if hint in squeezed)

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


def _list_test_names(test_patch: str) -> Iterator[str]:
    for path in sorted(diffs.list_touched_files(test_patch)):
        yield from (path, path.rpartition("/")[2])


def _list_added(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line.startswith("+") and not line.startswith("+++ ") and len(line[1:].strip()) >= _LEAST:
            yield line[1:]


def _squeeze(text: str) -> str:
    return " ".join(text.split()).replace('"', "'")
