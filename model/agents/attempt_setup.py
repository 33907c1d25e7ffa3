"""Prepare the tool contexts of several attempts on one directory.

The attempts share one code graph. Each attempt has a private workspace for its edits.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from model.agents.tools.toolbox import ToolContext
from model.codegraph.index import open_index
from model.codegraph.reader_pool import UnreadableFile
from model.codegraph.source_tree import hash_blob, survey
from model.errors import WorkspaceError
from model.workspace import Workspace
from model.workspace.paths import explain_refusal


@contextmanager
def open_tool_contexts(
    root: Path, database: Path, only: Collection[str] | None = None
) -> Iterator[Callable[[], AbstractContextManager[ToolContext]]]:
    """Index the source tree `root` and yield a function that opens one tool context per attempt.

    `database` is the SQLite file of the code graph; it is created when missing. The tree is never written. In a git
    repository the code graph covers the committed paths with their content on disk, so a virtual environment is left
    out. With `only`, it covers no definition outside these paths. Raises WorkspaceError, NoTree or NoIndex.
    """
    with Workspace.open(root) as tree, open_index(database) as index:

        def read(path: str) -> bytes:
            try:
                return tree.read_original(path)
            except WorkspaceError as error:
                raise UnreadableFile(str(error)) from error

        blobs = _hash_files(root, read)
        snapshot, _ = index.build_snapshot(blobs, read, only=only)
        tree_digest = compute_tree_digest(blobs)

        @contextmanager
        def context() -> Iterator[ToolContext]:
            with Workspace.open(root) as workspace:
                yield ToolContext(workspace, snapshot, tree_digest)

        yield context


def compute_tree_digest(blobs: Mapping[str, str]) -> str:
    """Compute the digest of a source tree: SHA-256 over its paths and git blob hashes, as 64 hex digits.

    `blobs` maps each path to its hash. A file in a language that the code graph does not parse has an empty hash, so
    only its path counts.
    """
    lines = "".join(f"{path}\0{blob}\0" for path, blob in sorted(blobs.items()))
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def _hash_files(root: Path, read: Callable[[str], bytes]) -> dict[str, str]:
    """Return the paths that tools can show with the git hashes of their content on disk.

    The content may differ from the last commit. A file that is gone is left out.
    """
    surveyed = survey(root, may_be_bare=False).blobs
    named = {path: blob for path, blob in surveyed.items() if explain_refusal(path) is None}
    if not (root / ".git").exists():  # then `blobs` was read from the disk just now
        return named
    hashes = {}
    for path, committed in named.items():
        try:
            hashes[path] = committed and hash_blob(read(path))
        except (OSError, UnreadableFile):
            continue
    return hashes
