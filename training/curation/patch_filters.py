"""Which patches are an attempt at an issue that somebody can judge: SWE-RL's and R4P's filters (pure).

Who wrote a patch is asked only of robots that raise versions: a coding agent's patch is what the bot is for.
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

MOST_READ = 600_000
"""Characters of a patch as it was handed in, ten times those of a fix; longer ones are parsed for seconds, each."""
_CHORES = re.compile(
    r"dependabot|renovate|greenkeeper|pyup|snyk|automerge|pre-commit-ci", re.IGNORECASE
)
"""Robots that keep dependencies up to date; SWE-RL (appendix A) drops what they open."""
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
"""Files that name versions of other software. Elsewhere a number with a point is a number, and a fix."""
_VERSION = re.compile(
    r"(?<![\w.])[\^~v]?\d+(?:\.\d+)+(?:[-+.]?(?:a|b|rc|alpha|beta|dev|post)[-.]?\d*)?"
)
_CHANGED = re.compile(r"^([-+])(?!\1\1 )(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """What a patch has to be."""

    files: int = 5
    """R4P's study: 1 to 5."""
    lines: int = 1_000
    """Added and removed together; above, somebody has checked in data, or reformatted."""
    characters: int = 60_000
    suffix: str | None = None
    """Only files of this ending, as `.py`; None: any."""


def only_edits(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Patches without the head of a mail, dates, messages and signatures: whoever judges is not shown them either."""
    kept, reasons = [], list[str]()
    for pool in pools:
        left = []
        for one in pool.patches:
            if len(one.diff) > MOST_READ:
                reasons.append(f"more than {MOST_READ:,} characters as handed in")
                continue
            try:
                left.append(replace(one, diff=diff.bare(one.diff).text))
            except BadDiff:
                reasons.append("no unified diff")
        kept += [replace(pool, patches=tuple(left))] if left else []
    return kept, reasons


def unfit(patch: PoolPatch, limits: ChangeLimits) -> Reason:
    """Why a patch is left out. Raises BadDiff: `only_edits` comes before."""
    if patch.author and _CHORES.search(patch.author):
        return "by a robot that keeps dependencies up to date"
    if not patch.diff.strip():
        return "changes nothing"
    if len(patch.diff) > limits.characters:
        return f"more than {limits.characters:,} characters"
    files = diff.parse(patch.diff)
    return _of_files(files, limits) or _of_lines(files, patch.diff, limits)


def _of_files(files: tuple[FilePatch, ...], limits: ChangeLimits) -> Reason:
    if not any(one.is_textual for one in files):
        return "changes nothing that can be read"
    if len(files) > limits.files:
        return f"more than {limits.files} files"
    if limits.suffix and any(splitext(one.path)[1] != limits.suffix for one in files):
        return f"touches other files than {limits.suffix}"
    if _all(files, lambda path: basename(path).lower() in _LOCKS):
        return "only lock files"
    if _all(files, lambda path: bool(_PROSE.search(path))):
        return "only prose"
    return None


def _of_lines(files: tuple[FilePatch, ...], text: str, limits: ChangeLimits) -> Reason:
    if sum(one.added + one.removed for one in files) > limits.lines:
        return f"more than {limits.lines:,} lines"
    lines = {
        sign: [line for mark, line in _CHANGED.findall(text) if mark == sign and line.strip()]
        for sign in "-+"
    }
    names_versions = _all(files, lambda path: bool(_DEPENDENCIES.search(path))) or all(
        "version" in line.lower() for line in (*lines["-"], *lines["+"])
    )
    return "only versions" if names_versions and _only_numbers(lines["-"], lines["+"]) else None


def _only_numbers(removed: list[str], added: list[str]) -> bool:
    """What is removed comes again, but for the numbers of versions."""
    before, after = (sorted(_VERSION.sub("0", line) for line in side) for side in (removed, added))
    return bool(before) and before == after and sorted(removed) != sorted(added)


def _all(files: tuple[FilePatch, ...], condition: Callable[[str], bool]) -> bool:
    return all(condition(one.path) for one in files)
