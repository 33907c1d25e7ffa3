"""Choose the release that stands in for the commit of an issue, and make the issue's base tree of it.

A *forward* base is a release from before the true patch. A *reverse* base is a release that holds the true patch and its
tests; both are taken back. Labels of candidates are never looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Final

from model.errors import BadDiff, PatchDoesNotApply
from model.execution.tree_changes import NO_CHANGES, TreeChanges, apply_diff, join_changes
from training.gym.swebench.benchmark_issue import BenchmarkIssue
from training.gym.swebench.release import Release
from training.gym.swebench.removed_tests import build_removed_tests

_NEAREST: Final = 3
"""Bases of which the one is taken on which most candidates apply."""


class Direction(StrEnum):
    """Where a base lies in time, seen from the true patch."""

    FORWARD = "forward"
    REVERSE = "reverse"


@dataclass(frozen=True, slots=True)
class Base:
    """A release on which an issue can be tested."""

    release: Release
    direction: Direction
    changes: TreeChanges
    """What turns the release into the base tree. Empty for a forward base."""
    test_patch: str
    """The unified diff that adds the tests to the base tree."""

    @property
    def name(self) -> str:
        """The base as text, such as `reverse 4.0`."""
        return f"{self.direction} {self.release.version}"

    def apply(self, diff: str, over: TreeChanges = NO_CHANGES) -> TreeChanges | None:
        """Return the files that a diff changes in the base tree with the changes `over`; None if it does not apply."""
        return _apply(self.release.folder, diff, join_changes(self.changes, over))

    def exists(self, path: str, over: TreeChanges) -> bool:
        """Return whether the base tree with the changes `over` holds a file."""
        changes = join_changes(self.changes, over)
        return path in changes.written or (
            path not in changes.deleted and (self.release.folder / path).is_file()
        )


def choose_base(issue: BenchmarkIssue, releases: Sequence[Release]) -> Base | None:
    """Return the base on which most candidates of an issue apply, of the nearest few; None when there is none."""
    best, most = None, -1
    for base in islice(_list_bases(issue, releases), _NEAREST):
        count = _count_applying(issue, base)
        if count > most:
            best, most = base, count
        if most == len(issue.candidates):
            break
    return best


def find_base(issue: BenchmarkIssue, releases: Sequence[Release], name: str) -> Base | None:
    """Return the base with this name, which `choose_base` chose before; None when the releases have changed."""
    direction, _, version = name.partition(" ")
    build = _build_forward if direction == Direction.FORWARD else _build_reverse
    return next((build(issue, item) for item in releases if item.version == version), None)


def _apply(
    tree: Path, diff: str, over: TreeChanges = NO_CHANGES, *, is_reversed: bool = False
) -> TreeChanges | None:
    if not _may_apply(diff, lambda path: _read(tree, over, path), is_reversed=is_reversed):
        return None
    try:
        return apply_diff(tree, diff, over, is_reversed=is_reversed)
    except (BadDiff, PatchDoesNotApply):
        return None


def _read(tree: Path, over: TreeChanges, path: str) -> bytes | None:
    if path in over.paths:
        return over.written.get(path)
    file = tree / path
    return file.read_bytes() if file.is_file() else None


def _list_bases(issue: BenchmarkIssue, releases: Sequence[Release]) -> Iterator[Base]:
    """Yield the bases of an issue, the nearest first. `releases` are in order of time."""
    reverse = filter(None, (_build_reverse(issue, release) for release in releases))
    first = next(reverse, None)
    before = releases[: releases.index(first.release)] if first else releases
    forward = filter(None, (_build_forward(issue, release) for release in reversed(before)))
    for pair in zip_longest(chain(filter(None, [first]), reverse), forward):
        yield from filter(None, pair)


def _build_forward(issue: BenchmarkIssue, release: Release) -> Base | None:
    diffs = (issue.true_patch, issue.test_patch)
    if any(_apply(release.folder, diff) is None for diff in diffs):
        return None
    return Base(release, Direction.FORWARD, NO_CHANGES, issue.test_patch)


def _build_reverse(issue: BenchmarkIssue, release: Release) -> Base | None:
    code = _apply(release.folder, issue.true_patch, is_reversed=True)
    if code is None:
        return None
    tests = _apply(release.folder, issue.test_patch, is_reversed=True)
    if tests is not None:
        return Base(release, Direction.REVERSE, join_changes(code, tests), issue.test_patch)
    removed = build_removed_tests(release.folder, issue.test_patch, issue.fail_to_pass)
    if removed is None:
        return None
    tests, test_patch = removed
    return Base(release, Direction.REVERSE, join_changes(code, tests), test_patch)


def _count_applying(issue: BenchmarkIssue, base: Base) -> int:
    return sum(base.apply(candidate.patch.diff) is not None for candidate in issue.candidates)


def _may_apply(
    diff: str, read: Callable[[str], bytes | None], *, is_reversed: bool = False
) -> bool:
    """Return False if the old lines of a hunk stand nowhere in their file: git, which is slow, would refuse the diff.

    `read` returns the content of a file, or None. With `is_reversed`, the new lines are looked for.
    """
    for path, lines in _list_hunks(diff, "+" if is_reversed else "-"):
        content = read(path)
        if content is None or "\n".join(lines).encode(errors="surrogateescape") not in content:
            return False
    return True


def _list_hunks(diff: str, sign: str) -> Iterator[tuple[str, list[str]]]:
    """Yield path and old lines of each hunk of a file that exists on the old side. `sign` marks lines of that side."""
    header, path, lines = {"-": "--- a/", "+": "+++ b/"}[sign], "", list[str]()
    is_hunk = False
    for line in [*diff.rstrip("\n").split("\n"), "diff --git"]:
        if line.startswith(("diff --git", "@@ ")):
            if path and is_hunk:
                yield path, lines
            is_hunk, lines = line.startswith("@@ "), []
            path = path if is_hunk else ""
        elif is_hunk:
            if line.startswith((" ", sign)):
                lines.append(line[1:])
            elif not line:
                lines.append("")
        elif line.startswith(header):
            path = line.removeprefix(header)
