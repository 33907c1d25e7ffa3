"""Write the unified diff of a few files with git, in a temporary object store.

Git receives bytes and names on stdin, an empty environment and no work tree. So no attribute, setting, filter or
hook from elsewhere takes effect.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.errors import GitFailed, NoSuchFile, WorkspaceError
from model.patches import git
from model.workspace.paths import quote_path

_DIFF: Final = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--diff-algorithm=myers",
    "--unified=3",
    "--inter-hunk-context=0",
    "--full-index",
    "--binary",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "refs/heads/before",
    "refs/heads/after",
    "--",
)
"""Every option is explicit, so that no default of a git version decides."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file's content before and after an edit; None where the file does not exist."""

    path: str
    before: bytes | None
    after: bytes | None
    is_executable: bool = False

    def require_before(self) -> bytes:
        """Return the file's content before the edit. Raises NoSuchFile when there was no file."""
        return self._or_raise(self.before)

    def require_after(self) -> bytes:
        """Return the file's content after the edit. Raises NoSuchFile when there is no file."""
        return self._or_raise(self.after)

    def _or_raise(self, content: bytes | None) -> bytes:
        if content is None:
            raise NoSuchFile(
                f"no file {quote_path(self.path)} in the tree; paths start at its root"
            )
        return content


def build_diff(changes: Sequence[FileChange], seconds: float) -> str:
    """Build one unified diff of the changes to several files, in order; "" without changes.

    `seconds` limits each git call. Raises WorkspaceError when git is missing, fails or takes too long.
    """
    if not changes:
        return ""
    with TemporaryDirectory(prefix="r4p-diff-") as home:
        store = _Store(Path(home), seconds)
        store.git("init", "--quiet", "--bare", "--template=", home)
        (Path(home) / "binary").write_text("* -diff\n")
        store.git("fast-import", "--quiet", data=b"".join(_write_commits(changes)))
        return "".join(_diff_file(store, change.path) for change in changes)


@dataclass(frozen=True, slots=True)
class _Store:
    home: Path
    seconds: float

    def git(self, *arguments: str, data: bytes = b"") -> bytes:
        """Run git in the store. Raises WorkspaceError."""
        command = [
            "--literal-pathspecs",
            *git.build_config_arguments({"core.fsync": "none"}),
            *arguments,
        ]
        try:
            return git.run(self.home, *command, seconds=self.seconds, data=data)
        except GitFailed as error:
            raise WorkspaceError(f"{error}; there is no diff of these changes") from error


def _diff_file(store: _Store, path: str) -> str:
    """Diff one file: as text when both sides are UTF-8, otherwise as a binary patch that keeps every byte."""
    try:
        text = store.git(*_DIFF, path).decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return text
    as_binary = git.build_config_arguments({"core.attributesFile": str(store.home / "binary")})
    return store.git(*as_binary, *_DIFF, path).decode()


def _write_commits(changes: Iterable[FileChange]) -> Iterator[bytes]:
    """Yield input for `git fast-import`: one commit of the original files and one of the current files."""
    sides = (
        (b"before", [(entry, entry.before) for entry in changes]),
        (b"after", [(entry, entry.after) for entry in changes]),
    )
    for name, files in sides:
        yield b"commit refs/heads/%s\ncommitter r4p <> 0 +0000\ndata 0\n" % name
        for change, content in files:
            if content is not None:
                mode = b"100755" if change.is_executable else b"100644"
                quoted = change.path.replace('"', '\\"').encode()
                yield b'M %s inline "%s"\ndata %d\n' % (mode, quoted, len(content))
                yield content + b"\n"
