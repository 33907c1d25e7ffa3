"""git, told everything by us: no setting, hook, attribute or network of anybody else, and an end to its time and output.

For trees that strangers wrote. What GitHub sent is fetched and read by worker/git/hardened_git.py, which takes the
settings from here and adds limits of its own.
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
"""Above what a repository's own configuration says."""
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
"""All that git sees, beside where programs are and what it is asked to do."""
_ERROR_BYTES: Final = 600


class _Closable(Protocol):
    def close(self) -> None:
        """Gives back what it holds."""


def settings(config: Mapping[str, str]) -> list[str]:
    """As arguments, which come before the command's name."""
    return [part for key, value in config.items() for part in ("-c", f"{key}={value}")]


def run(repository: Path, *arguments: str, seconds: float, data: bytes = b"") -> bytes:
    """What a command prints that is given `data`. For output that is known to be small. Raises GitFailed."""
    try:
        done = subprocess.run(
            [*_program(), *arguments],
            input=data,
            capture_output=True,
            cwd="/",
            env=_environment(repository),
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git was ended after {seconds:g} s") from error
    except subprocess.CalledProcessError as error:
        raise GitFailed(_said(error.returncode, error.stderr)) from error
    return done.stdout


def beginning(repository: Path, *arguments: str, most: int, seconds: float) -> bytes:
    """The first bytes of what a command prints, which may be the longer the more strangers wrote. Raises GitFailed."""
    conversation = Conversation(repository, *arguments, seconds=seconds)
    try:
        found = conversation.answers.read(most)
        if len(found) < most:
            conversation.finish()
    except TimeoutError as error:
        raise GitFailed(f"git was ended after {seconds:g} s without a word") from error
    finally:
        conversation.close()
    return found


class Conversation:
    """A git that is running. Whatever is said or read raises TimeoutError once it took `seconds`."""

    def __init__(self, repository: Path, *arguments: str, seconds: float) -> None:
        """Raises GitFailed when there is no git."""
        command = [*_program(), *arguments]
        ours, theirs = socket.socketpair()
        self._complaint = TemporaryFile()  # noqa: SIM115 - closed with the rest
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._complaint,
                cwd="/",
                env=_environment(repository),
            )
        ours.settimeout(seconds)
        self._seconds = seconds
        self._socket = ours
        self.answers = ours.makefile("rb")
        """What git prints."""
        self.close = weakref.finalize(
            self, _close, self._process, (self.answers, ours, self._complaint)
        )
        """Ends git, whatever it does."""

    def say(self, line: str) -> None:
        """A line on git's standard input. Raises OSError."""
        self._socket.sendall(f"{line}\n".encode())

    def finish(self) -> None:
        """Wait for its end. Raises GitFailed when that is no good one."""
        try:
            code = self._process.wait(self._seconds)
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"git did not end within {self._seconds:g} s") from error
        if code:
            self._complaint.seek(0)
            raise GitFailed(_said(code, self._complaint.read()))


def _close(process: subprocess.Popen[bytes], files: Iterable[_Closable]) -> None:
    for file in files:
        file.close()
    process.kill()
    process.wait()


def _program() -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise GitFailed("git was not found; install it")
    return [program, "--no-pager", *settings(CONFIG)]


def _environment(repository: Path) -> dict[str, str]:
    return {"PATH": os.defpath, "GIT_DIR": str(repository.absolute()), **ENVIRONMENT}


def _said(code: int, complaint: bytes) -> str:
    said = complaint.decode(errors="backslashreplace").strip()[-_ERROR_BYTES:]
    return f"git ended with exit {code}: {said or 'no word of why'}"
