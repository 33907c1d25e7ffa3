"""Read the source files of a directory or of a git commit, for the index."""

import hashlib
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from model.codegraph.definition_reader import FILE_BYTES, describe_size
from model.codegraph.entities import Skipped
from model.codegraph.languages import detect_language
from model.codegraph.reader_pool import LoadContent, UnreadableFile
from model.errors import GitFailed, NoTree
from model.patches import git

_ENTRIES: Final = 500_000
"""Most entries of one tree: files, directories and everything else."""
_LISTING_BYTES: Final = 64 * 1024**2
_GIT_SECONDS: Final = 60.0
"""Time in which git must produce output."""
_SUBMODULE: Final = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)
_SUBMODULE_REASON: Final = "a submodule: its files are in another repository, left out"
_LINK: Final = "a symbolic link, not followed"
_UNREADABLE_NAME: Final = "its name is not UTF-8"


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The regular files of a directory or of a commit: their git blob hashes, and a function that reads them."""

    blobs: dict[str, str]
    """Path to git blob hash; the hash is empty for files that no parser reads."""
    read: LoadContent
    """Returns the content of a path. Raises OSError or UnreadableFile."""
    skipped: tuple[Skipped, ...] = ()
    """Entries that are not regular files or cannot be read."""


def survey(directory: Path, *, may_be_bare: bool = True) -> SourceTree:
    """List the committed files of a git repository, or all files of another directory, with their hashes.

    `may_be_bare` says that `directory` itself may be a bare repository. Set it to False for a stranger's tree: anybody
    can commit files that look like one. Raises NoTree.
    """
    try:
        if not directory.is_dir():
            raise NoTree(f"{directory} is not a directory; name one with source files")
        is_bare = (directory / "HEAD").is_file() and (directory / "objects").is_dir()
        is_repository = (is_bare and may_be_bare) or (directory / ".git").exists()
    except OSError as error:
        raise NoTree(f"{directory} cannot be read: {_describe_error(error)}") from error
    return read_commit(directory) if is_repository else read_directory(directory)


def read_directory(directory: Path) -> SourceTree:
    """List the files of a directory on disk with their git blob hashes. Symbolic links are not followed."""
    blobs: dict[str, str] = {}
    skipped: list[Skipped] = []

    def read(path: str) -> bytes:
        return _read_content(os.path.join(directory, path))  # noqa: PTH118 - many times faster

    for path, place in _walk(directory):
        if isinstance(place, Skipped):
            skipped.append(place)
        elif detect_language(path) is None:
            blobs[path] = ""
        else:
            try:
                blobs[path] = hash_blob(_read_content(place))
            except (OSError, UnreadableFile) as error:
                skipped.append(Skipped(path, _describe_error(error)))
    if ".gitmodules" in blobs:
        skipped += _list_submodules(blobs, read)
    return SourceTree(blobs, read, tuple(skipped))


def _list_submodules(blobs: Iterable[str], read: LoadContent) -> Iterator[Skipped]:
    """Yield submodules of which an archive contains only the name."""
    try:
        named = _SUBMODULE.findall(read(".gitmodules").decode(errors="replace"))
    except (OSError, UnreadableFile):
        return
    inhabited = {parent for path in blobs for parent in _list_parents(path)}
    yield from (Skipped(path, _SUBMODULE_REASON) for path in named if path not in inhabited)


def _list_parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def hash_blob(content: bytes) -> str:
    """Compute git's blob hash of a file's content, as 40 hex digits."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _walk(directory: Path) -> Iterator[tuple[str, str | Skipped]]:
    """Yield each path with its place on disk or the reason for skipping it. Folders named `.git` are ignored."""
    waiting = [(os.fspath(directory), "")]
    left = _ENTRIES
    while waiting:
        place, prefix = waiting.pop()
        try:
            with os.scandir(place) as entries:
                listed = sorted(islice(entries, left + 1), key=lambda entry: entry.name)
        except OSError as error:
            yield prefix, Skipped(prefix or ".", _describe_error(error))
            continue
        for entry in listed[:left]:
            path = prefix + entry.name
            if reason := _explain_entry(entry):
                yield path, Skipped(_escape_path(path), reason)
            elif not entry.is_dir(follow_symlinks=False):
                yield path, entry.path
            elif entry.name != ".git":
                waiting.append((entry.path, path + "/"))
        left -= len(listed)
        if left < 0:
            yield ".", _skip_rest()
            return


def _explain_entry(entry: os.DirEntry[str]) -> str | None:
    if not _is_text(entry.name):
        return _UNREADABLE_NAME
    if entry.is_symlink():
        return _LINK
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return None
    return "not a regular file"


def _read_content(path: str) -> bytes:
    """Read a file. Raises OSError, and UnreadableFile when it is too large or not a regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile("not a regular file")
        if status.st_size > FILE_BYTES:
            raise UnreadableFile(describe_size(status.st_size))
        return file.read(FILE_BYTES + 1)


def read_commit(directory: Path, revision: str = "HEAD") -> SourceTree:
    """List the files of the commit `revision` in the git repository `directory`, with their hashes. Raises NoTree.

    The work tree is ignored.
    """
    arguments = ["ls-tree", "-rz", "--full-tree", "--end-of-options", revision]
    repository = _locate_repository(directory)
    try:
        listing = git.read_beginning(
            repository, *arguments, max_bytes=_LISTING_BYTES, seconds=_GIT_SECONDS
        )
    except GitFailed as error:
        raise NoTree(f"git can't list {revision} of {directory}: {error}") from error
    lines = listing.split(b"\0")[:-1]
    blobs: dict[str, str] = {}
    skipped: list[Skipped] = []
    for line in lines[:_ENTRIES]:
        facts, _, name = line.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        path = os.fsdecode(name)
        if reason := _explain_mode(mode, path):
            skipped.append(Skipped(_escape_path(path), reason))
        else:
            blobs[path] = blob
    if len(listing) == _LISTING_BYTES or len(lines) > _ENTRIES:
        skipped.append(_skip_rest())
    objects = _BlobReader(repository)
    return SourceTree(blobs, lambda path: objects.content(blobs[path]), tuple(skipped))


def _explain_mode(mode: str, path: str) -> str | None:
    if not _is_text(path):
        return _UNREADABLE_NAME
    return {"120000": _LINK, "160000": _SUBMODULE_REASON}.get(mode)


def _skip_rest() -> Skipped:
    return Skipped(".", f"more than {_ENTRIES:,} entries, or names too long: the rest is left out")


class _BlobReader:
    """Reads blobs from one git process, which starts on first use. After a failure it stays failed."""

    def __init__(self, repository: Path) -> None:
        self._locate_repository = repository
        self._git: git.GitProcess | None = None
        self._lost: UnreadableFile | None = None
        self._lock = threading.Lock()

    def content(self, blob: str) -> bytes:
        """Return a blob's content. Raises UnreadableFile, also for a large blob."""
        with self._lock:
            if self._lost:
                raise self._lost
            try:
                return self._request(blob)
            except (OSError, GitFailed) as error:
                self._lost = UnreadableFile(
                    f"git gives no contents: {error or type(error).__name__}"
                )
                if self._git:
                    self._git.close()
                raise self._lost from error

    def _request(self, blob: str) -> bytes:
        if self._git is None:
            self._git = git.GitProcess(
                self._locate_repository, "cat-file", "--batch", seconds=_GIT_SECONDS
            )
        self._git.send_line(blob)
        answers = self._git.answers
        if not (line := answers.readline()):
            raise OSError("it has ended")
        answer = line.decode(errors="replace").split()
        if len(answer) != 3:
            raise UnreadableFile(f"git has no content for {blob}: {' '.join(answer)}")
        size = left = int(answer[2]) + 1  # a line end follows
        content = b""
        while left:
            content = answers.read(min(left, FILE_BYTES + 1))
            if not content:
                raise OSError("it has ended within a file")
            left -= len(content)
        if size > FILE_BYTES + 1:
            raise UnreadableFile(describe_size(size - 1))
        return content[:-1]


def _locate_repository(directory: Path) -> Path:
    """Return the explicit git directory. For a broken repository git would search the parent folders."""
    inner = directory / ".git"
    return inner if os.path.lexists(inner) else directory


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _escape_path(path: str) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")


def _describe_error(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
