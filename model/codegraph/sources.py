"""Trees to index: a directory's files, or a commit of a git repository."""

from collections.abc import Callable
from pathlib import Path

Tree = tuple[dict[str, str], Callable[[str], bytes]]


def tree_of(directory: Path) -> Tree:
    """Paths with git's hash of each content, and how to read one of them.

    Of a git repository it's the tree of HEAD, of any other directory the files as they are.
    """
    raise NotImplementedError
