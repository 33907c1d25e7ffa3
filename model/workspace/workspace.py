"""A directory as an agent sees it: files are read from disk, edits stay in memory until they become a diff."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from model.errors import PathRefused, TooBig, WorkspaceError
from model.workspace import git_diff, safe_open
from model.workspace.git_diff import Change
from model.workspace.paths import checked, refusal, shown, write_refusal

_WAYS_OUT: Final = {
    errno.ELOOP: "a symbolic link is on the way, and links are not followed",
    errno.EXDEV: "it leads out of the tree",
    errno.ENOTDIR: "something on the way is no folder, but a file or a link",
    errno.EACCES: "it may not be read",
    errno.EPERM: "it may not be read",
    errno.ENAMETOOLONG: "it is longer than this machine's paths may be",
    errno.ENXIO: "it is no plain file",
    errno.ENODEV: "it is no plain file",
}


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """How much of a tree is taken in, and how much may be changed."""

    file_bytes: int = 5_000_000
    """Of one file, read or written."""
    files: int = 200_000
    """That `paths` lists; what comes after them can be read, but is not listed."""
    changed_files: int = 200
    changed_bytes: int = 20_000_000
    """Of all changed files together."""
    diff_seconds: float = 60.0
    """For one run of git; there are a few, and one for each changed file."""


class Workspace:
    """One agent's view of a tree. Several may be open on the same directory: none sees the others' edits.

    Paths are relative, with slashes, whatever the machine. Close it, or use it in a `with` block. A file with several
    hard links is a file like any other: none can come with a repository, and nothing is ever written through one.
    """

    def __init__(self, root: int, limits: TreeLimits) -> None:
        self._root = root
        self._limits = limits
        self._edits: dict[str, Change] = {}

    @classmethod
    def open(cls, root: Path, limits: TreeLimits | None = None) -> Self:
        """A view of that directory. Raises WorkspaceError when it is none."""
        try:
            handle = os.open(root, safe_open.FOLDER | os.O_CLOEXEC)
        except OSError as error:
            raise WorkspaceError(
                f"no tree at {root}: {error.strerror}; name a directory that may be read"
            ) from error
        return cls(handle, limits or TreeLimits())

    def close(self) -> None:
        """Give back the directory's handle; the workspace is not used afterwards. Closing twice does no harm."""
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

    def paths(self) -> tuple[str, ...]:
        """Every file that can be read now, sorted; links and what else is no plain file are left out."""
        return tuple(sorted({*self._on_disk(), *self._edits}))

    def read(self, path: str) -> bytes:
        """A file with the edits so far. Raises PathRefused, NoSuchFile, TooBig."""
        path = checked(path)
        edit = self._edits.get(path)
        return self._stored(path).before_or_raise() if edit is None else edit.after_or_raise()

    def original(self, path: str) -> bytes:
        """A file as it was before any edit. Raises PathRefused, NoSuchFile, TooBig."""
        path = checked(path)
        return (self._edits.get(path) or self._stored(path)).before_or_raise()

    def write(self, path: str, content: bytes) -> None:
        """Change a file or make one. Raises PathRefused, TooBig."""
        path = checked(path)
        if reason := write_refusal(path):
            raise PathRefused(f"path {shown(path)} is refused: {reason}")
        if len(content) > self._limits.file_bytes:
            raise TooBig(
                f"{shown(path)} would have {len(content):,} bytes; at most {self._limits.file_bytes:,} may be written"
            )
        if clash := next(self._clashes(path), None):
            raise PathRefused(
                f"path {shown(path)} is refused: {shown(clash)} is a file; a name is either a file or a folder"
            )
        self._change(path, content)

    def changed(self) -> tuple[str, ...]:
        """Files that differ from what they were, or are new; sorted."""
        return tuple(change.path for change in self._changes())

    def diff(self) -> str:
        """What was changed, as git writes it; `git apply` takes it on the original tree. Empty: nothing was.

        What is no UTF-8 text is a binary patch. Raises WorkspaceError when git can't be run.
        """
        return git_diff.of(self._changes(), self._limits.diff_seconds)

    def _changes(self) -> tuple[Change, ...]:
        edits = sorted(self._edits.items())
        return tuple(edit for _, edit in edits if edit.before != edit.after)

    def _change(self, path: str, content: bytes) -> None:
        edit = replace(self._edits.get(path) or self._stored(path), after=content)
        edits = self._edits | {path: edit}
        changed = [one for one in edits.values() if one.before != one.after]
        if len(changed) > self._limits.changed_files:
            raise TooBig(
                f"{shown(path)} was not changed: {self._limits.changed_files} files were already, more may not be"
            )
        total = sum(len(one.after or b"") for one in changed)
        if total > self._limits.changed_bytes:
            raise TooBig(
                f"{shown(path)} was not changed: all changed files together would have {total:,} bytes, "
                f"more than {self._limits.changed_bytes:,}"
            )
        self._edits = edits

    def _clashes(self, path: str) -> Iterator[str]:
        """New files that would have to be folders for `path` to exist, or the other way round."""
        return (o for o in self._edits if o.startswith(f"{path}/") or path.startswith(f"{o}/"))

    def _stored(self, path: str) -> Change:
        """What lies on disk at this path, which was checked, or that nothing does."""
        most = self._limits.file_bytes
        try:
            content, is_executable = safe_open.read(self._root, path, most)
        except FileNotFoundError:
            return Change(path, None, None)
        except safe_open.NotPlain as error:
            raise PathRefused(
                f"path {shown(path)} is refused: it is {error.strerror}; name a plain file"
            ) from error
        except OSError as error:
            if (why := _WAYS_OUT.get(error.errno or 0)) is None:
                raise
            raise PathRefused(f"path {shown(path)} is refused: {why}; name a plain file") from error
        if len(content) > most:
            raise TooBig(f"{shown(path)} has more than {most:,} bytes; larger files are not read")
        return Change(path, content, content, is_executable=is_executable)

    def _on_disk(self) -> Iterator[str]:
        room = self._limits.files
        folders = [""]
        while folders and room:
            folder = folders.pop()
            for path, is_folder in self._entries(folder):
                if is_folder:
                    folders.append(path)
                elif room:
                    room -= 1
                    yield path

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        """What is directly in a folder and may be named: path, and whether it is a folder. Empty when it can't be read."""
        try:
            with (
                safe_open.opened(self._root, folder or ".", safe_open.FOLDER) as handle,
                os.scandir(handle) as entries,
            ):
                named = [(f"{folder}/{one.name}" if folder else one.name, one) for one in entries]
                return [
                    (path, one.is_dir(follow_symlinks=False))
                    for path, one in named
                    if refusal(path) is None
                    and (one.is_dir(follow_symlinks=False) or one.is_file(follow_symlinks=False))
                ]
        except OSError:
            return []
