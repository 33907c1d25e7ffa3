"""One pull request's patch out of a bare repository: where it began, what it changes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.values.identifiers import CommitSha, PullNumber
from worker.git.hardened_git import Git, GitError, GitTooBig

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
"""Spelled out, so that no version's default decides. Renames are found, as on GitHub's own page: a
moved file is a line to read, not two files. Binary files are named, not spelled out."""


class Refusal(StrEnum):
    """Why there is no patch of a pull request."""

    TOO_BIG = "too_big"
    TOO_SLOW = "too_slow"
    MOVED = "moved"
    """Its head is no longer the one that was asked for."""
    UNFETCHABLE = "unfetchable"
    """Gone, or its objects are malformed in a way git refuses."""
    UNRELATED = "unrelated"
    """Shares no history with its base."""

    @property
    def may_pass(self) -> bool:
        """Whether another reading of the same commits may succeed."""
        return self not in {Refusal.TOO_BIG, Refusal.UNRELATED}


@dataclass(frozen=True, slots=True)
class WantedPull:
    """A pull request as GitHub described it."""

    number: PullNumber
    head: CommitSha
    base_ref: str
    base: CommitSha
    """The base branch's commit that GitHub named."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a patch. Undecodable bytes of a path are shown as escapes."""

    path: str
    added: int | None
    """Lines; None for a binary file."""
    deleted: int | None


@dataclass(frozen=True, slots=True)
class FetchedPull:
    """A pull request's patch."""

    number: PullNumber
    head: CommitSha
    base: CommitSha
    merge_base: CommitSha
    diff: bytes
    """From merge base to head, as git prints it."""
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True)
class RefusedPull:
    """A pull request whose patch can't be had, and why."""

    number: PullNumber
    reason: Refusal
    detail: str


class BaseOutOfSight(GitError):
    """Not enough history was fetched to be sure where the pull request began."""


def read_pull(
    git: Git, pull: WantedPull, base_ref: str, head_ref: str
) -> FetchedPull | RefusedPull:
    """The patch from what has been fetched. Raises BaseOutOfSight when deeper history is needed."""
    head = git.text("rev-parse", "--verify", "--end-of-options", f"{head_ref}^{{commit}}")
    if head != pull.head:
        return RefusedPull(pull.number, Refusal.MOVED, f"its head is {head} by now")
    base = _base(git, pull, base_ref)
    began = merge_base(git, base, head)
    if began is None:
        detail = f"no commit in common with {pull.base_ref}"
        return RefusedPull(pull.number, Refusal.UNRELATED, detail)
    files = changed_files(git, began, head)
    if len(files) > git.caps.files:
        raise GitTooBig(f"{len(files)} files are changed, at most {git.caps.files} are read")
    return FetchedPull(
        number=pull.number,
        head=pull.head,
        base=CommitSha(base),
        merge_base=CommitSha(began),
        diff=git.output(*DIFF, "--unified=3", began, head, "--"),
        files=files,
    )


def changed_files(git: Git, before: str, after: str) -> tuple[ChangedFile, ...]:
    """What changed between two commits, in git's order; a rename is one file, by its new name."""
    fields = git.output(*DIFF, "--numstat", "-z", before, after, "--").split(b"\0")[:-1]
    found: list[ChangedFile] = []
    while fields:
        added, deleted, path = fields.pop(0).split(b"\t", 2)
        if not path:  # a rename: the old and the new path follow by themselves
            _, path = fields.pop(0), fields.pop(0)
        name = path.decode(errors="backslashreplace")
        found.append(ChangedFile(name, _count(added), _count(deleted)))
    return tuple(found)


def _count(field: bytes) -> int | None:
    return None if field == b"-" else int(field)


def _base(git: Git, pull: WantedPull, base_ref: str) -> str:
    """The base commit GitHub named, if it was fetched; else where the base branch is now."""
    if git.succeeds("cat-file", "-e", f"{pull.base}^{{commit}}"):
        return pull.base
    return git.text("rev-parse", "--verify", "--end-of-options", f"{base_ref}^{{commit}}")


def merge_base(git: Git, base: str, head: str) -> str | None:
    """Where two commits part; None: they share no history. Raises BaseOutOfSight when unsure."""
    found = git.output("merge-base", base, head, ok=(0, 1)).decode().strip()
    cut = cut_commits(git)
    if not cut:
        return found or None
    # In a shallow repository an older common commit can be in sight while a newer one is cut off.
    # Not if everything above the one we found is whole.
    above = git.text("rev-list", base, head, *(["--not", found] if found else [])).split()
    if not found or cut.intersection(above):
        raise BaseOutOfSight(f"{base[:12]} and {head[:12]} meet beyond what was fetched")
    return found


def cut_commits(git: Git) -> frozenset[str]:
    """Commits whose parents were not fetched."""
    shallow = git.directory / "shallow"
    return frozenset(shallow.read_text().split()) if shallow.is_file() else frozenset()
