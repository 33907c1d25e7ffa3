"""Measure how many lines of a merged patch remain, and find commits that revert it.

The comparison uses trees instead of `git blame`: an added line survives unless the diff from the
patch's result to today's branch deletes it. So squashed, rebased and merged patches are measured
alike, from two commits. A line that was moved or indented survives too.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from app.db.store.outcomes.outcomes import MergedPull
from app.values.identifiers import CommitSha, PullNumber, RepositoryRef
from worker.git.checkout import Checkouts, build_refspec, fetch_until, is_valid_branch
from worker.git.hardened_git import Git, GitError
from worker.git.patches import DIFF, BaseNotFound, find_merge_base, read_shallow_commits

_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MOVED_CHARACTERS: Final = 20
"""Letters and digits that a moved line needs; git's threshold for moved blocks."""
_COMMIT: Final = re.compile(r"This reverts commit ([0-9a-f]{7,40})\b")
_PULL: Final = re.compile(r"^Reverts (?:([\w.-]+/[\w.-]+))?#(\d{1,9})\b", re.MULTILINE)
_TITLE: Final = re.compile(r'^Revert "(?!Revert ")[^\n]* \(#(\d{1,9})\)"')
"""Git's title for the revert of a squashed pull request, with its number."""
_MOST_REVERTS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Survival:
    """The numbers of added and of surviving lines."""

    added: int
    surviving: int

    @property
    def share(self) -> float | None:
        """Return surviving lines divided by added lines; None for a patch that added no line."""
        return self.surviving / self.added if self.added else None


@dataclass(frozen=True, slots=True)
class Revert:
    """A commit that says which commits or pull requests it reverts."""

    commit: CommitSha
    committed_at: datetime
    commits: tuple[str, ...]
    """Commits as written in the message, 7 to 40 digits each."""
    pulls: tuple[PullNumber, ...]
    """Pull requests of this repository, as GitHub's Revert button names them."""


def measure_survival(
    checkouts: Checkouts,
    repository: RepositoryRef,
    token: str | None,
    merged: MergedPull,
) -> Survival:
    """Fetch a merged pull request and the branch it was merged into, and count its added lines that remain.

    `token` gives access to the repository; None for a public one. Raises GitError.
    """
    if not is_valid_branch(merged.branch):
        raise GitError(f"{merged.branch!r} is not a branch name")
    spec, now = build_refspec(merged.branch)
    head, base, merge = (
        f"refs/r4p/merged/{int(merged.number)}/{part}" for part in ("head", "base", "merge")
    )
    specs = [
        spec,
        f"+refs/pull/{int(merged.number)}/head:{head}",
        f"+{_require_sha(merged.base)}:{base}",
        f"+{_require_sha(merged.merge)}:{merge}",
    ]
    with checkouts.open_repository(repository) as git:

        def read() -> Survival:
            before, after = find_patch_range(git, merged.head, head, base, merge)
            return compare_commits(git, before, after, now)

        return fetch_until(git, checkouts.build_remote(repository, token), specs, read)


def compare_commits(git: Git, before: str, after: str, now: str) -> Survival:
    """Return how many lines were added from commit `before` to `after`, and how many of them remain in `now`.

    An indented line remains, and so does a moved line with at least 20 letters and digits.
    """
    added: set[_Line] = {
        line for sign, line, _ in _read_changed_lines(git, before, after) if sign == b"+"
    }
    gone: list[bytes] = []
    arrived: Counter[bytes] = Counter()
    for sign, line, text in _read_changed_lines(git, after, now):
        if sign == b"+":
            arrived[_reduce_line(text)] += 1
        elif line in added:
            gone.append(_reduce_line(text))
    moved = 0
    for reduced in gone:
        if len(reduced) >= _MOVED_CHARACTERS and arrived[reduced] > 0:
            arrived[reduced] -= 1
            moved += 1
    return Survival(len(added), len(added) - len(gone) + moved)


def find_reverts(
    checkouts: Checkouts, repository: RepositoryRef, token: str | None, branch: str, since: datetime
) -> tuple[Revert, ...]:
    """Return a branch's commits after `since` that revert other commits or pull requests, newest first.

    The branch is fetched first; `token` gives access, None for a public repository. Raises GitError.
    """
    if not is_valid_branch(branch):
        raise GitError(f"{branch!r} is not a branch name")
    spec, tip = build_refspec(branch)
    with checkouts.open_repository(repository) as git:
        remote = checkouts.build_remote(repository, token)
        return fetch_until(git, remote, [spec], lambda: _read_reverts(git, repository, tip, since))


def _read_reverts(
    git: Git, repository: RepositoryRef, tip: str, since: datetime
) -> tuple[Revert, ...]:
    window = f"--since={int(since.timestamp())}"
    cut = read_shallow_commits(git)
    if cut and cut.intersection(git.text("rev-list", window, tip).split()):
        raise BaseNotFound(f"{tip}: history since {since.isoformat()} was not fetched")
    log = git.output(
        "log",
        "-z",
        "--no-color",
        "--format=%H %ct%n%B",
        f"--max-count={_MOST_REVERTS}",
        "--grep=This reverts commit",
        "--grep=^Reverts ",
        '--grep=^Revert "',
        window,
        tip,
        "--",
    )
    commits = (
        _parse_revert(entry.decode(errors="replace"), repository) for entry in log.split(b"\0")
    )
    return tuple(revert for revert in commits if revert is not None)


def _parse_revert(entry: str, repository: RepositoryRef) -> Revert | None:
    first, _, message = entry.partition("\n")
    commits = tuple(_COMMIT.findall(message))
    here = {"", repository.full_name.lower()}
    numbers = [number for place, number in _PULL.findall(message) if place.lower() in here]
    pulls = tuple(PullNumber(int(number)) for number in [*_TITLE.findall(message), *numbers])
    if not commits and not pulls:
        return None
    sha, _, seconds = first.partition(" ")
    return Revert(CommitSha(sha), datetime.fromtimestamp(int(seconds), UTC), commits, pulls)


def find_patch_range(
    git: Git, merged_head: str, head: str, base: str, merge: str
) -> tuple[str, str]:
    """Return the two commits whose difference is exactly the patch of a merged pull request.

    `head`, `base` and `merge` are local refs: the pull request's head now, the base branch before the merge, and the
    merge commit. `merged_head` is the head at the merge. Raises BaseNotFound when deeper history is needed.
    """
    if git.text("rev-parse", f"{head}^{{commit}}") == merged_head:
        began = find_merge_base(git, base, merged_head)
        if began is not None and began != merged_head:
            return began, merged_head
    # The base contains the head already, or the head moved since. What remains is the merge's own
    # commit,
    # which after a rebase of several commits is only the last of them.
    if not git.is_success("rev-parse", "--verify", "--quiet", f"{merge}^1"):
        raise BaseNotFound(f"{merge}: its parent was not fetched")
    return git.text("rev-parse", f"{merge}^1"), merge


_Line = tuple[bytes, int]
"""A file and a line number."""


def _read_changed_lines(git: Git, before: str, after: str) -> Iterator[tuple[bytes, _Line, bytes]]:
    """Yield each deleted line (`-`, old place) and added line (`+`, new place)."""
    diff = git.output(
        *DIFF, "--unified=0", "--no-prefix", "--ignore-all-space", before, after, "--"
    )
    lines = iter(diff.split(b"\n"))
    old = new = b""
    for line in lines:
        if line.startswith(b"--- "):
            old = line[4:]
        elif line.startswith(b"+++ "):
            new = line[4:]
        elif (hunk := _HUNK.match(line)) is not None:
            yield from _read_hunk(hunk, lines, old, new)


def _read_hunk(
    hunk: re.Match[bytes], lines: Iterator[bytes], old: bytes, new: bytes
) -> Iterator[tuple[bytes, _Line, bytes]]:
    """Yield the lines of a hunk by count, because their text may look like anything."""
    starts = {b"-": (old, int(hunk[1])), b"+": (new, int(hunk[3]))}
    counts = {b"-": _parse_size(hunk[2]), b"+": _parse_size(hunk[4])}
    for sign in (b"-", b"+"):
        path, start = starts[sign]
        taken = 0
        while taken < counts[sign]:
            line = next(lines)
            if line.startswith(sign):
                yield sign, (path, start + taken), line[1:]
                taken += 1


def _parse_size(field: bytes | None) -> int:
    return 1 if field is None else int(field)


def _reduce_line(text: bytes) -> bytes:
    """Return a line's letters and digits; bytes beyond ASCII count as letters."""
    return bytes(c for c in text if c > 127 or chr(c).isalnum())


def _require_sha(sha: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40}", sha) is None:
        raise GitError(f"{sha!r} is not a full commit id")
    return sha
