"""Collect the base trees of tasks, and pack them into one git bundle with the same bytes for the same trees."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from model.execution.tree_changes import TreeChanges
from model.gyms.gym_folder import REFERENCE
from model.gyms.gym_task import check_task_id
from model.patches import git

_SECONDS: Final = 600.0
_LEFT_OUT: Final = frozenset({".git", "__pycache__"})
_PACKING: Final = (
    "pack-objects", "--stdout", "--revs", "--quiet",
    # Deltas of the source repository depend on how often somebody repacked it.
    "--no-reuse-delta", "--no-reuse-object", "--delta-base-offset", "--window=50", "--depth=50",
)  # fmt: skip
_BEGIN: Final = b"commit refs/heads/folder\ncommitter r4p <> 0 +0000\ndata 0\ndeleteall\n"
"""Input for `git fast-import`: a commit of an empty tree."""


class TreeStore:
    """A bare repository in the new folder `home`. Trees of other repositories are borrowed, not copied."""

    def __init__(self, home: Path) -> None:
        self.repository = home.absolute()
        self._run("init", "--quiet", "--bare", "--template=", str(self.repository))

    def _run(self, *arguments: str, data: bytes = b"") -> bytes:
        return git.run(self.repository, *arguments, seconds=_SECONDS, data=data)

    def borrow_tree(self, repository: Path, revision: str) -> str:
        """Return the id of the tree of `revision` in the git directory `repository`, which must stay where it is.

        Raises GitFailed.
        """
        text = git.run(repository, "rev-parse", "--git-path", "objects", seconds=_SECONDS).decode()
        objects = str((repository.absolute() / text.strip()).resolve())
        alternates = self.repository / "objects" / "info" / "alternates"
        alternates.parent.mkdir(parents=True, exist_ok=True)
        present = alternates.read_text().splitlines() if alternates.exists() else []
        if objects not in present:
            alternates.write_text("".join(f"{line}\n" for line in (*present, objects)))
        tree = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{tree}}")
        return git.run(repository, *tree, seconds=_SECONDS).decode().strip()

    def add_folder(self, folder: Path) -> str:
        """Store the files of a folder without their history, and return the id of their tree. Raises GitFailed."""
        self._run("fast-import", "--quiet", "--force", data=b"".join(_write_commit(folder)))
        return self._run("rev-parse", "--verify", "refs/heads/folder^{tree}").decode().strip()

    def change_tree(self, tree: str, changes: TreeChanges) -> str:
        """Return the id of a stored tree with changes. Raises GitFailed."""
        data = b"".join((_BEGIN, b'M 040000 %s ""\n' % tree.encode(), *_write_changes(changes)))
        self._run("fast-import", "--quiet", "--force", data=data)
        return self._run("rev-parse", "--verify", "refs/heads/folder^{tree}").decode().strip()

    def build_bundle(self, trees: Mapping[str, str]) -> bytes:
        """Return a git bundle with a commit without parents for each tree. `trees` has the trees by task id.

        Raises GitFailed, and ValueError for an id that git refuses.
        """
        commits = {check_task_id(task): self._commit(task, trees[task]) for task in sorted(trees)}
        heads = "".join(f"{commit} {REFERENCE}{task}\n" for task, commit in commits.items())
        wanted = "".join(f"{commit}\n" for commit in dict.fromkeys(commits.values()))
        return f"# v2 git bundle\n{heads}\n".encode() + self._run(*_PACKING, data=wanted.encode())

    def _commit(self, task: str, tree: str) -> str:
        author = "r4p <> 0 +0000"
        text = f"tree {tree}\nauthor {author}\ncommitter {author}\n\nBase of {task}\n"
        return (
            self._run("hash-object", "-t", "commit", "-w", "--stdin", data=text.encode())
            .decode()
            .strip()
        )


def _write_commit(folder: Path) -> Iterator[bytes]:
    """Yield input for `git fast-import`: one commit of all files and links of a folder."""
    yield _BEGIN
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in sorted((*files, *links)):
            file = Path(place) / name
            yield from _write_entry(file, os.fsencode(file.relative_to(folder).as_posix()))


def _write_changes(changes: TreeChanges) -> Iterator[bytes]:
    for path in changes.deleted:
        yield b'D "%s"\n' % _quote(os.fsencode(path))
    for path, content in changes.written.items():
        mode = b"100755" if path in changes.executable else b"100644"
        yield from _write_file(mode, os.fsencode(path), content)


def _write_entry(file: Path, path: bytes) -> Iterator[bytes]:
    if file.is_symlink():
        mode, content = b"120000", os.fsencode(file.readlink())
    else:
        mode = b"100755" if file.stat().st_mode & 0o100 else b"100644"
        content = file.read_bytes()
    yield from _write_file(mode, path, content)


def _write_file(mode: bytes, path: bytes, content: bytes) -> Iterator[bytes]:
    yield b'M %s inline "%s"\ndata %d\n' % (mode, _quote(path), len(content))
    yield content + b"\n"


def _quote(path: bytes) -> bytes:
    return path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
