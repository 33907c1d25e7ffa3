"""Give each test run a tree with its own changes: a copy, or a shared copy with the changed files mounted over it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.errors import PatchDoesNotApply
from model.execution.tree_changes import NO_CHANGES, TreeChanges
from model.workspace.paths import quote_path

_LEFT_OUT: Final = (".git", ".venv", "node_modules")
"""Folders of a checkout that no test needs. Bytecode stays: without it, Python compiles a large package at each start."""


Mount = tuple[Path, Path]
"""A file or folder of the host, and its path in the tree."""


@dataclass(frozen=True, slots=True)
class SharedTree:
    """A copy of a source tree that many runs mount at the same time, and nobody writes to."""

    folder: Path


@contextmanager
def share_tree(tree: Path) -> Iterator[SharedTree]:
    """Yield a copy of the tree for many runs. It is made once, so each run starts in milliseconds."""
    with copy_tree(tree, NO_CHANGES, shares_files=True) as copy:
        yield SharedTree(copy)


@contextmanager
def mount_tree(tree: Path | SharedTree, changes: TreeChanges) -> Iterator[list[Mount]]:
    """Yield what to mount, in order, so that a run sees the tree with the changes.

    A change that adds or deletes a file takes a copy. Raises PatchDoesNotApply when a link leads out of the tree.
    """
    folder = tree.folder if isinstance(tree, SharedTree) else tree
    replaced = all(_locate(folder, path).is_file() for path in changes.written)
    if isinstance(tree, SharedTree) and replaced and not changes.deleted:
        with TemporaryDirectory(prefix="r4p-tests-") as home:
            over = list(_write_changes(Path(home), folder, changes))
            yield [(folder, Path()), *over]
    else:
        with copy_tree(folder, changes, shares_files=True) as copy:
            yield [(copy, Path())]


def _write_changes(home: Path, folder: Path, changes: TreeChanges) -> Iterator[Mount]:
    """Write each changed file into `home`, and yield it with the path of the file that it covers."""
    empty = home / "empty"
    empty.touch(0o644)
    for number, (path, content) in enumerate(changes.written.items()):
        file = home / f"{number}"
        file.write_bytes(content)
        file.chmod(0o755 if path in changes.executable else 0o644)
        yield file, Path(path)
        for bytecode in _list_bytecode(folder / path):
            yield (
                empty,
                bytecode.relative_to(folder),
            )  # Python takes it for cut off, and reads the source


@contextmanager
def copy_tree(tree: Path, changes: TreeChanges, *, shares_files: bool = False) -> Iterator[Path]:
    """Yield a copy of the tree with the changes, which any user can read.

    With `shares_files`, an unchanged file of the copy is the file of the tree itself, so nobody may write to it. Raises
    PatchDoesNotApply when a link leads out of the tree.
    """
    with TemporaryDirectory(prefix="r4p-tests-") as home:
        copy = Path(home).resolve() / "tree"
        shutil.copytree(
            tree,
            copy,
            symlinks=True,
            ignore=shutil.ignore_patterns(*_LEFT_OUT),
            copy_function=_link_file if shares_files else _copy_file,
        )
        for path in changes.paths:  # a file is never written in place: that would reach the tree
            _remove(_locate(copy, path))
        for path, content in changes.written.items():
            file = copy / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o755 if path in changes.executable else 0o644)
        for folder, _, _ in os.walk(copy):
            Path(folder).chmod(0o755)
        yield copy


def _link_file(source: str, target: str) -> None:
    """Link a file if any user can read it, and execute it where its owner can; else copy it, and let them."""
    mode = os.lstat(source).st_mode
    if mode == _open_mode(mode):
        with suppress(OSError):  # another file system, or a file of another user
            os.link(source, target, follow_symlinks=False)
            return
    _copy_file(source, target)


def _copy_file(source: str, target: str) -> None:
    shutil.copy2(source, target)
    Path(target).chmod(_open_mode(Path(source).stat().st_mode) & 0o777)


def _open_mode(mode: int) -> int:
    return mode | 0o444 | (mode & 0o100 and 0o111)


def _remove(file: Path) -> None:
    """Remove a file and its bytecode, which may be of a kind that Python does not compare with the source."""
    file.unlink(missing_ok=True)
    for bytecode in _list_bytecode(file):
        bytecode.unlink()


def _list_bytecode(file: Path) -> list[Path]:
    return list(file.parent.glob(f"__pycache__/{escape(file.stem)}.*.pyc"))


def _locate(copy: Path, path: str) -> Path:
    """Return where a changed file lies in the copy. Raises PatchDoesNotApply when a link leads out of it."""
    file = copy / path
    if not file.parent.resolve().is_relative_to(copy) or file.is_symlink():
        raise PatchDoesNotApply(f"{quote_path(path)} lies behind a link")
    return file
