"""Runs git on a repository that strangers write to: fixed arguments, an empty environment, caps.

Git promises that reading untrusted history is safe as long as config, hooks and attributes are
ours. So the repository is bare, made without a template, never checked out, and every setting
comes from here.
"""

import base64
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.github.redaction import redact
from app.settings import plain_environment
from model.patches import git
from worker.git.fetch_errors import is_outage

EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

_HARMLESS: Final = (
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badTimezone",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
)
"""Old commits of good projects have these; none of them can hurt."""

_CONFIG: Final[Mapping[str, str]] = {
    **git.CONFIG,
    "core.symlinks": "false",
    "core.bigFileThreshold": "16m",  # larger files are compared as binary, without a delta
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "512m",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",  # a fetch is one pack, not thousands of loose files
    "fetch.writeCommitGraph": "false",
    "protocol.version": "2",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "fetch.fsckObjects": "true",
    **{f"fetch.fsck.{name}": "ignore" for name in _HARMLESS},
}

_FETCH: Final = (
    "fetch",
    "--quiet",
    "--force",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--no-show-forced-updates",
)


class GitError(Exception):
    """A git command failed; the message holds the command's name and what git said."""


class GitTooBig(GitError):
    """The output or the pack passed its cap; nothing of it is kept."""


class GitTimeout(GitError):
    """The command took too long and was ended."""


class GitUnreachable(GitError):
    """The way to the remote is broken, or it doesn't let us in: nothing is said of any commit."""


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of a stranger's repository we take in."""

    pack_bytes: int = 2 * 1024**3
    """Of one fetch, and of the repository on disk."""
    output_bytes: int = 8 * 1024**2
    """Of one command's output, a diff above all."""
    files: int = 3_000
    """Changed by one pull request; GitHub's own list ends there too."""
    memory_bytes: int = 4 * 1024**3
    """Of one git process: a tree that names itself many times over is small on disk only."""
    seconds: float = 300.0
    """For one command."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where to fetch from, and with what."""

    url: str
    token: str | None
    """Goes into one header of this one command's environment; never to disk, URL or arguments."""


class Git:
    """One bare repository of ours. Every method raises GitError."""

    def __init__(self, directory: Path, caps: Caps) -> None:
        self.directory = directory
        self.caps = caps

    def create(self) -> None:
        """Make the repository if it isn't there yet."""
        if (self.directory / "HEAD").is_file():
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self._run(["init", "--quiet", "--bare", "--template=", str(self.directory)], {})

    def output(self, *arguments: str, ok: Sequence[int] = (0,)) -> bytes:
        """What a local command prints. It can reach no network: no protocol is allowed."""
        return self._run([f"--git-dir={self.directory}", *arguments], {}, ok)

    def text(self, *arguments: str) -> str:
        """As `output`, as one line of text."""
        return self.output(*arguments).decode(errors="backslashreplace").strip()

    def succeeds(self, *arguments: str) -> bool:
        """Whether a local command ends well."""
        try:
            self.output(*arguments)
        except (GitTooBig, GitTimeout):
            raise
        except GitError:
            return False
        return True

    def fetch(self, remote: Remote, refspecs: Sequence[str], depth: int) -> None:
        """Fetch these refspecs, `depth` commits deep, in one exchange."""
        command = [f"--git-dir={self.directory}", *_FETCH, f"--depth={depth}", "--"]
        try:
            self._run([*command, remote.url, *refspecs], _remote_environment(remote))
        except GitTimeout:
            raise
        except GitError as error:
            if self._was_stopped_at_the_cap():
                most = self.caps.pack_bytes
                raise GitTooBig(f"git fetch: more than {most} bytes to fetch") from error
            raise

    def _was_stopped_at_the_cap(self) -> bool:
        """Git doesn't say so, but leaves the pack as long as it was let to grow."""
        unfinished = self.directory.glob("objects/pack/tmp_pack_*")
        return any(path.stat().st_size >= _blocks(self.caps) * 512 for path in unfinished)

    def _run(
        self, arguments: Sequence[str], extra: Mapping[str, str], ok: Sequence[int] = (0,)
    ) -> bytes:
        settings = git.settings(_CONFIG)
        # The shell only sets the limits and then becomes git.
        script = 'ulimit -f "$1" && ulimit -v "$2" && shift 2 && exec "$@"'
        limits = [str(_blocks(self.caps)), str(self.caps.memory_bytes // 1024)]
        process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *limits, "git", *settings, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(self.directory, extra),
            cwd="/",
            start_new_session=True,
        )
        return _collect(process, arguments, self.caps, ok)


def _blocks(caps: Caps) -> int:
    """The unit in which a shell limits files."""
    return caps.pack_bytes // 512


def _environment(directory: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Everything git is told; of ours it sees only where programs are."""
    return {
        "PATH": plain_environment().get("PATH", os.defpath),
        "HOME": str(directory),
        **git.ENVIRONMENT,
        "GIT_ATTR_SOURCE": EMPTY_TREE,  # newer gits would obey the repository's .gitattributes
        "GIT_LFS_SKIP_SMUDGE": "1",
        **extra,
    }


def _remote_environment(remote: Remote) -> dict[str, str]:
    scheme = remote.url.partition(":")[0]
    environment = {"GIT_ALLOW_PROTOCOL": scheme if scheme in {"http", "https"} else "none"}
    if remote.token is None:
        return environment
    basic = base64.b64encode(f"x-access-token:{remote.token}".encode()).decode()
    return environment | {
        "GIT_CONFIG_COUNT": "1",
        # Bound to this address: to no other would it be sent.
        "GIT_CONFIG_KEY_0": f"http.{remote.url}.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }


def _collect(
    process: subprocess.Popen[bytes], arguments: Sequence[str], caps: Caps, ok: Sequence[int]
) -> bytes:
    name = next((a for a in arguments if not a.startswith("-")), "git")
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(caps.seconds, end)
    timer.start()
    try:
        with process:
            out, complaint = _read(process, caps.output_bytes)
    finally:
        timer.cancel()
    if late.is_set():
        raise GitTimeout(f"git {name}: ended after {caps.seconds:g} s")
    if out is None:
        raise GitTooBig(f"git {name}: more than {caps.output_bytes} bytes of output")
    said = redact(complaint.decode(errors="backslashreplace").strip())[-600:]
    if process.returncode not in ok:
        raise _failure(name, process.returncode, said)
    return out


def _failure(name: str, code: int, said: str) -> GitError:
    if is_outage(name, code, said):
        return GitUnreachable(f"git {name}: {said}")
    return GitError(f"git {name}: exit {code}: {said or 'no word of why'}")


def _read(process: subprocess.Popen[bytes], most: int) -> tuple[bytes | None, bytes]:
    """Output, or None when it passed `most`; and the last of what was complained."""
    complaint = bytearray()

    def drain() -> None:
        for line in iter(lambda: process.stderr.read(4096) if process.stderr else b"", b""):
            complaint.extend(line)
            del complaint[:-4096]

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    out = process.stdout.read(most + 1) if process.stdout else b""
    if len(out) > most:
        _kill(process)
    process.wait()
    reader.join()
    return (None if len(out) > most else out), bytes(complaint)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and whatever it started: they share a session of their own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
