"""Read the commits of a git repository: their changed files, diffs and contents. Nothing of the repository runs."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from model.errors import BadGym, GitFailed
from model.execution.screening.patch_screening import is_test_file
from model.patches import git

_SECONDS: Final = 120.0
_LOG_BYTES: Final = 512 * 1024**2
_DIFF_BYTES: Final = 4 * 1024**2
_FILE_BYTES: Final = 4 * 1024**2
_MESSAGE_BYTES: Final = 64 * 1024
_HEADER: Final = "%x00%x00%x01%H%x00%P%x00%cI%x00%s%x00"
_MARK: Final = b"\0\0\x01"
"""Begins a commit. A subject or a path can hold the last character, but never follows two NUL characters."""
_DOCUMENT: Final = re.compile(
    r"(?:^|/)docs?/|\.(?:md|rst|txt|css|html|png|svg|cfg|ini|toml|lock|ya?ml|json)$|(?:^|/)\.[^/]+$"
    r"|(?:^|/)(?:AUTHORS|CHANGES|CHANGELOG|CONTRIBUTORS|HISTORY|LICENSE|MANIFEST\.in|Makefile|NEWS|README|TODO)$"
    r"|^(?:setup|conf|noxfile|tasks)\.py$|(?:^|/)(?:__version__|version)\.py$",
    re.IGNORECASE,
)
"""Files that change no behaviour a test sees: documentation, packaging and tools' settings."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a commit changes."""

    path: str
    lines: int | None
    """Number of added and removed lines; None for a binary file."""


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    """A commit with one parent."""

    sha: str
    parent: str
    date: str
    """Committer's date, as ISO 8601."""
    subject: str
    files: tuple[ChangedFile, ...]

    @property
    def sources(self) -> tuple[ChangedFile, ...]:
        """The changed files that are neither tests nor documentation: the true patch."""
        return tuple(
            file for file in self.files if not (is_test_file(file.path) or _is_document(file.path))
        )

    @property
    def tests(self) -> tuple[ChangedFile, ...]:
        """The changed test files: the test patch."""
        return tuple(file for file in self.files if is_test_file(file.path))


def _is_document(path: str) -> bool:
    return _DOCUMENT.search(path) is not None


def locate_repository(directory: Path) -> Path:
    """Return the git directory of a work tree or bare repository. Raises BadGym."""
    inner = directory / ".git"
    repository = inner if os.path.lexists(inner) else directory
    try:
        git.run(repository, "rev-parse", "--git-dir", seconds=_SECONDS)
    except GitFailed as error:
        raise BadGym(
            f"--git {directory} is no git repository: {error}; clone a bundle with `git clone FILE DIR`"
        ) from error
    return repository.resolve()


def read_commits(
    repository: Path, revision: str, since: str | None, until: str | None
) -> list[HistoryCommit]:
    """Return the commits with one parent from which `revision` follows, the newest first.

    `since` and `until` are ISO dates of the committer; None sets no limit. Raises BadGym.
    """
    dates = [f"--{name}={date}" for name, date in (("since", since), ("until", until)) if date]
    options = ("--min-parents=1", "--max-parents=1", "--no-renames", "--numstat", "-z")
    arguments = ("log", *options, *dates, f"--format={_HEADER}", "--end-of-options", revision, "--")
    try:
        output = git.read_beginning(repository, *arguments, max_bytes=_LOG_BYTES, seconds=_SECONDS)
    except GitFailed as error:
        raise BadGym(
            f"the history of {revision!r} can't be read: {error}; name a branch with --revision"
        ) from error
    return [_parse_commit(block) for block in output.split(_MARK)[1:]]


def _parse_commit(block: bytes) -> HistoryCommit:
    sha, parent, date, subject, *stats = block.decode(errors="surrogateescape").split("\0")
    files = (line.strip("\n").split("\t", 2) for line in stats if line.strip("\n"))
    changed = tuple(
        ChangedFile(path, None if added == "-" else int(added) + int(removed))
        for added, removed, path in files
    )
    return HistoryCommit(sha, parent, date, subject, changed)


def read_diff(repository: Path, commit: HistoryCommit, files: Sequence[ChangedFile]) -> str:
    """Return the unified diff of some files of a commit; empty without files. Raises GitFailed."""
    if not files:
        return ""
    form = (
        "-p",
        "-r",
        "-U3",
        "--no-renames",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--full-index",
    )
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "--no-relative")
    paths = (file.path for file in files)
    arguments = (
        "--literal-pathspecs",
        "diff-tree",
        *form,
        *prefixes,
        commit.parent,
        commit.sha,
        "--",
        *paths,
    )
    output = git.read_beginning(repository, *arguments, max_bytes=_DIFF_BYTES, seconds=_SECONDS)
    if len(output) == _DIFF_BYTES:
        raise GitFailed(f"the diff of {commit.sha} is larger than {_DIFF_BYTES:,} bytes")
    return output.decode(errors="surrogateescape")


def read_message(repository: Path, commit: HistoryCommit) -> str:
    """Return the beginning of a commit's message: its subject and its body. Raises GitFailed."""
    arguments = ("log", "-1", "--format=%B", "--end-of-options", commit.sha, "--")
    output = git.read_beginning(repository, *arguments, max_bytes=_MESSAGE_BYTES, seconds=_SECONDS)
    return output.decode(errors="surrogateescape").strip()


class ContentReader:
    """Reads files of commits through one git process. Use it in a `with` statement."""

    def __init__(self, repository: Path) -> None:
        self._process = git.GitProcess(repository, "cat-file", "--batch", seconds=_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()

    def read(self, revision: str, path: str) -> bytes | None:
        """Return the content of a file in a commit; None without such a file. Raises GitFailed."""
        if "\n" in path:  # git reads one name a line
            return None
        try:
            self._process.send_line(f"{revision}:{path}")
            words = self._process.answers.readline().split()
            if len(words) < 3 or words[-2] != b"blob":
                return None
            content = self._process.answers.read(int(words[-1]) + 1)[:-1]
        except OSError as error:
            raise GitFailed(f"{path} of {revision} can't be read: {error}") from error
        return content if len(content) <= _FILE_BYTES else None


def list_paths(repository: Path, revision: str) -> Iterator[str]:
    """Yield the paths of all files of a commit. Raises GitFailed."""
    arguments = ("ls-tree", "-rz", "--name-only", "--full-tree", "--end-of-options", revision)
    listing = git.read_beginning(repository, *arguments, max_bytes=_DIFF_BYTES, seconds=_SECONDS)
    yield from (os.fsdecode(name) for name in listing.split(b"\0")[:-1])
