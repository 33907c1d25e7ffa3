"""An alternative's diff on top of a branch, made by our own git in a bare repository: nothing is checked out, nothing runs."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.github.api.draft_publisher import FileChange, NewCommit
from app.values.identifiers import CommitSha
from worker.git.checkout import branch_spec, is_branch
from worker.git.hardened_git import Caps, Git, GitError, Remote

_FILE_MODES = frozenset({"100644", "100755"})
_NONE = "000000"


class DoesNotApply(Exception):
    """The branch is no longer what the diff was written for."""


def alternative_commit(remote: Remote, branch: str, diff: str, message: str) -> NewCommit:
    """The commit that the diff makes of the branch as it is now. What was fetched for it is deleted again.

    The diff has passed `own_diff.require`. Raises DoesNotApply, GitError; GitUnreachable when GitHub is the trouble.
    """
    if not is_branch(branch):
        raise GitError(f"no valid branch: {branch!r}")
    with tempfile.TemporaryDirectory(prefix="r4p-draft-") as room:
        git = Git(Path(room) / "base.git", Caps())
        git.create()
        spec, local = branch_spec(branch)
        git.fetch(remote, [spec], 1)
        parent = git.text("rev-parse", "--verify", f"{local}^{{commit}}")
        tree = _applied(git, parent, diff, Path(room) / "alternative.diff")
        changes = tuple(_changes(git, parent, tree))
    return NewCommit(CommitSha(parent), tree, changes, message)


def _applied(git: Git, parent: str, diff: str, file: Path) -> str:
    """The id of the tree with the diff applied, by way of the repository's index alone."""
    file.write_bytes(diff.encode())
    git.output("read-tree", parent)
    try:
        git.output("apply", "--cached", "--whitespace=nowarn", str(file))
    except GitError as error:
        if type(error) is not GitError:
            raise
        raise DoesNotApply(str(error)) from error
    return git.text("write-tree")


def _changes(git: Git, parent: str, tree: str) -> Iterator[FileChange]:
    """What differs: plain files only, before and after. A diff that passes for our own can do nothing else to a plain file."""
    listed = git.output("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", parent, tree)
    fields = listed.decode(errors="surrogateescape").split("\0")[:-1]
    for meta, path in zip(fields[::2], fields[1::2], strict=True):
        before, after, _, blob, _ = meta.removeprefix(":").split()
        if not {before, after} <= _FILE_MODES | {_NONE}:
            raise DoesNotApply(f"{path} is no plain file")
        if after == _NONE:
            yield FileChange(path, before, None)
        else:
            yield FileChange(path, after, git.output("cat-file", "blob", blob))
