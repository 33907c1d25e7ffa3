"""What became of a merged patch: the share of its lines still there, and whether it was reverted.

Survival compares trees rather than blaming lines: an added line lives if going from the patch's own
result to today's branch doesn't delete it. So squashed, rebased and merged patches are measured
alike, from two commits, without the history between. A line that was only moved, within its file
or to another, lives too; one that only changed its indentation as well.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from app.values.identifiers import CommitSha, PullNumber, RepositoryRef
from worker.git.checkout import Checkouts, branch_spec, fetch_until, is_branch
from worker.git.hardened_git import Git, GitError
from worker.git.patches import DIFF, BaseOutOfSight, cut_commits, merge_base

_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MOVED_CHARACTERS: Final = 20
"""Letters and digits a line needs to be known again elsewhere; git's threshold for moved blocks."""
_COMMIT: Final = re.compile(r"This reverts commit ([0-9a-f]{7,40})\b")
_PULL: Final = re.compile(r"^Reverts (?:([\w.-]+/[\w.-]+))?#(\d{1,9})\b", re.MULTILINE)
_TITLE: Final = re.compile(r'^Revert "(?!Revert ")[^\n]* \(#(\d{1,9})\)"')
"""Git's own title for taking back a squashed pull request, which bears its number."""
_MOST_REVERTS: Final = 5_000


@dataclass(frozen=True, slots=True)
class MergedPull:
    """A pull request that was merged: by merge commit, squashed or rebased."""

    number: PullNumber
    head: CommitSha
    base: CommitSha
    """The base branch's commit before the merge."""
    merge: CommitSha
    """What the merge made of it."""


@dataclass(frozen=True, slots=True)
class Survival:
    """How many of the lines a patch added are still there."""

    added: int
    surviving: int

    @property
    def share(self) -> float | None:
        """None for a patch that added no line."""
        return self.surviving / self.added if self.added else None


@dataclass(frozen=True, slots=True)
class Revert:
    """A commit that says it takes others back."""

    commit: CommitSha
    at: datetime
    commits: tuple[str, ...]
    """The commits it names, as written: 7 to 40 digits."""
    pulls: tuple[PullNumber, ...]
    """The pull requests of this repository it names, as GitHub's Revert button does."""


def surviving_lines(
    checkouts: Checkouts,
    repository: RepositoryRef,
    token: str | None,
    merged: MergedPull,
    branch: str,
) -> Survival:
    """How much of a merged patch is on that branch now, in one exchange. Raises GitError."""
    if not is_branch(branch):
        raise GitError(f"{branch!r} is no branch name")
    spec, now = branch_spec(branch)
    head, base, merge = (
        f"refs/r4p/merged/{int(merged.number)}/{part}" for part in ("head", "base", "merge")
    )
    specs = [
        spec,
        f"+refs/pull/{int(merged.number)}/head:{head}",
        f"+{_sha(merged.base)}:{base}",
        f"+{_sha(merged.merge)}:{merge}",
    ]
    with checkouts.opened(repository) as git:

        def read() -> Survival:
            before, after = _range(git, merged, head, base, merge)
            return survival_between(git, before, after, now)

        return fetch_until(git, checkouts.remote(repository, token), specs, read)


def survival_between(git: Git, before: str, after: str, now: str) -> Survival:
    """Of the lines that `before` to `after` added, those that are still in `now`."""
    added: set[_Line] = {line for sign, line, _ in _changes(git, before, after) if sign == b"+"}
    gone: list[bytes] = []
    arrived: Counter[bytes] = Counter()
    for sign, line, text in _changes(git, after, now):
        if sign == b"+":
            arrived[_essence(text)] += 1
        elif line in added:
            gone.append(_essence(text))
    moved = 0
    for essence in gone:
        if len(essence) >= _MOVED_CHARACTERS and arrived[essence] > 0:
            arrived[essence] -= 1
            moved += 1
    return Survival(len(added), len(added) - len(gone) + moved)


def reverts(
    checkouts: Checkouts, repository: RepositoryRef, token: str | None, branch: str, since: datetime
) -> tuple[Revert, ...]:
    """Commits on that branch since then that name what they take back, newest first.

    Raises GitError.
    """
    if not is_branch(branch):
        raise GitError(f"{branch!r} is no branch name")
    spec, tip = branch_spec(branch)
    with checkouts.opened(repository) as git:
        remote = checkouts.remote(repository, token)
        return fetch_until(git, remote, [spec], lambda: _reverts(git, repository, tip, since))


def _reverts(git: Git, repository: RepositoryRef, tip: str, since: datetime) -> tuple[Revert, ...]:
    window = f"--since={int(since.timestamp())}"
    cut = cut_commits(git)
    if cut and cut.intersection(git.text("rev-list", window, tip).split()):
        raise BaseOutOfSight(f"{tip}: history since {since.isoformat()} was not fetched")
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
    found = (_revert(entry.decode(errors="replace"), repository) for entry in log.split(b"\0"))
    return tuple(revert for revert in found if revert is not None)


def _revert(entry: str, repository: RepositoryRef) -> Revert | None:
    first, _, message = entry.partition("\n")
    commits = tuple(_COMMIT.findall(message))
    here = {"", repository.full_name.lower()}
    numbers = [number for place, number in _PULL.findall(message) if place.lower() in here]
    pulls = tuple(PullNumber(int(number)) for number in [*_TITLE.findall(message), *numbers])
    if not commits and not pulls:
        return None
    sha, _, seconds = first.partition(" ")
    return Revert(CommitSha(sha), datetime.fromtimestamp(int(seconds), UTC), commits, pulls)


def _range(git: Git, merged: MergedPull, head: str, base: str, merge: str) -> tuple[str, str]:
    """The two commits between which exactly this patch lies."""
    if git.text("rev-parse", f"{head}^{{commit}}") == merged.head:
        began = merge_base(git, base, merged.head)
        if began is not None and began != merged.head:
            return began, merged.head
    # The base already holds the head, or the head has moved on since: what the merge made is left,
    # of which a rebase of several commits shows only the last.
    if not git.succeeds("rev-parse", "--verify", "--quiet", f"{merge}^1"):
        raise BaseOutOfSight(f"{merge}: its parent was not fetched")
    return git.text("rev-parse", f"{merge}^1"), merge


_Line = tuple[bytes, int]
"""A file and a line number in it."""


def _changes(git: Git, before: str, after: str) -> Iterator[tuple[bytes, _Line, bytes]]:
    """Each deleted (`-`, by its old place) and added (`+`, by its new place) line."""
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
            yield from _hunk(hunk, lines, old, new)


def _hunk(
    hunk: re.Match[bytes], lines: Iterator[bytes], old: bytes, new: bytes
) -> Iterator[tuple[bytes, _Line, bytes]]:
    """The lines of one hunk, taken from `lines` by count: their text may look like anything."""
    starts = {b"-": (old, int(hunk[1])), b"+": (new, int(hunk[3]))}
    counts = {b"-": _size(hunk[2]), b"+": _size(hunk[4])}
    for sign in (b"-", b"+"):
        path, start = starts[sign]
        taken = 0
        while taken < counts[sign]:
            line = next(lines)
            if line.startswith(sign):
                yield sign, (path, start + taken), line[1:]
                taken += 1


def _size(field: bytes | None) -> int:
    return 1 if field is None else int(field)


def _essence(text: bytes) -> bytes:
    """A line's letters and digits; what is beyond ASCII counts as letters."""
    return bytes(c for c in text if c > 127 or chr(c).isalnum())


def _sha(sha: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40}", sha) is None:
        raise GitError(f"{sha!r} is no commit's full name")
    return sha
