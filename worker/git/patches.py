"""Read one pull request's patch from a bare repository: its merge base and its changes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.github.facts import PullRequest
from app.values.identifiers import CommitSha, PullNumber
from worker.git.hardened_git import Git, GitError, GitTooBig
from worker.git.normalised_patch import hash_normalised_patch

DIFF: Final = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=myers",
    "--find-renames",
    "-l1000",
    "--full-index",
    "--submodule=short",
    "--ignore-submodules=none",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
"""Arguments of `git diff`, written out so that no git version's defaults apply. Renames are
detected, as on GitHub's page. Binary files are named only."""


class Refusal(StrEnum):
    """Why a pull request has no patch."""

    TOO_BIG = "too_big"
    TOO_SLOW = "too_slow"
    MOVED = "moved"
    """The head is no longer the requested one."""
    UNFETCHABLE = "unfetchable"
    """The pull request is gone, or git refuses its objects."""
    UNRELATED = "unrelated"
    """The head shares no history with its base."""

    @property
    def is_transient(self) -> bool:
        """Return whether reading the same commits again later may give a patch."""
        return self not in {Refusal.TOO_BIG, Refusal.UNRELATED}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a patch; undecodable bytes of its path are escaped."""

    path: str
    added: int | None
    """Added lines; None for a binary file."""
    deleted: int | None


@dataclass(frozen=True, slots=True)
class FetchedPull:
    """A fetched pull request with its patch."""

    number: PullNumber
    head: CommitSha
    base: CommitSha
    merge_base: CommitSha
    diff: bytes
    """From the merge base to the head, as git prints it."""
    files: tuple[ChangedFile, ...]
    normalised_sha256: str | None = None
    """Hash that patches share when they differ in blank lines and comments only; None: every byte counts."""


@dataclass(frozen=True, slots=True)
class RefusedPull:
    """A pull request without a readable patch, and why."""

    number: PullNumber
    reason: Refusal
    detail: str


class BaseNotFound(GitError):
    """The fetched history may be too short to hold the wanted commit, such as a merge base; fetch more of it."""


def read_pull(
    git: Git, pull: PullRequest, base_ref: str, head_ref: str
) -> FetchedPull | RefusedPull:
    """Return a pull request's patch from the fetched git objects, or why there is none.

    `base_ref` and `head_ref` are the local refs of its base branch and of its head. Raises BaseNotFound when deeper
    history is needed, and GitTooBig for too many changed files.
    """
    head = git.text("rev-parse", "--verify", "--end-of-options", f"{head_ref}^{{commit}}")
    if head != pull.head_sha:
        return RefusedPull(pull.number, Refusal.MOVED, f"its head is {head} by now")
    base = _find_base(git, pull, base_ref)
    began = find_merge_base(git, base, head)
    if began is None:
        detail = f"no commit in common with {pull.base_ref}"
        return RefusedPull(pull.number, Refusal.UNRELATED, detail)
    files = list_changed_files(git, began, head)
    if len(files) > git.limits.files:
        raise GitTooBig(f"{len(files)} files are changed, at most {git.limits.files} are read")
    return FetchedPull(
        number=pull.number,
        head=pull.head_sha,
        base=CommitSha(base),
        merge_base=CommitSha(began),
        diff=git.output(*DIFF, "--unified=3", began, head, "--"),
        files=files,
        normalised_sha256=hash_normalised_patch(git, began, head),
    )


def list_changed_files(git: Git, before: str, after: str) -> tuple[ChangedFile, ...]:
    """List the files that changed from commit `before` to commit `after`, in git's order.

    A renamed file appears once, by its new path.
    """
    fields = git.output(*DIFF, "--numstat", "-z", before, after, "--").split(b"\0")[:-1]
    files: list[ChangedFile] = []
    while fields:
        added, deleted, path = fields.pop(0).split(b"\t", 2)
        if not path:  # a rename: the old and the new path follow in fields of their own
            _, path = fields.pop(0), fields.pop(0)
        name = path.decode(errors="backslashreplace")
        files.append(ChangedFile(name, _parse_count(added), _parse_count(deleted)))
    return tuple(files)


def _parse_count(field: bytes) -> int | None:
    return None if field == b"-" else int(field)


def _find_base(git: Git, pull: PullRequest, base_ref: str) -> str:
    """Return the base commit that GitHub named, if fetched; else the base branch's present commit."""
    if git.is_success("cat-file", "-e", f"{pull.base_sha}^{{commit}}"):
        return pull.base_sha
    return git.text("rev-parse", "--verify", "--end-of-options", f"{base_ref}^{{commit}}")


def find_merge_base(git: Git, base: str, head: str) -> str | None:
    """Return the id of the merge base of two commits, or None for unrelated histories.

    Raises BaseNotFound when the fetched history is too short.
    """
    common = git.output("merge-base", base, head, ok=(0, 1)).decode().strip()
    cut = read_shallow_commits(git)
    if not cut:
        return common or None
    # In a shallow repository git may find an older common commit while a newer one is cut off.
    # The result is certain only if no commit above it is shallow.
    above = git.text("rev-list", base, head, *(["--not", common] if common else [])).split()
    if not common or cut.intersection(above):
        raise BaseNotFound(
            f"{base[:12]} and {head[:12]} have no common commit in the fetched history"
        )
    return common


def read_shallow_commits(git: Git) -> frozenset[str]:
    """Return the ids of the commits whose parents were not fetched; none if all history was fetched."""
    shallow = git.directory / "shallow"
    return frozenset(shallow.read_text().split()) if shallow.is_file() else frozenset()
