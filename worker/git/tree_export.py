"""Export the tree of a commit as plain files for an agent, without history, links or git files.

Git writes the tree as a tar. This module unpacks its plain files one by one, under the path rules
of `model/workspace/paths.py`, and reports what it left out. The agents' worker may write to the directory too,
so the module follows no link in it, and the tar lies beside the repository.
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
from model.workspace.paths import explain_refusal, quote_path
from worker.git.hardened_git import Git, GitError, GitTimeout, GitTooBig

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_CHUNK: Final = 1024 * 1024
_MOST_NAMED: Final = 100
"""Most left-out paths that are named; all are counted."""
_HEADERS: Final = 1024
"""Bytes of a tar's headers per file."""
_ENTRY: Final = 250
"""Average bytes of git's listing per file, for the longest paths of known projects."""
_CLASHES: Final = frozenset(
    {errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EXDEV, errno.ENAMETOOLONG}
)
_NO_CONVERSION: Final = (
    "* -export-ignore -export-subst -text -ident -filter !eol !crlf !working-tree-encoding\n"
)
"""Overrides the tree's own .gitattributes, so that all files come out as committed."""


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """Size and time limits for one exported source tree."""

    bytes: int = 1024**3
    """Most bytes of all files together. Their tar may add its headers."""
    file_bytes: int = 100 * 1024**2
    """Larger files are left out."""
    files: int = 200_000
    seconds: float = 300.0
    """Most time for git, and again for unpacking."""


@dataclass(frozen=True, slots=True)
class LeftOutFile:
    """A path of a commit's tree that was not exported, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ExportReport:
    """One exported source tree on disk, and what was left out."""

    directory: Path
    files: int
    bytes: int
    left_out: tuple[LeftOutFile, ...]
    """The first 100 paths that were left out."""
    left_out_count: int


@dataclass(frozen=True, slots=True)
class TreeExporter:
    """Exports source trees into locked folders of one directory, each removed after its use."""

    directory: Path
    limits: ExportLimits = field(default_factory=ExportLimits)

    @contextmanager
    def create_folder(self) -> Iterator[Path]:
        """Create an empty, locked folder, yield its path, and remove it afterwards.

        Folders that crashed processes left are removed first.
        """
        self.remove_abandoned()
        with self._lock_directory():
            room = Path(mkdtemp(prefix="tree-", dir=self.directory))
            lock = os.open(room, safe_open.FOLDER | os.O_NOFOLLOW)
            fcntl.flock(lock, fcntl.LOCK_EX)  # held until the process ends, even by a crash
        try:
            yield room
        finally:
            shutil.rmtree(room, ignore_errors=True)
            os.close(lock)

    def export(self, git: Git, commit: CommitSha, room: Path) -> ExportReport:
        """Write the plain files of a fetched commit to `room`/tree, and report what was left out.

        `git` is the repository that holds the commit, and `room` a folder of `create_folder`. Raises GitError for an
        invalid commit or for names that git refuses, such as `.git`; GitTooBig and GitTimeout beyond a limit. `room`
        may then hold a part of the tree.
        """
        tar = git.directory / "tree.tar"
        try:
            _write_tar(git, commit, tar, self.limits)
            handle = os.open(room, safe_open.FOLDER | os.O_NOFOLLOW)
            try:
                os.mkdir("tree", 0o755, dir_fd=handle)
                with (
                    safe_open.open_below(handle, "tree", safe_open.FOLDER) as tree,
                    tar.open("rb") as stream,
                ):
                    return _unpack_below(stream, tree, room / "tree", self.limits)
            finally:
                os.close(handle)
        finally:
            tar.unlink(missing_ok=True)

    def remove_abandoned(self) -> int:
        """Remove the tree folders that crashed processes left, and return how many were removed."""
        with self._lock_directory():
            abandoned = [room for room in self.directory.glob("tree-*") if _is_abandoned(room)]
            for room in abandoned:
                shutil.rmtree(room, ignore_errors=True)
        return len(abandoned)

    @contextmanager
    def _lock_directory(self) -> Iterator[None]:
        """Lock the directory, so that nobody removes a new folder before its own lock is taken."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(self.directory / "lock", flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def unpack(stream: IO[bytes], directory: Path, limits: ExportLimits) -> ExportReport:
    """Write the plain files of a tar into an empty directory, and report what was left out.

    Raises GitTooBig, GitTimeout, and GitError when the stream is no tar.
    """
    root = os.open(directory, safe_open.FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return _unpack_below(stream, root, directory, limits)
    finally:
        os.close(root)


def _unpack_below(
    stream: IO[bytes], root: int, directory: Path, limits: ExportLimits
) -> ExportReport:
    """Unpack into the open directory `root`; `directory` is its path for the report."""
    unpacking = _Unpacker(root, limits, time.monotonic() + limits.seconds)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            while (member := tar.next()) is not None:
                unpacking.take(tar, member)
                vars(tar)["members"].clear()  # tarfile would keep every member in memory
    except (tarfile.TarError, RecursionError, ValueError, EOFError) as error:
        raise GitError(f"git archive: the output is not a tar: {error}") from error
    left = tuple(unpacking.left_out)
    return ExportReport(directory, unpacking.files, unpacking.bytes, left, unpacking.left_out_count)


@dataclass(slots=True)
class _Unpacker:
    root: int
    limits: ExportLimits
    deadline: float
    files: int = 0
    bytes: int = 0
    left_out: list[LeftOutFile] = field(default_factory=list)
    left_out_count: int = 0
    _folders: set[str] = field(default_factory=set)

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Write one member of the tar if it is a plain file. Folders are created with their files."""
        self._check_time()
        if member.isdir():
            return
        if reason := _find_refusal(member, self.limits):
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
            safe_open.open_below(self.root, member.name, flags, mode) as handle,
            open(handle, "wb", closefd=False) as file,
        ):
            while source is not None and (chunk := source.read(_CHUNK)):
                self._check_time()
                file.write(chunk)
        self.files += 1
        self.bytes += member.size

    def _make_folders(self, path: str) -> None:
        parts = path.split("/")[:-1]
        for depth, name in enumerate(parts):
            above, folder = "/".join(parts[:depth]) or ".", "/".join(parts[: depth + 1])
            if folder not in self._folders:
                with (
                    safe_open.open_below(self.root, above, safe_open.FOLDER) as handle,
                    suppress(FileExistsError),
                ):
                    os.mkdir(name, 0o755, dir_fd=handle)
                self._folders.add(folder)

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise GitTimeout(f"git archive: not unpacked after {self.limits.seconds:g} s")

    def _leave_out(self, member: tarfile.TarInfo, reason: str) -> None:
        self.left_out_count += 1
        if len(self.left_out) < _MOST_NAMED:
            self.left_out.append(LeftOutFile(quote_path(member.name), reason))


def _find_refusal(member: tarfile.TarInfo, limits: ExportLimits) -> str | None:
    """Return why a member is not exported, or None."""
    if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or member.sparse is not None:
        return "it is a link" if member.issym() or member.islnk() else "it is not a plain file"
    if member.size > limits.file_bytes:
        return f"it has {member.size:,} bytes, more than {limits.file_bytes:,}"
    return explain_refusal(member.name)


def _write_tar(git: Git, commit: CommitSha, tar: Path, limits: ExportLimits) -> None:
    if _COMMIT.fullmatch(commit) is None:
        raise GitError(f"{commit!r} is not a full commit id")
    _require_few_files(git, commit, limits)
    attributes = git.directory / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text(_NO_CONVERSION)
    most = limits.bytes + limits.files * _HEADERS
    capped = Git(git.directory, replace(git.limits, pack_bytes=most, seconds=limits.seconds))
    tar.touch()
    try:
        # Archive a tree: for a commit git would add a header that names it.
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
    """Count the names before git's archive reads them: a tree that contains itself is small on disk only."""
    most = limits.files * _ENTRY
    capped = Git(git.directory, replace(git.limits, output_bytes=most, seconds=limits.seconds))
    try:
        listed = capped.output("ls-tree", "-r", "-z", "--full-tree", f"{commit}^{{tree}}")
    except GitTooBig as error:
        raise GitTooBig(f"git ls-tree: more than {most:,} bytes of names in the tree") from error
    if (count := listed.count(b"\0")) > limits.files:
        raise GitTooBig(f"git ls-tree: {count:,} files in the tree, more than {limits.files:,}")


def _is_abandoned(room: Path) -> bool:
    """Return whether a folder exists and nobody holds its lock."""
    try:
        lock = os.open(room, safe_open.FOLDER | os.O_NOFOLLOW)
    except OSError:
        return False  # its user just removed it, or it is no folder of this store
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
