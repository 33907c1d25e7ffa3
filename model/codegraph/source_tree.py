"""Trees to index: a directory's files, or a commit of a git repository."""

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

from model.codegraph.definition_reader import FILE_BYTES, too_large
from model.codegraph.entities import Skipped
from model.codegraph.languages import language_of
from model.codegraph.reader_pool import Load, Refused
from model.errors import GitFailed, NoTree
from model.patches import git

_ENTRIES: Final = 500_000
"""Files, directories and all else of one tree."""
_LISTING_BYTES: Final = 64 * 1024**2
_GIT_SECONDS: Final = 60.0
"""In which git has to say something."""
_SUBMODULE: Final = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)
_ELSEWHERE: Final = "a submodule: its files are in another repository, left out"
_LINK: Final = "a symbolic link, not followed"
_UNREADABLE_NAME: Final = "its name is not UTF-8"


@dataclass(frozen=True, slots=True)
class Tree:
    """The regular files of a tree."""

    blobs: dict[str, str]
    """Paths with git's hash of the content; empty for files that nobody reads."""
    read: Load
    """The content of a path. Raises OSError or Refused."""
    skipped: tuple[Skipped, ...] = ()
    """What is no regular file, or can't be looked at."""


def survey(directory: Path, *, may_be_bare: bool = True) -> Tree:
    """Of a git repository the tree of HEAD, of any other directory its files. Raises NoTree.

    Anybody can commit files that look like a bare repository: whoever surveys a stranger's tree says that it is none.
    """
    try:
        if not directory.is_dir():
            raise NoTree(f"{directory} is no directory: name one with source files")
        is_bare = (directory / "HEAD").is_file() and (directory / "objects").is_dir()
        is_repository = (is_bare and may_be_bare) or (directory / ".git").exists()
    except OSError as error:
        raise NoTree(f"{directory} can't be looked at: {_why(error)}") from error
    return committed(directory) if is_repository else plain(directory)


def plain(directory: Path) -> Tree:
    """The files of a directory as they are. No symbolic link is followed."""
    blobs: dict[str, str] = {}
    skipped: list[Skipped] = []

    def read(path: str) -> bytes:
        return _content(os.path.join(directory, path))  # noqa: PTH118 - many times faster

    for path, found in _walk(directory):
        if isinstance(found, Skipped):
            skipped.append(found)
        elif language_of(path) is None:
            blobs[path] = ""
        else:
            try:
                blobs[path] = blob_hash(_content(found))
            except (OSError, Refused) as error:
                skipped.append(Skipped(path, _why(error)))
    if ".gitmodules" in blobs:
        skipped += _submodules(blobs, read)
    return Tree(blobs, read, tuple(skipped))


def _submodules(blobs: Iterable[str], read: Load) -> Iterator[Skipped]:
    """Those of which an export or an archive has nothing but the name."""
    try:
        named = _SUBMODULE.findall(read(".gitmodules").decode(errors="replace"))
    except (OSError, Refused):
        return
    inhabited = {parent for path in blobs for parent in _parents(path)}
    yield from (Skipped(path, _ELSEWHERE) for path in named if path not in inhabited)


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def blob_hash(content: bytes) -> str:
    """The name git gives to a content."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _walk(directory: Path) -> Iterator[tuple[str, str | Skipped]]:
    """Paths with where they are, or why they are left out; of repositories within, not what is git's own."""
    waiting = [(os.fspath(directory), "")]
    left = _ENTRIES
    while waiting:
        place, prefix = waiting.pop()
        try:
            with os.scandir(place) as entries:
                found = sorted(islice(entries, left + 1), key=lambda entry: entry.name)
        except OSError as error:
            yield prefix, Skipped(prefix or ".", _why(error))
            continue
        for entry in found[:left]:
            path = prefix + entry.name
            if reason := _strange(entry):
                yield path, Skipped(_shown(path), reason)
            elif not entry.is_dir(follow_symlinks=False):
                yield path, entry.path
            elif entry.name != ".git":
                waiting.append((entry.path, path + "/"))
        left -= len(found)
        if left < 0:
            yield ".", _too_many()
            return


def _strange(entry: os.DirEntry[str]) -> str | None:
    if not _is_text(entry.name):
        return _UNREADABLE_NAME
    if entry.is_symlink():
        return _LINK
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return None
    return "no regular file"


def _content(path: str) -> bytes:
    """Raises OSError, and Refused where it's too much or no regular file any more."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, not a path
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("no regular file")
        if status.st_size > FILE_BYTES:
            raise Refused(too_large(status.st_size))
        return file.read(FILE_BYTES + 1)


def committed(directory: Path, revision: str = "HEAD") -> Tree:
    """A commit of a git repository, bare or not: nothing of the work tree. Raises NoTree."""
    arguments = ["ls-tree", "-rz", "--full-tree", "--end-of-options", revision]
    repository = _repository(directory)
    try:
        listing = git.beginning(repository, *arguments, most=_LISTING_BYTES, seconds=_GIT_SECONDS)
    except GitFailed as error:
        raise NoTree(f"git can't list {revision} of {directory}: {error}") from error
    lines = listing.split(b"\0")[:-1]
    blobs: dict[str, str] = {}
    skipped: list[Skipped] = []
    for line in lines[:_ENTRIES]:
        facts, _, name = line.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        path = os.fsdecode(name)
        if reason := _strange_mode(mode, path):
            skipped.append(Skipped(_shown(path), reason))
        else:
            blobs[path] = blob
    if len(listing) == _LISTING_BYTES or len(lines) > _ENTRIES:
        skipped.append(_too_many())
    objects = _Objects(repository)
    return Tree(blobs, lambda path: objects.content(blobs[path]), tuple(skipped))


def _strange_mode(mode: str, path: str) -> str | None:
    if not _is_text(path):
        return _UNREADABLE_NAME
    return {"120000": _LINK, "160000": _ELSEWHERE}.get(mode)


def _too_many() -> Skipped:
    return Skipped(".", f"more than {_ENTRIES:,} entries, or names too long: the rest is left out")


class _Objects:
    """Contents of blobs, from one git process that is started when it's first asked. Once it is lost, it stays lost."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._git: git.Conversation | None = None
        self._lost: Refused | None = None
        self._lock = threading.Lock()

    def content(self, blob: str) -> bytes:
        """Raises Refused, also where it's too much."""
        with self._lock:
            if self._lost:
                raise self._lost
            try:
                return self._asked(blob)
            except (OSError, GitFailed) as error:
                self._lost = Refused(f"git gives no contents: {error or type(error).__name__}")
                if self._git:
                    self._git.close()
                raise self._lost from error

    def _asked(self, blob: str) -> bytes:
        if self._git is None:
            self._git = git.Conversation(
                self._repository, "cat-file", "--batch", seconds=_GIT_SECONDS
            )
        self._git.say(blob)
        answers = self._git.answers
        if not (line := answers.readline()):
            raise OSError("it has ended")
        answer = line.decode(errors="replace").split()
        if len(answer) != 3:
            raise Refused(f"git has no content for {blob}: {' '.join(answer)}")
        size = left = int(answer[2]) + 1  # a line end follows
        content = b""
        while left:
            content = answers.read(min(left, FILE_BYTES + 1))
            if not content:
                raise OSError("it has ended within a file")
            left -= len(content)
        if size > FILE_BYTES + 1:
            raise Refused(too_large(size - 1))
        return content[:-1]


def _repository(directory: Path) -> Path:
    """Named outright: from a broken repository git would go up to the next one above."""
    inner = directory / ".git"
    return inner if os.path.lexists(inner) else directory


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _shown(path: str) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
