"""Desks for attempts on one directory: the code graph is made once, edits are each attempt's own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from model.agents.tools import Desk
from model.codegraph.index import open_index
from model.codegraph.readers import Refused
from model.codegraph.sources import blob_hash, survey
from model.errors import WorkspaceError
from model.workspace import Workspace


@contextmanager
def opened(root: Path, database: Path) -> Iterator[Callable[[], AbstractContextManager[Desk]]]:
    """How to get a desk on the files of a directory as they are now; nothing is ever written into it.

    Of a git repository the code graph has what was committed, so that no virtual environment is in it, as it reads
    now. Raises WorkspaceError, NoTree or NoIndex.
    """
    with Workspace.open(root) as tree, open_index(database) as index:

        def read(path: str) -> bytes:
            try:
                return tree.original(path)
            except WorkspaceError as error:
                raise Refused(str(error)) from error

        snapshot, _ = index.snapshot(_as_it_is(survey(root, may_be_bare=False).blobs, read), read)

        @contextmanager
        def desk() -> Iterator[Desk]:
            with Workspace.open(root) as own:
                yield Desk(own, snapshot)

        yield desk


def _as_it_is(blobs: dict[str, str], read: Callable[[str], bytes]) -> dict[str, str]:
    """Hashes of what is on disk, which may be newer than the last commit; gone files are left out."""
    found = {}
    for path, known in blobs.items():
        try:
            found[path] = known and blob_hash(read(path))
        except (OSError, Refused):  # no tool could show it either
            continue
    return found
