"""A process that is not trusted: heard line by line, up to a length and a time, and ended with all it started."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Final, Self

from app.sandbox import SAID_NOTHING
from model.prompts.untrusted import visible

LINE_BYTES: Final = 16 * 1024**2
"""Of one line, at least."""
_LINES: Final = 256
"""So many times its longest line a process may say in all."""
_LAST_WORDS: Final = 4096
_END_SECONDS: Final = 5.0
"""For a process that has closed its output."""
_LOOK_SECONDS: Final = 0.01


class Died(Exception):
    """The process ended, or had to be ended; the message says why."""


class ShutIn:
    """One process with an empty environment and three pipes. Several threads may talk to it; one listens."""

    def __init__(self, command: Sequence[str], seconds: float, longest: int = LINE_BYTES) -> None:
        self._command, self._seconds, self._longest = list(command), seconds, longest
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
                _there(stream).close()

    @property
    def seconds_left(self) -> float:
        """Until it is ended, less what it needs to say so; never nothing."""
        return max(self._began + self._seconds - time.monotonic() - _END_SECONDS, 0.1)

    def lines(self) -> Iterator[bytes]:
        """What it prints, until it closes its output. Raises Died for a line without an end, too much, and out of time."""
        left = _LINES * self._longest
        while raw := _there(self._process.stdout).readline(self._longest):
            if not raw.endswith(b"\n"):
                break
            left -= len(raw)
            if left < 0:
                raise Died(f"the agent's process said over {_LINES * self._longest:,} bytes")
            yield raw
        self._require_time()
        if raw:
            raise Died(
                f"the agent's process said a line of over {self._longest:,} bytes, or half a one"
            )

    def say(self, raw: bytes) -> None:
        """Print to it; for nothing when it is gone."""
        with self._saying, suppress(OSError, ValueError):
            _there(self._process.stdin).write(raw)
            _there(self._process.stdin).flush()

    def kill(self) -> None:
        """End it, and whatever it started, now; nothing once it is reaped, when its number may be somebody else's."""
        with self._ending:
            self._kill()

    def end(self) -> int:
        """Its exit code, when it has closed its output. Raises Died out of time."""
        last = time.monotonic() + _END_SECONDS
        while self._is_running and time.monotonic() < last:
            time.sleep(_LOOK_SECONDS)
        code = self._reap()
        self._drain.join(_END_SECONDS)
        self._require_time()
        return code

    def last_words(self) -> str:
        """The last line it printed to standard error, fit to be shown."""
        lines = self._words.decode(errors="replace").strip().splitlines()
        return visible(lines[-1][:300]) if lines else SAID_NOTHING

    @property
    def _is_running(self) -> bool:
        """Asked without reaping it: whatever it started is found by its number."""
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
            raise Died(f"the agent's process was ended after {self._seconds:g} s")

    def _hear_last_words(self) -> None:
        with suppress(OSError, ValueError):
            while some := os.read(_there(self._process.stderr).fileno(), _LAST_WORDS):
                self._words += some
                del self._words[:-_LAST_WORDS]


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("this stream is no pipe")
    return stream
