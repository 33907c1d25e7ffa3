"""Apply an alternative's diff to a branch in a bare repository; no file is checked out and no hook
runs.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.github.api.draft_publisher import FileChange, NewCommit
from app.values.identifiers import CommitSha
from worker.git.checkout import build_refspec, is_valid_branch
from worker.git.hardened_git import Git, GitError, GitLimits, Remote

_FILE_MODES = frozenset({"100644", "100755"})
_NONE = "000000"


class DoesNotApply(Exception):
    """An alternative's diff does not apply to the branch any more, or changes something that is no plain file."""


def build_alternative_commit(remote: Remote, branch: str, diff: str, message: str) -> NewCommit:
    """Fetch `branch` and return the commit that `diff` makes on its newest commit; push nothing.

    `message` is the commit message. `diff_validation.validate_diff` must have accepted the diff. The fetched objects
    are deleted afterwards. Raises DoesNotApply, GitError, and GitUnreachable when GitHub cannot be reached.
    """
    if not is_valid_branch(branch):
        raise GitError(f"invalid branch name: {branch!r}")
    with tempfile.TemporaryDirectory(prefix="r4p-draft-") as room:
        git = Git(Path(room) / "base.git", GitLimits())
        git.create()
        spec, local = build_refspec(branch)
        git.fetch(remote, [spec], 1)
        parent = git.text("rev-parse", "--verify", f"{local}^{{commit}}")
        tree = _apply_diff(git, parent, diff, Path(room) / "alternative.diff")
        changes = tuple(_list_changes(git, parent, tree))
    return NewCommit(CommitSha(parent), tree, changes, message)


def _apply_diff(git: Git, parent: str, diff: str, file: Path) -> str:
    """Apply the diff in the repository's index and return the new tree's id."""
    file.write_bytes(diff.encode())
    git.output("read-tree", parent)
    try:
        git.output("apply", "--cached", "--whitespace=nowarn", str(file))
    except GitError as error:
        if type(error) is not GitError:
            raise
        raise DoesNotApply(str(error)) from error
    return git.text("write-tree")


def _list_changes(git: Git, parent: str, tree: str) -> Iterator[FileChange]:
    """Yield the changed files. Raises DoesNotApply unless all are plain files before and after."""
    listed = git.output("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", parent, tree)
    fields = listed.decode(errors="surrogateescape").split("\0")[:-1]
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        before, after, _, blob, _ = meta.removeprefix(":").split()
        if not {before, after} <= _FILE_MODES | {_NONE}:
            raise DoesNotApply(f"{path} is not a plain file")
        if after == _NONE:
            yield FileChange(path, before, None)
        else:
            yield FileChange(path, after, git.output("cat-file", "blob", blob))
