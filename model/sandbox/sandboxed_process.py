"""Run an untrusted process, read its lines up to a size and a time limit, and kill its process
group.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Final, Self

from model.prompts.untrusted import escape_invisible

SAID_NOTHING: Final = "it wrote nothing to standard error"
LINE_BYTES: Final = 16 * 1024**2
"""Smallest limit for the length of a line."""
_LINES: Final = 256
"""A process may write this many times its longest line in all."""
_LAST_WORDS: Final = 4096
_END_SECONDS: Final = 5.0
"""Time for a process to exit after it closed its output."""
_LOOK_SECONDS: Final = 0.01


class ProcessEnded(Exception):
    """The sandboxed process ended or was killed; the message says why."""


class SandboxedProcess:
    """A process with an empty environment and three pipes. It runs while the context is open.

    Several threads may send to it; one thread reads. `longest` is the number of bytes of its longest line, `handles` are
    the files that it gets beside the pipes, and `name` is its name in messages.
    """

    def __init__(
        self,
        command: Sequence[str],
        seconds: float,
        longest: int = LINE_BYTES,
        *,
        handles: Sequence[int] = (),
        name: str = "the agent's process",
    ) -> None:
        self._command, self._seconds, self._longest = list(command), seconds, longest
        self._handles, self._name = tuple(handles), name
        self._began = time.monotonic()
        self._saying, self._ending = threading.Lock(), threading.Lock()
        self._late = threading.Event()
        self._words = bytearray()

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            self._command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={},
            cwd="/",
            pass_fds=self._handles,
            # A session of its own makes the process the leader of a group that `killpg` can end.
            start_new_session=True,
        )
        self._drain = threading.Thread(target=self._hear_last_words, daemon=True)
        self._drain.start()
        self._timer = threading.Timer(self._seconds, self._end)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        self._reap()
        self._drain.join(_END_SECONDS)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                _require_pipe(stream).close()

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the process's time limit, minus 5 s to pass an answer on; at least 0.1."""
        return max(self._began + self._seconds - time.monotonic() - _END_SECONDS, 0.1)

    def read_lines(self) -> Iterator[bytes]:
        """Yield each line of the process's standard output, with its line break, until the output is closed.

        Raises ProcessEnded for a line that is too long or has no end, for too much output, and at the time limit.
        """
        left = _LINES * self._longest
        while raw := _require_pipe(self._process.stdout).readline(self._longest):
            if not raw.endswith(b"\n"):
                break
            left -= len(raw)
            if left < 0:
                raise ProcessEnded(f"{self._name} wrote over {_LINES * self._longest:,} bytes")
            yield raw
        self._require_time()
        if raw:
            raise ProcessEnded(
                f"{self._name} wrote a line of over {self._longest:,} bytes, or a line without an end"
            )

    def send(self, raw: bytes) -> None:
        """Write bytes to the process's standard input; do nothing when the process has ended."""
        with self._saying, suppress(OSError, ValueError):
            _require_pipe(self._process.stdin).write(raw)
            _require_pipe(self._process.stdin).flush()

    def kill(self) -> None:
        """Kill the process and its whole process group at once.

        Once the process has ended and its exit code was read, this does nothing: its process id may belong to
        another process.
        """
        with self._ending:
            self._kill()

    def wait_for_exit(self) -> int:
        """Return the exit code of a process that closed its output; kill it if it does not exit within 5 s.

        Raises ProcessEnded if the process reached its time limit.
        """
        last = time.monotonic() + _END_SECONDS
        while self._is_running and time.monotonic() < last:
            time.sleep(_LOOK_SECONDS)
        code = self._reap()
        self._drain.join(_END_SECONDS)
        self._require_time()
        return code

    def read_last_error(self) -> str:
        """Return the process's last line of standard error, safe to show; if it wrote none, a sentence says so."""
        lines = self.read_errors().splitlines()
        return escape_invisible(lines[-1][:300]) if lines else SAID_NOTHING

    def read_errors(self) -> str:
        """Return the end of the process's standard error as it wrote it, at most 4,096 bytes."""
        return self._words.decode(errors="replace").strip()

    @property
    def _is_running(self) -> bool:
        """Return whether the process runs, without reaping it: its number still names its group."""
        # WNOWAIT leaves the zombie in place, so its process id cannot be reused before `killpg`.
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, how) is None

    def _kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _reap(self) -> int:
        with self._ending:
            self._kill()
            return self._process.wait()

    def _end(self) -> None:
        self._late.set()
        self.kill()

    def _require_time(self) -> None:
        if self._late.is_set():
            raise ProcessEnded(f"{self._name} was ended after {self._seconds:g} s")

    def _hear_last_words(self) -> None:
        with suppress(OSError, ValueError):
            while some := os.read(_require_pipe(self._process.stderr).fileno(), _LAST_WORDS):
                self._words += some
                del self._words[:-_LAST_WORDS]


def _require_pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("this stream is no pipe")
    return stream
