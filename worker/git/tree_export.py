"""The tree of one commit as plain files, for an agent to read: no history, no link, nothing of git's own.

Git writes the tree as a tar, we take plain files out of it one by one, by the rules of every path an agent may name
(model/workspace/paths.py). What is left out is said.
"""

import errno
import fcntl
import os
import re
import shutil
import stat
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Final

from app.values.identifiers import CommitSha
from model.workspace import safe_open
from model.workspace.paths import refusal, shown
from worker.git.hardened_git import Git, GitError, GitTimeout, GitTooBig

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_CHUNK: Final = 1024 * 1024
_MOST_NAMED: Final = 100
"""Of the paths that were left out; all of them are counted."""
_HEADERS: Final = 1024
"""Bytes that a tar has of its own for one file."""
_ENTRY: Final = 250
"""Bytes that git spends on naming one file, on average, with the longest paths that any project has."""
_CLASHES: Final = {
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.EXDEV,
    errno.ENAMETOOLONG,
}
_NO_CONVERSION: Final = (
    "* -export-ignore -export-subst -text -ident -filter !eol !crlf !working-tree-encoding\n"
)
"""Wins over the tree's own .gitattributes: files come out as they were committed, all of them, and $Format$ stays."""


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """How much of a tree is taken in."""

    bytes: int = 1024**3
    """Of all files together, and of the tar they come in."""
    file_bytes: int = 100 * 1024**2
    """Larger files are left out."""
    files: int = 200_000
    seconds: float = 300.0
    """For git, and again for taking its tar apart."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of the tree that is no file in the export."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Export:
    """One tree on disk."""

    directory: Path
    files: int
    bytes: int
    left_out: tuple[LeftOut, ...]
    """The first of them."""
    left_out_count: int


@dataclass(frozen=True, slots=True)
class Exports:
    """Where trees lie for as long as somebody works on them; each in a folder that its user holds a lock on."""

    directory: Path
    limits: ExportLimits = field(default_factory=ExportLimits)

    @contextmanager
    def room(self) -> Iterator[Path]:
        """An empty folder to export to, removed afterwards; and what crashed processes left is removed first."""
        self.sweep()
        with self._alone():
            room = Path(mkdtemp(prefix="tree-", dir=self.directory))
            lock = os.open(room, safe_open.FOLDER)
            fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed, or this process ends
        try:
            yield room
        finally:
            shutil.rmtree(room, ignore_errors=True)
            os.close(lock)

    def export(self, git: Git, commit: CommitSha, room: Path) -> Export:
        """The tree of that commit, which was fetched, under `room`.

        Raises GitError for what is no commit, and for a tree with names that git itself refuses, such as `.git`; GitTooBig
        and GitTimeout beyond a limit. `room` then holds a part of it.
        """
        tar, tree = room / "tree.tar", room / "tree"
        _write_tar(git, commit, tar, self.limits)
        tree.mkdir()
        with tar.open("rb") as stream:
            report = unpack(stream, tree, self.limits)
        tar.unlink()
        return report

    def sweep(self) -> int:
        """Remove what nobody works on any more, as after a crash. Returns how many trees those were."""
        with self._alone():
            abandoned = [room for room in self.directory.glob("tree-*") if _is_abandoned(room)]
            for room in abandoned:
                shutil.rmtree(room, ignore_errors=True)
        return len(abandoned)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A folder that was just made isn't locked yet: nobody sweeps in that moment."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def unpack(stream: IO[bytes], directory: Path, limits: ExportLimits) -> Export:
    """The plain files of a tar, under an empty directory. Raises GitTooBig, GitTimeout, and GitError for no tar."""
    root = os.open(directory, safe_open.FOLDER | os.O_CLOEXEC)
    unpacking = _Unpacking(root, limits, time.monotonic() + limits.seconds)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            while (member := tar.next()) is not None:
                unpacking.take(tar, member)
                vars(tar)["members"].clear()  # tarfile would remember every one
    except (tarfile.TarError, RecursionError, ValueError, EOFError) as error:
        raise GitError(f"git archive: what came is no tar: {error}") from error
    finally:
        os.close(root)
    return Export(
        directory,
        unpacking.files,
        unpacking.bytes,
        tuple(unpacking.left_out),
        unpacking.left_out_count,
    )


@dataclass(slots=True)
class _Unpacking:
    root: int
    limits: ExportLimits
    deadline: float
    files: int = 0
    bytes: int = 0
    left_out: list[LeftOut] = field(default_factory=list)
    left_out_count: int = 0
    _folders: set[str] = field(default_factory=set)

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Write one member if it is a plain file; folders come with what is in them."""
        self._in_time()
        if member.isdir():
            return
        if reason := _why_not(member, self.limits):
            self._leave_out(member, reason)
            return
        if self.files >= self.limits.files:
            raise GitTooBig(f"git archive: the tree has more than {self.limits.files:,} files")
        if self.bytes + member.size > self.limits.bytes:
            raise GitTooBig(f"git archive: the tree has more than {self.limits.bytes:,} bytes")
        try:
            self._write(tar, member)
        except OSError as error:
            if error.errno not in _CLASHES:
                raise
            self._leave_out(member, f"its name is taken: {error.strerror}")

    def _write(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._make_folders(member.name)
        mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        source = tar.extractfile(member)
        with (
            safe_open.opened(self.root, member.name, flags, mode) as handle,
            open(handle, "wb", closefd=False) as file,
        ):
            while source is not None and (chunk := source.read(_CHUNK)):
                self._in_time()
                file.write(chunk)
        self.files += 1
        self.bytes += member.size

    def _make_folders(self, path: str) -> None:
        parts = path.split("/")[:-1]
        for depth, name in enumerate(parts):
            above, folder = "/".join(parts[:depth]) or ".", "/".join(parts[: depth + 1])
            if folder not in self._folders:
                with (
                    safe_open.opened(self.root, above, safe_open.FOLDER) as handle,
                    suppress(FileExistsError),
                ):
                    os.mkdir(name, 0o755, dir_fd=handle)
                self._folders.add(folder)

    def _in_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise GitTimeout(f"git archive: not unpacked after {self.limits.seconds:g} s")

    def _leave_out(self, member: tarfile.TarInfo, reason: str) -> None:
        self.left_out_count += 1
        if len(self.left_out) < _MOST_NAMED:
            self.left_out.append(LeftOut(shown(member.name), reason))


def _why_not(member: tarfile.TarInfo, limits: ExportLimits) -> str | None:
    """Why this is no file for an agent; None: it is one."""
    if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or member.sparse is not None:
        return "it is a link" if member.issym() or member.islnk() else "it is no plain file"
    if member.size > limits.file_bytes:
        return f"it has {member.size:,} bytes, more than {limits.file_bytes:,}"
    return refusal(member.name)


def _write_tar(git: Git, commit: CommitSha, tar: Path, limits: ExportLimits) -> None:
    if _COMMIT.fullmatch(commit) is None:
        raise GitError(f"{commit!r} is no commit's full name")
    _require_few_files(git, commit, limits)
    attributes = git.directory / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text(_NO_CONVERSION)
    most = limits.bytes + limits.files * _HEADERS
    capped = Git(git.directory, replace(git.caps, pack_bytes=most, seconds=limits.seconds))
    tar.touch()
    try:
        # Of a tree, not of a commit: then there is nothing to say about the commit.
        capped.output("archive", "--format=tar", f"--output={tar.absolute()}", f"{commit}^{{tree}}")
    except GitTimeout:
        raise
    except GitError as error:
        if tar.stat().st_size >= most // 512 * 512:
            raise GitTooBig(
                f"git archive: the tree has more than {limits.bytes:,} bytes"
            ) from error
        raise


def _require_few_files(git: Git, commit: CommitSha, limits: ExportLimits) -> None:
    """Before git's archive reads all names: a tree that names itself many times over is small on disk only."""
    most = limits.files * _ENTRY
    capped = Git(git.directory, replace(git.caps, output_bytes=most, seconds=limits.seconds))
    try:
        listed = capped.output("ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{tree}}")
    except GitTooBig as error:
        raise GitTooBig(f"git ls-tree: more than {most:,} bytes of names in the tree") from error
    if (count := listed.count(b"\0")) > limits.files:
        raise GitTooBig(f"git ls-tree: {count:,} files in the tree, more than {limits.files:,}")


def _is_abandoned(room: Path) -> bool:
    """Whether it is a folder that is there and that nobody holds."""
    try:
        lock = os.open(room, safe_open.FOLDER | os.O_NOFOLLOW)
    except OSError:
        return False  # its user removed it just now, or it is none of ours
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
