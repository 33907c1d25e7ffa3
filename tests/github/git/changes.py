"""The changes between two commits, parsed from git and cached by SHA."""

from dataclasses import dataclass
from functools import cached_property

from tests.github.git.repository import Blob, GitRepository

_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied"}
_FORMAT = "%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x01"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A changed file."""

    path: str
    status: str
    additions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class Identity:
    """The author or committer of a commit, with the time (ISO 8601)."""

    name: str
    email: str
    at: str


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit's metadata."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Identity
    committer: Identity
    message: str


@dataclass(frozen=True)
class Comparison:
    """A three-dot comparison of a base and a head, as on GitHub."""

    files: tuple[FileChange, ...]
    ahead: tuple[CommitInfo, ...]
    """The head's own commits, oldest first."""

    @cached_property
    def additions(self) -> int:
        """Added lines over all files."""
        return sum(f.additions for f in self.files)

    @cached_property
    def deletions(self) -> int:
        """Deleted lines over all files."""
        return sum(f.deletions for f in self.files)


class Changes:
    """Cached readings of all repositories."""

    def __init__(self) -> None:
        self._comparisons: dict[tuple[str, str, str], Comparison] = {}
        self._commits: dict[tuple[str, str], CommitInfo] = {}
        self._blobs: dict[tuple[str, str, str], Blob | None] = {}
        self._mergeable: dict[tuple[str, str, str], bool] = {}

    def compare(self, repository: GitRepository, base: str, head: str) -> Comparison:
        """The three-dot comparison of two commits."""
        key = (repository.path.as_posix(), base, head)
        if key not in self._comparisons:
            self._comparisons[key] = _comparison(repository, base, head)
        return self._comparisons[key]

    def commit(self, repository: GitRepository, sha: str) -> CommitInfo:
        """A commit by full SHA."""
        key = (repository.path.as_posix(), sha)
        if key not in self._commits:
            self._commits[key] = log(repository, "--max-count=1", sha)[0]
        return self._commits[key]

    def blob(self, repository: GitRepository, sha: str, path: str) -> Blob | None:
        """A file at a commit given by full SHA, or None."""
        key = (repository.path.as_posix(), sha, path)
        if key not in self._blobs:
            self._blobs[key] = repository.blob(sha, path)
        return self._blobs[key]

    def mergeable(self, repository: GitRepository, base: str, head: str) -> bool:
        """Return whether merging head into base has no conflict."""
        key = (repository.path.as_posix(), base, head)
        if key not in self._mergeable:
            self._mergeable[key] = repository.merge_trees(base, head) is not None
        return self._mergeable[key]


def log(repository: GitRepository, *arguments: str) -> tuple[CommitInfo, ...]:
    """`git log` with the given arguments, in git's order."""
    text = repository.run("log", f"--format={_FORMAT}", *arguments)
    return tuple(_commit(entry.lstrip("\n")) for entry in text.split("\x01") if entry.strip())


def list_changed_files(repository: GitRepository, old: str, new: str) -> tuple[FileChange, ...]:
    """The files that differ between two trees, with renames found."""
    raw = repository.run("diff", "--raw", "--numstat", "-z", "-M", "--no-abbrev", old, new)
    statuses, counts = _raw_and_numstat(raw)
    return tuple(FileChange(path, status, *counts[path]) for path, status in statuses)


def _comparison(repository: GitRepository, base: str, head: str) -> Comparison:
    return Comparison(
        files=list_changed_files(repository, repository.merge_base(base, head), head),
        ahead=log(repository, "--reverse", f"{base}..{head}"),
    )


def _commit(entry: str) -> CommitInfo:
    sha, tree, parents, an, ae, ad, cn, ce, cd, message = entry.split("\0", 9)
    return CommitInfo(
        sha,
        tree,
        tuple(parents.split()),
        Identity(an, ae, ad),
        Identity(cn, ce, cd),
        message.rstrip("\n"),
    )


def _raw_and_numstat(raw: str) -> tuple[list[tuple[str, str]], dict[str, tuple[int, int]]]:
    """Read `--raw --numstat -z`: first all raw records, then all counts, NUL-separated."""
    fields = iter(raw.split("\0"))
    statuses: list[tuple[str, str]] = []
    counts: dict[str, tuple[int, int]] = {}
    for field in fields:
        if field.startswith(":"):
            letter = field.split()[4][0]
            path = next(fields)
            if letter in "RC":  # a rename: the new path follows
                path = next(fields)
            statuses.append((path, _STATUS.get(letter, "changed")))
        elif field:
            added, deleted, path = field.split("\t", 2)
            if not path:  # a rename: the two paths follow
                next(fields)
                path = next(fields)
            counts[path] = (_count(added), _count(deleted))
    return statuses, counts


def _count(text: str) -> int:
    return 0 if text == "-" else int(text)
