"""A workspace shows a directory to an agent. Reads come from disk; edits stay in memory until they become a diff."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from model.errors import PathRefused, TooBig, WorkspaceError
from model.workspace import git_diff, safe_open
from model.workspace.git_diff import FileChange
from model.workspace.paths import check_path, explain_write_refusal, quote_path

_WAYS_OUT: Final = {
    errno.ELOOP: "a part of it is a symbolic link, and links are not followed",
    errno.EXDEV: "it leads out of the tree",
    errno.ENOTDIR: "a part of it is a file or a link, not a folder",
    errno.EACCES: "it may not be read",
    errno.EPERM: "it may not be read",
    errno.ENAMETOOLONG: "it is longer than paths may be on this machine",
    errno.ENXIO: "it is no plain file",
    errno.ENODEV: "it is no plain file",
}


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Limits of a workspace: sizes and number of the files that it reads or changes, and the time of a diff."""

    file_bytes: int = 5_000_000
    """Size of one file, read or written."""
    changed_files: int = 200
    changed_bytes: int = 20_000_000
    """Total size of all changed files."""
    diff_seconds: float = 60.0
    """Time limit of each git call. A diff takes a few calls and one per changed file."""


class Workspace:
    """One agent's view of a tree. Several views of one directory do not see each other's edits.

    Paths are relative with forward slashes on every machine. Close the workspace or use it in a `with` block. A
    file with hard links is an ordinary file: no repository can contain them, and no write reaches the disk.
    """

    def __init__(self, root: int, limits: TreeLimits) -> None:
        self._root = root
        self._limits = limits
        self._edits: dict[str, FileChange] = {}

    @classmethod
    def open(cls, root: Path, limits: TreeLimits | None = None) -> Self:
        """Open a view of the directory `root`. Raises WorkspaceError when it is not a readable directory."""
        try:
            handle = os.open(root, safe_open.FOLDER | os.O_CLOEXEC)
        except OSError as error:
            raise WorkspaceError(
                f"no tree at {root}: {error.strerror}; name a readable directory"
            ) from error
        return cls(handle, limits or TreeLimits())

    def close(self) -> None:
        """Release the directory handle. Closing twice is harmless."""
        handle, self._root = self._root, -1
        if handle >= 0:
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self, path: str) -> bytes:
        """Return a file's content with this workspace's edits. Raises PathRefused, NoSuchFile, TooBig."""
        path = check_path(path)
        edit = self._edits.get(path)
        return self._read_stored(path).require_before() if edit is None else edit.require_after()

    def read_original(self, path: str) -> bytes:
        """Return a file's content as it was before any edit. Raises PathRefused, NoSuchFile, TooBig."""
        path = check_path(path)
        return (self._edits.get(path) or self._read_stored(path)).require_before()

    def write(self, path: str, content: bytes) -> None:
        """Change or create a file in this workspace, not on disk. Raises PathRefused, TooBig."""
        path = check_path(path)
        if reason := explain_write_refusal(path):
            raise PathRefused(f"path {quote_path(path)} is refused: {reason}")
        if len(content) > self._limits.file_bytes:
            raise TooBig(
                f"{quote_path(path)} would have {len(content):,} bytes; at most {self._limits.file_bytes:,} may be written"
            )
        if clash := next(self._find_clashes(path), None):
            raise PathRefused(
                f"path {quote_path(path)} is refused: {quote_path(clash)} is a file; a name is either a file or a folder"
            )
        self._store_edit(path, content)

    def list_changed(self) -> tuple[str, ...]:
        """Return the paths of the files that differ from the originals or are new, sorted."""
        return tuple(change.path for change in self._list_changes())

    def diff(self) -> str:
        """Return this workspace's edits as a git diff that applies to the original tree; "" without changes.

        Content that is not UTF-8 becomes a binary patch. Raises WorkspaceError when git fails.
        """
        return git_diff.build_diff(self._list_changes(), self._limits.diff_seconds)

    def _list_changes(self) -> tuple[FileChange, ...]:
        edits = sorted(self._edits.items())
        return tuple(edit for _, edit in edits if edit.before != edit.after)

    def _store_edit(self, path: str, content: bytes) -> None:
        edit = replace(self._edits.get(path) or self._read_stored(path), after=content)
        edits = self._edits | {path: edit}
        changed = [change for change in edits.values() if change.before != change.after]
        if len(changed) > self._limits.changed_files:
            raise TooBig(
                f"{quote_path(path)} was not changed: {self._limits.changed_files} files are changed already, which is the limit"
            )
        total = sum(len(change.after or b"") for change in changed)
        if total > self._limits.changed_bytes:
            raise TooBig(
                f"{quote_path(path)} was not changed: all changed files together would have {total:,} bytes, "
                f"more than {self._limits.changed_bytes:,}"
            )
        self._edits = edits

    def _find_clashes(self, path: str) -> Iterator[str]:
        """Yield new files that would have to be folders for `path` to exist, or the reverse."""
        return (o for o in self._edits if o.startswith(f"{path}/") or path.startswith(f"{o}/"))

    def _read_stored(self, path: str) -> FileChange:
        """Read a checked path from disk as an unchanged file, or as a missing one."""
        most = self._limits.file_bytes
        try:
            content, is_executable = safe_open.read_file(self._root, path, most)
        except FileNotFoundError:
            return FileChange(path, None, None)
        except safe_open.NotARegularFile as error:
            raise PathRefused(
                f"path {quote_path(path)} is refused: it is {error.strerror}; name a regular file"
            ) from error
        except OSError as error:
            if (why := _WAYS_OUT.get(error.errno or 0)) is None:
                raise
            raise PathRefused(
                f"path {quote_path(path)} is refused: {why}; name a regular file"
            ) from error
        if len(content) > most:
            raise TooBig(
                f"{quote_path(path)} has more than {most:,} bytes; larger files are not read"
            )
        return FileChange(path, content, content, is_executable=is_executable)
