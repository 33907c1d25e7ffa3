"""One index for all commits of a repository: entities by the hash of the blob they stand in, in SQLite."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from model.codegraph.entities import IndexReport
from model.codegraph.snapshot import Snapshot


class Index:
    """An open index. Threads may share it; processes open it once each."""

    def snapshot(
        self, blobs: Mapping[str, str], read: Callable[[str], bytes]
    ) -> tuple[Snapshot, IndexReport]:
        """The entities of a tree: its paths with git's hash of each content; only what is new is read."""
        raise NotImplementedError

    def close(self) -> None:
        """Its snapshots can't be asked afterwards."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_index(database: Path) -> Index:
    """The index in a file, made where there is none."""
    raise NotImplementedError
