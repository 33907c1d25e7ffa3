"""The unified diff of a few files, written by git: in an object store of its own that lasts as long as the call.

Git is given bytes and names on its standard input, an empty environment and no working tree: no attribute, setting,
filter or hook of anybody else is in sight.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.errors import GitFailed, NoSuchFile, WorkspaceError
from model.patches import git
from model.workspace.paths import shown

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
"""Spelled out, so that no version's default decides."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None: it is not there."""

    path: str
    before: bytes | None
    after: bytes | None
    is_executable: bool = False

    def before_or_raise(self) -> bytes:
        """Its content at first. Raises NoSuchFile."""
        return self._or_raise(self.before)

    def after_or_raise(self) -> bytes:
        """Its content now. Raises NoSuchFile."""
        return self._or_raise(self.after)

    def _or_raise(self, content: bytes | None) -> bytes:
        if content is None:
            raise NoSuchFile(f"no file {shown(self.path)} in the tree; paths start at its root")
        return content


def of(changes: Sequence[Change], seconds: float) -> str:
    """One diff of all changes, in their order. Raises WorkspaceError when git is missing, fails or takes too long."""
    if not changes:
        return ""
    with TemporaryDirectory(prefix="r4p-diff-") as home:
        store = _Store(Path(home), seconds)
        store.git("init", "--quiet", "--bare", "--template=", home)
        (Path(home) / "binary").write_text("* -diff\n")
        store.git("fast-import", "--quiet", data=b"".join(_commits(changes)))
        return "".join(_file_diff(store, change.path) for change in changes)


@dataclass(frozen=True, slots=True)
class _Store:
    home: Path
    seconds: float

    def git(self, *arguments: str, data: bytes = b"") -> bytes:
        """Raises WorkspaceError."""
        command = ["--literal-pathspecs", *git.settings({"core.fsync": "none"}), *arguments]
        try:
            return git.run(self.home, *command, seconds=self.seconds, data=data)
        except GitFailed as error:
            raise WorkspaceError(f"{error}; there is no diff of these changes") from error


def _file_diff(store: _Store, path: str) -> str:
    """As text where both sides are UTF-8, else as a binary patch: text of unknown encoding would not survive."""
    try:
        text = store.git(*_DIFF, path).decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return text
    as_binary = git.settings({"core.attributesFile": str(store.home / "binary")})
    return store.git(*as_binary, *_DIFF, path).decode()


def _commits(changes: Iterable[Change]) -> Iterator[bytes]:
    """What git's fast-import reads: one commit of the files as they were, one as they are."""
    sides = (
        (b"before", [(one, one.before) for one in changes]),
        (b"after", [(one, one.after) for one in changes]),
    )
    for name, files in sides:
        yield b"commit refs/heads/%s\ncommitter r4p <> 0 +0000\ndata 0\n" % name
        for change, content in files:
            if content is not None:
                mode = b"100755" if change.is_executable else b"100644"
                quoted = change.path.replace('"', '\\"').encode()
                yield b'M %s inline "%s"\ndata %d\n' % (mode, quoted, len(content))
                yield content + b"\n"
