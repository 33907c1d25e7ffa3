"""Write the files of a git tree into a folder, without git's filters, attributes or hooks.

The tree may come from a stranger. So every path is checked, and no link of it can lead out of the folder.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from model.errors import GitFailed
from model.patches import git
from model.workspace.paths import explain_refusal, quote_path

_SECONDS: Final = 60.0
"""Time in which git must produce output."""
_LISTING_BYTES: Final = 64 * 1024**2
_TREE_BYTES: Final = 2 * 1024**3
"""Most bytes of all files of a tree."""
_LINK, _EXECUTABLE, _SUBMODULE = "120000", "100755", "160000"


def write_tree(repository: Path, revision: str, folder: Path) -> None:
    """Write the files of `revision`, a tree or commit of the git directory `repository`, into the new folder `folder`.

    Submodules, and links that lead out of the folder, are left out. Raises GitFailed, also for a path that no tree
    should hold.
    """
    folder.mkdir(parents=True)
    links = []
    try:
        for mode, path, content in _read_entries(repository, revision):
            if mode == _LINK:
                links.append((path, os.fsdecode(content)))
            else:
                _write_file(folder / path, content, is_executable=mode == _EXECUTABLE)
        for path, target in links:  # last, so that no file is written through a link
            if _stays_inside(path, target):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).symlink_to(target)
    except OSError as error:
        raise GitFailed(f"the tree {revision} can't be written to {folder}: {error}") from error


def _read_entries(repository: Path, revision: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield mode, path and content of each file and link."""
    process = git.GitProcess(repository, "cat-file", "--batch", seconds=_SECONDS)
    left = _TREE_BYTES
    try:
        for mode, blob, path in _list_entries(repository, revision):
            process.send_line(blob)
            content = _read_blob(process, blob, left)
            left -= len(content)
            yield mode, path, content
    finally:
        process.close()


def _list_entries(repository: Path, revision: str) -> Iterator[tuple[str, str, str]]:
    """Yield mode, blob and path of each file and link."""
    arguments = ("ls-tree", "-rz", "--full-tree", "--end-of-options", revision)
    listing = git.read_beginning(repository, *arguments, max_bytes=_LISTING_BYTES, seconds=_SECONDS)
    if len(listing) == _LISTING_BYTES:
        raise GitFailed(f"the tree {revision} has too many files")
    for line in listing.split(b"\0")[:-1]:
        facts, _, name = line.partition(b"\t")
        mode, _, blob = facts.decode().split(" ")
        path = os.fsdecode(name)
        if mode == _SUBMODULE:
            continue
        if reason := explain_refusal(path):
            raise GitFailed(f"the tree {revision} holds {quote_path(path)}: {reason}")
        yield mode, blob, path


def _read_blob(process: git.GitProcess, blob: str, most: int) -> bytes:
    answer = process.answers.readline().split()
    if len(answer) != 3:
        raise GitFailed(f"git has no content for {blob}")
    size = int(answer[2])
    if size > most:
        raise GitFailed(f"the files of the tree are larger than {_TREE_BYTES:,} bytes")
    content = process.answers.read(size + 1)
    if len(content) != size + 1:
        raise GitFailed(f"git ended within {blob}")
    return content[:-1]


def _write_file(file: Path, content: bytes, *, is_executable: bool) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(0o755 if is_executable else 0o644)


def _stays_inside(path: str, target: str) -> bool:
    """Return whether a link at `path` to `target` leads to a place in the tree, whatever other links are on the way.

    A `..` counts only at the beginning of the target, where it leaves a real folder.
    """
    steps = target.split("/")
    ups = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
    return steps[0] != "" and ups <= path.count("/") and ".." not in steps[ups:]
