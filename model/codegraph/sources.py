"""Trees to index: a directory's files, or a commit of a git repository."""

import hashlib
import os
import shutil
import stat
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.codegraph.entities import Skipped
from model.codegraph.languages import language_of
from model.codegraph.readers import Refused
from model.codegraph.reading import FILE_BYTES, too_large

_FILES: Final = 500_000
_GIT_SECONDS: Final = 120
_GIT: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager")
_ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}

Read = Callable[[str], bytes]


class NoTree(Exception):
    """There is nothing to index; the message names the place and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The regular files of a tree."""

    blobs: dict[str, str]
    """Paths with git's hash of the content; empty for files that nobody reads."""
    read: Read
    """The content of a path. Raises OSError or Refused."""
    skipped: tuple[Skipped, ...] = ()
    """What is no regular file, or can't be looked at."""


def tree_of(directory: Path) -> tuple[dict[str, str], Read]:
    """As `survey`, without what was left out."""
    tree = survey(directory)
    return tree.blobs, tree.read


def survey(directory: Path, *, may_be_bare: bool = True) -> Tree:
    """Of a git repository the tree of HEAD, of any other directory its files. Raises NoTree.

    Anybody can commit files that look like a bare repository: whoever surveys a stranger's tree says that it is none.
    """
    if not directory.is_dir():
        raise NoTree(f"{directory} is no directory: name one with source files")
    is_bare = (directory / "HEAD").is_file() and (directory / "objects").is_dir()
    if (is_bare and may_be_bare) or (directory / ".git").exists():
        return committed(directory)
    return plain(directory)


def plain(directory: Path) -> Tree:
    """The files of a directory as they are. No symbolic link is followed."""
    blobs: dict[str, str] = {}
    skipped: list[Skipped] = []

    def read(path: str) -> bytes:
        return _content(os.path.join(directory, path))  # noqa: PTH118 - many times faster

    for path, found in _walk(directory):
        if isinstance(found, Skipped):
            skipped.append(found)
        elif len(blobs) >= _FILES:
            skipped.append(Skipped(path, f"more than {_FILES:,} files: the rest is left out"))
            break
        elif language_of(path) is None:
            blobs[path] = ""
        else:
            try:
                blobs[path] = blob_hash(_content(found))
            except (OSError, Refused) as error:
                skipped.append(Skipped(path, _why(error)))
    return Tree(blobs, read, tuple(skipped))


def blob_hash(content: bytes) -> str:
    """The name git gives to a content."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _walk(directory: Path) -> Iterator[tuple[str, str | Skipped]]:
    """Paths with where they are, or why they are left out. Repositories within are not entered."""
    waiting = [(os.fspath(directory), "")]
    while waiting:
        place, prefix = waiting.pop()
        try:
            with os.scandir(place) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield prefix, Skipped(prefix or ".", _why(error))
            continue
        for entry in found:
            path = prefix + entry.name
            if reason := _strange(entry):
                yield path, Skipped(_shown(path), reason)
            elif not entry.is_dir(follow_symlinks=False):
                yield path, entry.path
            elif entry.name != ".git":
                waiting.append((entry.path, path + "/"))


def _strange(entry: os.DirEntry[str]) -> str | None:
    if not _is_text(entry.name):
        return "its name is not UTF-8"
    if entry.is_symlink():
        return "a symbolic link, not followed"
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
    command = [*_command(directory), "ls-tree", "-rz", "--full-tree", "--end-of-options", revision]
    try:
        done = subprocess.run(
            command, capture_output=True, check=True, env=_ENVIRONMENT, timeout=_GIT_SECONDS
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise NoTree(f"git can't list {revision} of {directory}: {said}") from error
    except subprocess.TimeoutExpired as error:
        raise NoTree(f"git took over {_GIT_SECONDS} s to list {directory}") from error
    blobs: dict[str, str] = {}
    skipped: list[Skipped] = []
    for line in done.stdout.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        path = os.fsdecode(name)
        if reason := _strange_mode(mode, path):
            skipped.append(Skipped(_shown(path), reason))
        else:
            blobs[path] = blob
    objects = _Objects(directory)
    return Tree(blobs, lambda path: objects.content(blobs[path]), tuple(skipped))


def _strange_mode(mode: str, path: str) -> str | None:
    if not _is_text(path):
        return "its name is not UTF-8"
    return {"120000": "a symbolic link, not followed", "160000": "a submodule"}.get(mode)


class _Objects:
    """Contents of blobs, from one git process that is started when it's first asked."""

    def __init__(self, directory: Path) -> None:
        self._command = [*_command(directory), "cat-file", "--batch"]
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def content(self, blob: str) -> bytes:
        """Raises OSError, and Refused where it's too much."""
        with self._lock:
            self._process = self._process or self._started()
            asked, answers = self._process.stdin, self._process.stdout
            assert asked is not None  # noqa: S101 - for the type checker: both are pipes
            assert answers is not None  # noqa: S101
            asked.write(f"{blob}\n".encode())
            asked.flush()
            answer = answers.readline().decode(errors="replace").split()
            if len(answer) != 3:
                raise Refused(f"git has no content for {blob}: {' '.join(answer)}")
            size = int(answer[2])
            left = size + 1 if size > FILE_BYTES else 0
            while left:
                left -= len(answers.read(min(left, FILE_BYTES)) or b"." * left)
            if size > FILE_BYTES:
                raise Refused(too_large(size))
            return answers.read(size + 1)[:-1]

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
        weakref.finalize(self, _end, process)
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    process.kill()
    process.wait()


def _command(directory: Path) -> list[str]:
    """Named outright: from a broken repository git would go up to the next one above."""
    inner = directory / ".git"
    repository = inner if os.path.lexists(inner) else directory
    return [shutil.which("git") or "git", *_GIT, f"--git-dir={repository.absolute()}"]


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def _shown(path: str) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
