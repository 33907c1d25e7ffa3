"""Desks for attempts on one directory: the code graph is made once, edits are each attempt's own."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from model.agents.tools import Desk
from model.codegraph.index import open_index
from model.codegraph.sources import tree_of
from model.errors import WorkspaceError
from model.workspace import Workspace


@contextmanager
def opened(root: Path, database: Path) -> Iterator[Callable[[], AbstractContextManager[Desk]]]:
    """How to get a desk on the files of a directory as they are now; nothing is ever written into it.

    Of a git repository the code graph has what is tracked, so that no virtual environment is in it.
    Raises WorkspaceError when there is no such directory.
    """
    with Workspace.open(root) as tree, open_index(database) as index:
        listed, _ = tree_of(root)
        snapshot, _ = index.snapshot(_hashes(tree, listed), tree.original)

        @contextmanager
        def desk() -> Iterator[Desk]:
            with Workspace.open(root) as own:
                yield Desk(own, snapshot)

        yield desk


def _hashes(tree: Workspace, paths: dict[str, str]) -> dict[str, str]:
    """Git's hash of each file's content on disk, which may be newer than the last commit's."""
    found = {}
    for path in paths:
        try:
            content = tree.original(path)
        except WorkspaceError:  # too big, or a link: no tool can show it either
            continue
        found[path] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324
    return found
