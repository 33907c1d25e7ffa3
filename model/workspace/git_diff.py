"""The unified diff of a few files, written by git: in an object store of its own that lasts as long as the call.

Git is given bytes and names on its standard input, an empty environment and no working tree: no attribute, setting,
filter or hook of anybody else is in sight.
"""

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.errors import NoSuchFile, WorkspaceError
from model.workspace.paths import shown

_CONFIG: Final = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.fsync": "none",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
}
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
        git = _Git(Path(home), seconds)
        git.run("init", "--quiet", "--bare", "--template=", home)
        (Path(home) / "binary").write_text("* -diff\n")
        stream = b"".join(_commits(changes))
        git.run("fast-import", "--quiet", data=stream)
        return "".join(_file_diff(git, change.path) for change in changes)


@dataclass(frozen=True, slots=True)
class _Git:
    home: Path
    seconds: float

    def run(self, *arguments: str, data: bytes = b"") -> bytes:
        program = shutil.which("git")
        if program is None:
            raise WorkspaceError("git was not found; install it, it writes the diffs")
        settings = [part for key, value in _CONFIG.items() for part in ("-c", f"{key}={value}")]
        try:
            done = subprocess.run(
                [program, *settings, *arguments],
                input=data,
                capture_output=True,
                cwd=self.home,
                env=self._environment(),
                timeout=self.seconds,
                check=True,
            )
        except subprocess.TimeoutExpired as error:
            raise WorkspaceError(
                f"git was ended after {self.seconds:g} s over a diff; change fewer or smaller files"
            ) from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="backslashreplace").strip()[-600:]
            raise WorkspaceError(f"git wrote no diff: exit {error.returncode}: {said}") from error
        return done.stdout

    def _environment(self) -> dict[str, str]:
        return {
            "GIT_DIR": str(self.home),
            "HOME": str(self.home),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
        }


def _file_diff(git: _Git, path: str) -> str:
    """As text where both sides are UTF-8, else as a binary patch: text of unknown encoding would not survive."""
    try:
        text = git.run(*_DIFF, path).decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return text
    return git.run("-c", f"core.attributesFile={git.home / 'binary'}", *_DIFF, path).decode()


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
