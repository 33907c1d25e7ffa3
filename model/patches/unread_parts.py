"""This module names the files of a diff that a verifier does not read whole, each with the reason (pure).

A verdict about such a patch claims nothing, but for files that nobody reads: lock files beside other changes, and for
consensus documentation.
"""

import re
from collections.abc import Iterator, Sequence

from model.coverage import Coverage, UnreadPart, UnreadReason
from model.patches.diff import FilePatch, parse_hunks

LOCK_FILES = (
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "flake.lock",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
)
"""Names of files that a package manager writes. A short list: any other generated file is read like code."""
DOCUMENTATION = (".adoc", ".markdown", ".md", ".rst", ".txt")
"""Ends of the names of prose files."""

_LISTED_AT_MOST = 1_000
_NAMED_AT_MOST = 3
_OUTSIDE = re.compile(
    r"^(?:Submodule (?P<submodule>.+?) [0-9a-f]{7,64}\.{2,3}[0-9a-f]{7,64}\b.*"
    r"|Only in (?P<folder>.+?): (?P<name>.+))$",
    re.MULTILINE,
)
"""Changes that a diff names only, as `git diff --submodule=log` and `diff -r` write them."""
_UNDECODED = re.compile("[\ufffd\udc80-\udcff]")
"""A byte that was not UTF-8: the bot decodes it to U+FFFD, the CLI to a lone surrogate."""


def is_lock_file(path: str) -> bool:
    """Return whether a path has the name of a file that a package manager writes."""
    return path.rpartition("/")[2] in LOCK_FILES


def list_unread_lock_files(files: Sequence[FilePatch]) -> frozenset[str]:
    """Return the paths of a patch's lock files; none if the patch changes nothing else."""
    locks = frozenset(file.path for file in files if is_lock_file(file.path))
    return (
        locks if any(file.is_textual and file.path not in locks for file in files) else frozenset()
    )


def measure_coverage(diff: str, files: Sequence[FilePatch]) -> Coverage:
    """Return what a language model reads of a diff with the parsed `files` when the prompt shows it."""
    outside = tuple(_find_outside(diff))
    locks, undecoded = list_unread_lock_files(files), _find_undecoded(diff)
    unread = [
        UnreadPart(file.path, reason)
        for file in files
        if (reason := _explain(file, locks, undecoded))
    ]
    return Coverage(
        len(files) + len(outside), len(files) - len(unread), (*unread, *outside)[:_LISTED_AT_MOST]
    )


def measure_compared(coverage: Coverage, files: Sequence[FilePatch]) -> Coverage:
    """Return what consensus compares of a patch with the parsed `files`, given what a language model would read."""
    listed = {part.path for part in coverage.unread}
    has_code = any(file.is_textual and not file.path.endswith(DOCUMENTATION) for file in files)
    more = [
        UnreadPart(file.path, reason)
        for file in files
        if file.path not in listed and (reason := _explain_uncompared(file, has_code=has_code))
    ]
    return Coverage(
        coverage.files,
        coverage.files_seen - len(more),
        (*coverage.unread, *more)[:_LISTED_AT_MOST],
    )


def describe_unread(coverage: Coverage) -> str:
    """Name the files that were not read whole, such as `not read: logo.png (binary) and 2 more`. Paths are untrusted.

    Files that keep a verdict from claiming anything come first.
    """
    ordered = sorted(coverage.unread, key=lambda part: part.reason.permits_claim)
    named = [
        f"{_shorten(part.path)} ({part.reason.value.replace('_', ' ')})"
        for part in ordered[:_NAMED_AT_MOST]
    ]
    missing = coverage.files - coverage.files_seen - len(named)
    if not named:
        return f"not read: {missing} of {coverage.files} files"
    return f"not read: {', '.join(named)}{f' and {missing} more' if missing > 0 else ''}"


def _shorten(path: str) -> str:
    """Return a path on one line of at most 60 characters. The end of a path says the most."""
    line = " ".join(path.replace("\0", "\ufffd").split())
    return line if len(line) <= 60 else f"…{line[-59:]}"


def _explain(
    file: FilePatch, locks: frozenset[str], undecoded: frozenset[str]
) -> UnreadReason | None:
    if file.is_binary:
        return UnreadReason.BINARY
    if file.is_submodule:
        return UnreadReason.SUBMODULE
    if file.changes_mode:
        return UnreadReason.FILE_MODE
    if file.path in locks:
        return UnreadReason.LOCK_FILE
    return UnreadReason.ENCODING if file.path in undecoded else None


def _explain_uncompared(file: FilePatch, *, has_code: bool) -> UnreadReason | None:
    if not file.is_textual and file.old_path not in {None, file.path}:
        return UnreadReason.RENAME
    is_prose = has_code and file.path.endswith(DOCUMENTATION)
    return UnreadReason.DOCUMENTATION if is_prose else None


def _find_outside(diff: str) -> Iterator[UnreadPart]:
    """Yield the changes outside all hunks, whose lines begin with a blank, a sign or a backslash."""
    for match in _OUTSIDE.finditer(diff):
        path = match["submodule"] or f"{match['folder']}/{match['name']}"
        yield UnreadPart(path, UnreadReason.NOT_IN_DIFF)


def _find_undecoded(diff: str) -> frozenset[str]:
    if not _UNDECODED.search(diff):
        return frozenset()
    return frozenset(
        path
        for path, hunk in parse_hunks(diff)
        if any(line.line_type in "+-" and _UNDECODED.search(line.value) for line in hunk)
    )
