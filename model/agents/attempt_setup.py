"""Desks for attempts on one directory: the code graph is made once, edits are each attempt's own."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from model.agents.tools.toolbox import Desk
from model.codegraph.index import open_index
from model.codegraph.reader_pool import Refused
from model.codegraph.source_tree import blob_hash, survey
from model.errors import WorkspaceError
from model.workspace import Workspace
from model.workspace.paths import refusal


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

        blobs = _blobs(root, read)
        snapshot, _ = index.snapshot(blobs, read)
        known = digest(blobs)

        @contextmanager
        def desk() -> Iterator[Desk]:
            with Workspace.open(root) as own:
                yield Desk(own, snapshot, known)

        yield desk


def digest(blobs: Mapping[str, str]) -> str:
    """64 hex digits for the paths of a tree and git's hashes of what is there; of files that no parser reads, the paths."""
    lines = "".join(f"{path}\0{blob}\0" for path, blob in sorted(blobs.items()))
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def _blobs(root: Path, read: Callable[[str], bytes]) -> dict[str, str]:
    """Paths that a tool can show, with the hashes of what is on disk: newer than the last commit, perhaps, or gone."""
    surveyed = survey(root, may_be_bare=False).blobs
    named = {path: blob for path, blob in surveyed.items() if refusal(path) is None}
    if not (root / ".git").exists():  # then the survey read the disk itself, just now
        return named
    found = {}
    for path, known in named.items():
        try:
            found[path] = known and blob_hash(read(path))
        except (OSError, Refused):
            continue
    return found
