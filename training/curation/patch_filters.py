"""Drop patches that are no judgeable attempt at an issue, with the filters of SWE-RL and R4P (pure).

Authors matter only for dependency robots. Patches by coding agents are what the bot judges, so they stay.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from posixpath import basename, splitext

from model.errors import BadDiff
from model.patches import diff
from model.patches.diff import FilePatch
from training.curation.pools import Pool, PoolPatch
from training.curation.steps import Reason

MAX_RAW_CHARACTERS = 600_000
"""Longer raw patches are dropped unread: parsing one takes seconds. Ten times the limit of a fix."""
_CHORES = re.compile(
    r"dependabot|renovate|greenkeeper|pyup|snyk|automerge|pre-commit-ci", re.IGNORECASE
)
"""Robots that update dependencies. SWE-RL (appendix A) drops their patches."""
_LOCKS = frozenset(
    [
        "bun.lock",
        "bun.lockb",
        "cargo.lock",
        "composer.lock",
        "conda-lock.yml",
        "flake.lock",
        "gemfile.lock",
        "go.sum",
        "go.work.sum",
        "gradle.lockfile",
        "mix.lock",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "package.resolved",
        "packages.lock.json",
        "pdm.lock",
        "pipfile.lock",
        "pnpm-lock.yaml",
        "podfile.lock",
        "poetry.lock",
        "pubspec.lock",
        "pylock.toml",
        "uv.lock",
        "yarn.lock",
    ]
)
_PROSE = re.compile(r"\.(?:md|rst|adoc|markdown)$|(?:^|/)docs?/.*\.txt$", re.IGNORECASE)
_DEPENDENCIES = re.compile(
    r"(?:^|/)(?:package\.json|pyproject\.toml|setup\.(?:py|cfg)|requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt"
    r"|cargo\.toml|go\.mod|pom\.xml|[^/]*\.gradle(?:\.kts)?|gemfile|[^/]*\.csproj|composer\.json|dockerfile)$"
    r"|^\.github/workflows/|^\.pre-commit-config\.yaml$",
    re.IGNORECASE,
)
"""Files that name versions of other software. A number with a point elsewhere may be a fix."""
_VERSION = re.compile(
    r"(?<![\w.])[\^~v]?\d+(?:\.\d+)+(?:[-+.]?(?:a|b|rc|alpha|beta|dev|post)[-.]?\d*)?"
)
_CHANGED = re.compile(r"^([-+])(?!\1\1 )(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """Limits on the size of a patch."""

    files: int = 5
    """Maximum number of files. R4P studied 1 to 5."""
    lines: int = 1_000
    """Maximum of added plus removed lines. Larger patches add data or reformat code."""
    characters: int = 60_000
    """Maximum length of the diff."""
    suffix: str | None = None
    """Required suffix of all files, such as `.py`. None: any."""


def drop_rewrites(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Reduce patches to their diff, without mail headers, dates and signatures, which verifiers do not see either.

    Returns the issues with the reduced patches, and a reason for each dropped patch. Patches without a readable diff,
    or with too much text, are dropped.
    """
    kept, reasons = [], list[str]()
    for pool in pools:
        left = []
        for patch in pool.patches:
            if len(patch.diff) > MAX_RAW_CHARACTERS:
                reasons.append(f"more than {MAX_RAW_CHARACTERS:,} characters as handed in")
                continue
            try:
                left.append(replace(patch, diff=diff.extract_bare_diff(patch.diff).text))
            except BadDiff:
                reasons.append("no unified diff")
        kept += [replace(pool, patches=tuple(left))] if left else []
    return kept, reasons


def find_rejection(patch: PoolPatch, limits: ChangeLimits) -> Reason:
    """Return why curation drops a patch; None to keep it.

    Raises BadDiff unless `drop_rewrites` ran before.
    """
    if patch.author and _CHORES.search(patch.author):
        return "by a robot that keeps dependencies up to date"
    if not patch.diff.strip():
        return "changes nothing"
    if len(patch.diff) > limits.characters:
        return f"more than {limits.characters:,} characters"
    files = diff.parse(patch.diff)
    return _reject_files(files, limits) or _reject_lines(files, patch.diff, limits)


def _reject_files(files: tuple[FilePatch, ...], limits: ChangeLimits) -> Reason:
    if not any(file.is_textual for file in files):
        return "changes nothing that can be read"
    if len(files) > limits.files:
        return f"more than {limits.files} files"
    if limits.suffix and any(splitext(file.path)[1] != limits.suffix for file in files):
        return f"touches other files than {limits.suffix}"
    if _match_all(files, lambda path: basename(path).lower() in _LOCKS):
        return "only lock files"
    if _match_all(files, lambda path: bool(_PROSE.search(path))):
        return "only prose"
    return None


def _reject_lines(files: tuple[FilePatch, ...], text: str, limits: ChangeLimits) -> Reason:
    if sum(file.added + file.removed for file in files) > limits.lines:
        return f"more than {limits.lines:,} lines"
    lines = {
        sign: [line for mark, line in _CHANGED.findall(text) if mark == sign and line.strip()]
        for sign in "-+"
    }
    names_versions = _match_all(files, lambda path: bool(_DEPENDENCIES.search(path))) or all(
        "version" in line.lower() for line in (*lines["-"], *lines["+"])
    )
    return (
        "only versions"
        if names_versions and _has_only_version_changes(lines["-"], lines["+"])
        else None
    )


def _has_only_version_changes(removed: list[str], added: list[str]) -> bool:
    """Tell whether the removed and added lines differ in version numbers only."""
    before, after = (sorted(_VERSION.sub("0", line) for line in side) for side in (removed, added))
    return bool(before) and before == after and sorted(removed) != sorted(added)


def _match_all(files: tuple[FilePatch, ...], condition: Callable[[str], bool]) -> bool:
    return all(condition(file.path) for file in files)
