"""Apply a diff to a source tree without touching the tree: git does it in an index of the changed files alone."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.errors import GitFailed, PatchDoesNotApply
from model.patches import diff as diffs
from model.patches import git
from model.workspace import safe_open
from model.workspace.paths import explain_refusal, quote_path

_SECONDS: Final = 30.0
_FILE_BYTES: Final = 16 * 1024**2
_EXECUTABLE: Final = "100755"
_PLAIN: Final = frozenset({"100644", _EXECUTABLE})
_NOTHING: Final = "000000"


@dataclass(frozen=True, slots=True)
class TreeChanges:
    """The files that a diff changes in a tree."""

    written: Mapping[str, bytes]
    """New content by path."""
    deleted: tuple[str, ...] = ()
    """Paths of the deleted files."""
    before: Mapping[str, bytes] = field(default_factory=dict)
    """Old content by path, of each changed file that existed."""
    executable: frozenset[str] = frozenset()
    """Paths of the written files that may be executed."""

    @property
    def paths(self) -> frozenset[str]:
        """All changed paths."""
        return frozenset(self.written) | frozenset(self.deleted)


NO_CHANGES: Final = TreeChanges({})


def join_changes(first: TreeChanges, second: TreeChanges) -> TreeChanges:
    """Return the changes of `first`, and then of `second`, which was made for the tree with `first`."""
    written = {
        path: content for path, content in first.written.items() if path not in second.deleted
    }
    deleted = frozenset(first.deleted) - second.written.keys() | frozenset(second.deleted)
    return TreeChanges(
        {**written, **second.written},
        tuple(sorted(deleted)),
        {**second.before, **first.before},
        first.executable - second.written.keys() | second.executable,
    )


def apply_diff(
    tree: Path, diff: str, over: TreeChanges = NO_CHANGES, *, is_reversed: bool = False
) -> TreeChanges:
    """Return the files that `diff` changes in the folder `tree` with the changes `over`. The folder stays as it is.

    `is_reversed` takes the diff back from a tree that holds it.
    Raises BadDiff for text that is no diff, and PatchDoesNotApply when a hunk does not fit or a file is not a plain one.
    """
    paths = sorted(diffs.list_touched_files(diff))
    for path in paths:
        if reason := explain_refusal(path):
            raise PatchDoesNotApply(f"path {quote_path(path)} is refused: {reason}")
    before = {
        path: (content, path in over.executable)
        for path, content in over.written.items()
        if path in paths
    }
    before |= _read_files(tree, [path for path in paths if path not in over.paths])
    with TemporaryDirectory(prefix="r4p-apply-") as home:
        try:
            return _apply_in_index(Path(home), before, diff, ("--reverse",) * is_reversed)
        except GitFailed as error:
            raise PatchDoesNotApply(str(error)) from error


def _read_files(tree: Path, paths: list[str]) -> Iterator[tuple[str, tuple[bytes, bool]]]:
    """Yield path, content and executable bit of each file that exists."""
    root = os.open(tree, safe_open.FOLDER)
    try:
        for path in paths:
            try:
                content, is_executable = safe_open.read_file(root, path, _FILE_BYTES)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise PatchDoesNotApply(
                    f"{quote_path(path)} is not a plain file of the tree"
                ) from error
            if len(content) > _FILE_BYTES:
                raise PatchDoesNotApply(f"{quote_path(path)} is larger than {_FILE_BYTES:,} bytes")
            yield path, (content, is_executable)
    finally:
        os.close(root)


def _apply_in_index(
    home: Path, before: Mapping[str, tuple[bytes, bool]], diff: str, options: tuple[str, ...]
) -> TreeChanges:
    def run(*arguments: str, data: bytes = b"") -> bytes:
        settings = git.build_config_arguments({"core.fsync": "none"})
        return git.run(
            home, "--literal-pathspecs", *settings, *arguments, seconds=_SECONDS, data=data
        )

    run("init", "--quiet", "--bare", "--template=", str(home))
    run("fast-import", "--quiet", data=b"".join(_write_commit(before)))
    run("read-tree", "refs/heads/before")
    text = (
        diff if diff.endswith("\n") else f"{diff}\n"
    )  # git calls a patch without a last newline corrupt
    data = text.encode(errors="surrogateescape")
    run("apply", "--cached", "--whitespace=nowarn", *options, "-", data=data)
    after = run("write-tree").decode().strip()
    fields = run("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "refs/heads/before", after)
    names = fields.decode(errors="surrogateescape").split("\0")[:-1]
    written, deleted, executable = {}, [], set()
    for meta, path in zip(names[::2], names[1::2], strict=True):
        old, new, _, blob, _ = meta.removeprefix(":").split()
        if not {old, new} <= _PLAIN | {_NOTHING}:
            raise PatchDoesNotApply(f"{quote_path(path)} is not a plain file")
        if new == _NOTHING:
            deleted.append(path)
        else:
            written[path] = run("cat-file", "blob", blob)
            if new == _EXECUTABLE:
                executable.add(path)
    return TreeChanges(
        written,
        tuple(deleted),
        {path: content for path, (content, _) in before.items()},
        frozenset(executable),
    )


def _write_commit(files: Mapping[str, tuple[bytes, bool]]) -> Iterator[bytes]:
    """Yield input for `git fast-import`: one commit of the files."""
    yield b"commit refs/heads/before\ncommitter r4p <> 0 +0000\ndata 0\n"
    for path, (content, is_executable) in files.items():
        mode = b"100755" if is_executable else b"100644"
        quoted = path.replace('"', '\\"').encode(errors="surrogateescape")
        yield b'M %s inline "%s"\ndata %d\n' % (mode, quoted, len(content))
        yield content + b"\n"
