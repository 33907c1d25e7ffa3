"""This module runs git on untrusted repositories: without foreign settings, hooks or network, and with limits.

`worker/git/hardened_git.py` fetches and reads what GitHub sent. It uses the settings of this module with its own
limits.
"""

import os
import shutil
import socket
import subprocess
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, Protocol

from model.errors import GitFailed

CONFIG: Final[Mapping[str, str]] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.attributesFile": "/dev/null",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
}
"""Settings that override the repository's own configuration."""
ENVIRONMENT: Final[Mapping[str, str]] = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
"""The whole environment of git, except PATH and GIT_DIR."""
_ERROR_BYTES: Final = 600


class _Closable(Protocol):
    def close(self) -> None:
        """Free the resource."""


def build_config_arguments(config: Mapping[str, str]) -> list[str]:
    """Return git's `-c` arguments for settings by name. They must stand before the name of the git command."""
    return [part for key, value in config.items() for part in ("-c", f"{key}={value}")]


def run(repository: Path, *arguments: str, seconds: float, data: bytes = b"") -> bytes:
    """Run a git command on the git directory `repository` and return its whole output, which must be small.

    `data` goes to standard input. Raises GitFailed for an exit code other than 0, or after `seconds`.
    """
    try:
        result = subprocess.run(
            [*_build_command(), *arguments],
            input=data,
            capture_output=True,
            cwd="/",
            env=_build_environment(repository),
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git was stopped after {seconds:g} s") from error
    except subprocess.CalledProcessError as error:
        raise GitFailed(_format_failure(error.returncode, error.stderr)) from error
    return result.stdout


def read_beginning(repository: Path, *arguments: str, max_bytes: int, seconds: float) -> bytes:
    """Run a git command on the git directory `repository` and return the first `max_bytes` of its output.

    `arguments` are the command and its options. Raises GitFailed when git fails, or gives no output for `seconds`.
    """
    process = GitProcess(repository, *arguments, seconds=seconds)
    try:
        output = process.answers.read(max_bytes)
        if len(output) < max_bytes:
            process.wait()
    except TimeoutError as error:
        raise GitFailed(f"git was stopped after {seconds:g} s without output") from error
    finally:
        process.close()
    return output


class GitProcess:
    """A running git command on the git directory `repository`.

    Read its output from `answers`. Reading and writing raise TimeoutError after `seconds`.
    """

    def __init__(self, repository: Path, *arguments: str, seconds: float) -> None:
        """Start git. Raises GitFailed when git is missing."""
        command = [*_build_command(), *arguments]
        # A socket instead of pipes, because only a socket has timeouts for reading and writing.
        own_end, git_end = socket.socketpair()
        # A file, because a full pipe for stderr would block git.
        self._complaint = TemporaryFile()  # noqa: SIM115 - closed with the rest
        with git_end:
            self._process = subprocess.Popen(
                command,
                stdin=git_end.fileno(),
                stdout=git_end.fileno(),
                stderr=self._complaint,
                cwd="/",
                env=_build_environment(repository),
            )
        own_end.settimeout(seconds)
        self._seconds = seconds
        self._socket = own_end
        self.answers = own_end.makefile("rb")
        """Git's standard output."""
        self.close = weakref.finalize(
            self, _close, self._process, (self.answers, own_end, self._complaint)
        )
        """Kill git and close its files; the garbage collector does so as well."""

    def send_line(self, line: str) -> None:
        """Write a line to git's standard input. Raises OSError."""
        self._socket.sendall(f"{line}\n".encode(errors="surrogateescape"))

    def wait(self) -> None:
        """Wait for the end of git. Raises GitFailed for an exit code other than 0, or after `seconds`."""
        try:
            code = self._process.wait(self._seconds)
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"git did not end within {self._seconds:g} s") from error
        if code:
            self._complaint.seek(0)
            raise GitFailed(_format_failure(code, self._complaint.read()))


def _close(process: subprocess.Popen[bytes], files: Iterable[_Closable]) -> None:
    for file in files:
        file.close()
    process.kill()
    process.wait()


def _build_command() -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise GitFailed("git was not found; install it")
    return [program, "--no-pager", *build_config_arguments(CONFIG)]


def _build_environment(repository: Path) -> dict[str, str]:
    return {"PATH": os.defpath, "GIT_DIR": str(repository.absolute()), **ENVIRONMENT}


def _format_failure(code: int, complaint: bytes) -> str:
    text = complaint.decode(errors="backslashreplace").strip()[-_ERROR_BYTES:]
    return f"git ended with exit {code}: {text or 'no message'}"
