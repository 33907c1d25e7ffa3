"""A directory as an agent sees it: files are read from disk, edits stay in memory until they become a diff."""

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a tree is taken in, and how much may be changed."""

    file_bytes: int = 5_000_000
    """Of one file, read or written."""
    files: int = 200_000
    """That `paths` lists; what comes after them is left out, and `Workspace.cut` says so."""
    changed_files: int = 200
    changed_bytes: int = 20_000_000
    """Of all changed files together."""
    diff_seconds: float = 60.0


class Workspace:
    """One agent's view of a tree. Several may be open on the same directory: none sees the others' edits.

    Paths are relative, with slashes, whatever the machine. Close it, or use it in a `with` block.
    """

    @classmethod
    def open(cls, root: Path, limits: Limits | None = None) -> Self:
        """A view of that directory. Raises WorkspaceError when it is none."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back the directory's handle; the workspace is not used afterwards."""

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
        """Every file that can be read now, sorted."""
        raise NotImplementedError

    def read(self, path: str) -> bytes:
        """A file with the edits so far. Raises PathRefused, NoSuchFile, TooBig."""
        raise NotImplementedError

    def original(self, path: str) -> bytes:
        """A file as it was before any edit. Raises PathRefused, NoSuchFile, TooBig."""
        raise NotImplementedError

    def write(self, path: str, content: bytes) -> None:
        """Change a file or make one. Raises PathRefused, TooBig."""
        raise NotImplementedError

    def remove(self, path: str) -> None:
        """Delete a file. Raises PathRefused, NoSuchFile, TooBig."""
        raise NotImplementedError

    def changed(self) -> tuple[str, ...]:
        """Files that differ from what they were, or are new, or gone; sorted."""
        raise NotImplementedError

    def diff(self) -> str:
        """What was changed, as git writes it; `git apply` takes it on the original tree. Empty: nothing was."""
        raise NotImplementedError
