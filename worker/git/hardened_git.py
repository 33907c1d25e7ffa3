"""Run git on untrusted repositories with fixed arguments, an empty environment and limits.

Git can read untrusted history safely as long as its config, hooks and attributes are trusted. So
the repository is bare, made without a template and never checked out, and every setting comes from
this module.
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
from app.settings import build_plain_environment
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
"""Defects that old commits of good projects have, and that cannot do harm."""

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
    """A git command failed; the message holds the command's name and git's message."""


class GitTooBig(GitError):
    """A git command's output or pack exceeded its limit; nothing is kept."""


class GitTimeout(GitError):
    """A git command took too long and was killed."""


class GitUnreachable(GitError):
    """A git remote cannot be reached or refuses access; the wanted commits may still be good."""


@dataclass(frozen=True, slots=True)
class GitLimits:
    """Limits for what is read from a stranger's repository."""

    pack_bytes: int = 2 * 1024**3
    """Most bytes of one fetch, and of the repository on disk."""
    output_bytes: int = 8 * 1024**2
    """Most bytes that one command prints, such as a diff."""
    files: int = 3_000
    """Most changed files of one pull request. GitHub's list has the same limit."""
    memory_bytes: int = 4 * 1024**3
    """Most memory of one git process. A tree that contains itself many times is small on disk only."""
    seconds: float = 300.0
    """Most time of one command."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A git remote's address and access token."""

    url: str
    token: str | None
    """Passed in a header, in the environment of one command; never on disk, in a URL or an
    argument."""


class Git:
    """A bare repository on disk, and the git commands on it. Every method raises GitError."""

    def __init__(self, directory: Path, limits: GitLimits) -> None:
        self.directory = directory
        self.limits = limits

    def create(self) -> None:
        """Create the bare repository on disk unless it exists."""
        if (self.directory / "HEAD").is_file():
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        self._run(["init", "--quiet", "--bare", "--template=", str(self.directory)], {})

    def output(self, *arguments: str, ok: Sequence[int] = (0,)) -> bytes:
        """Run a local git command, which cannot use the network, and return its standard output.

        `arguments` are the words after `git`, and `ok` the exit codes that count as success.
        """
        return self._run([f"--git-dir={self.directory}", *arguments], {}, ok)

    def text(self, *arguments: str) -> str:
        """Run a local git command and return its standard output as text, without white space around it."""
        return self.output(*arguments).decode(errors="backslashreplace").strip()

    def is_success(self, *arguments: str) -> bool:
        """Run a local git command and return whether its exit code is 0. Raises GitTooBig and GitTimeout."""
        try:
            self.output(*arguments)
        except (GitTooBig, GitTimeout):
            raise
        except GitError:
            return False
        return True

    def fetch(self, remote: Remote, refspecs: Sequence[str], depth: int) -> None:
        """Fetch refspecs from a remote in one command, with `depth` commits of history each.

        Raises GitTooBig for too many bytes, GitTimeout, and GitUnreachable when the remote cannot be reached.
        """
        command = [f"--git-dir={self.directory}", *_FETCH, f"--depth={depth}", "--"]
        try:
            self._run([*command, remote.url, *refspecs], _build_remote_environment(remote))
        except GitTimeout:
            raise
        except GitError as error:
            if self._has_hit_pack_limit():
                most = self.limits.pack_bytes
                raise GitTooBig(f"git fetch: more than {most} bytes to fetch") from error
            raise

    def _has_hit_pack_limit(self) -> bool:
        """Return whether the fetch ended at the size limit: git does not say so, but leaves a pack
        of that size.
        """
        unfinished = self.directory.glob("objects/pack/tmp_pack_*")
        return any(path.stat().st_size >= _count_blocks(self.limits) * 512 for path in unfinished)

    def _run(
        self, arguments: Sequence[str], extra: Mapping[str, str], ok: Sequence[int] = (0,)
    ) -> bytes:
        settings = git.build_config_arguments(_CONFIG)
        # `exec` replaces the shell by git, so the process id and its limits are git's.
        script = 'ulimit -f "$1" && ulimit -v "$2" && shift 2 && exec "$@"'
        limits = [str(_count_blocks(self.limits)), str(self.limits.memory_bytes // 1024)]
        process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *limits, "git", *settings, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_build_environment(self.directory, extra),
            cwd="/",
            start_new_session=True,
        )
        return _collect_output(process, arguments, self.limits, ok)


def _count_blocks(limits: GitLimits) -> int:
    """Convert the limit to 512-byte blocks, the shell's unit."""
    return limits.pack_bytes // 512


def _build_environment(directory: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Build git's whole environment; only PATH comes from this process."""
    return {
        "PATH": build_plain_environment().get("PATH", os.defpath),
        "HOME": str(directory),
        **git.ENVIRONMENT,
        "GIT_ATTR_SOURCE": EMPTY_TREE,  # newer gits would obey the repository's .gitattributes
        "GIT_LFS_SKIP_SMUDGE": "1",
        **extra,
    }


def _build_remote_environment(remote: Remote) -> dict[str, str]:
    scheme = remote.url.partition(":")[0]
    environment = {"GIT_ALLOW_PROTOCOL": scheme if scheme in {"http", "https"} else "none"}
    if remote.token is None:
        return environment
    basic = base64.b64encode(f"x-access-token:{remote.token}".encode()).decode()
    return environment | {
        "GIT_CONFIG_COUNT": "1",
        # Git sends this header to this URL only, so a redirect cannot leak the token.
        "GIT_CONFIG_KEY_0": f"http.{remote.url}.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }


def _collect_output(
    process: subprocess.Popen[bytes], arguments: Sequence[str], limits: GitLimits, ok: Sequence[int]
) -> bytes:
    name = next((a for a in arguments if not a.startswith("-")), "git")
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(limits.seconds, end)
    timer.start()
    try:
        with process:
            out, complaint = _read_output(process, limits.output_bytes)
    finally:
        timer.cancel()
    if late.is_set():
        raise GitTimeout(f"git {name}: ended after {limits.seconds:g} s")
    if out is None:
        raise GitTooBig(f"git {name}: more than {limits.output_bytes} bytes of output")
    message = redact(complaint.decode(errors="backslashreplace").strip())[-600:]
    if process.returncode not in ok:
        raise _build_error(name, process.returncode, message)
    return out


def _build_error(name: str, code: int, output: str) -> GitError:
    if is_outage(name, code, output):
        return GitUnreachable(f"git {name}: {output}")
    return GitError(f"git {name}: exit {code}: {output or 'no message'}")


def _read_output(process: subprocess.Popen[bytes], most: int) -> tuple[bytes | None, bytes]:
    """Return the output, or None above the limit, and the end of standard error."""
    complaint = bytearray()

    def drain() -> None:
        for line in iter(lambda: process.stderr.read(4096) if process.stderr else b"", b""):
            complaint.extend(line)
            del complaint[:-4096]

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    out = process.stdout.read(most + 1) if process.stdout else b""
    # Kill at once: git would block on a full pipe and never end by itself.
    if len(out) > most:
        _kill(process)
    process.wait()
    reader.join()
    return (None if len(out) > most else out), bytes(complaint)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git and its children, which share a session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
