"""Read many files in child processes. A hostile file may hang or crash a process without harm."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from contextvars import copy_context
from multiprocessing import Pipe
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

from model.codegraph.definition_reader import DefinitionRow, FileDefinitions, read_definitions
from model.codegraph.reader_process import READY
from model.errors import NoReader

_MODULE: Final = "model.codegraph.reader_process"
_ISOLATED: Final = ("-I",)
"""Python's isolated mode: nothing is imported from the current directory, which may be a stranger's tree."""
_PROCESSES: Final = 2
_BATCH: Final = 16
"""Files per message."""
_START_SECONDS: Final = 30.0
_STARTS: Final = 3
_ANSWER_BYTES: Final = 64 * 1024**2
_ROW: Final = (str, str, str, int, int, int, int, str)
"""Field types of a DefinitionRow, checked because a child process may be compromised."""
_READING: Final = {(bool, reason, int, bool) for reason in (str, type(None))}
"""Field types of a FileDefinitions after its rows."""
_BATCH_SECONDS: Final = 20.0
_FILE_SECONDS: Final = 10.0
"""CPU seconds per file. CPU time is the same on an idle and on a busy machine."""
_PATIENCE: Final = 6.0
"""Factor from CPU seconds to waiting time. A later answer is the machine's fault, not the file's."""
_OWN_FAULT: Final = {
    -signal.SIGXCPU: "reading it takes more than {:g} s of computing",
    -signal.SIGSEGV: "the parser crashes on it",
}
"""Exit codes that the file itself causes. Other losses, such as a kill, may not happen again."""
_FEW: Final = 32
_SMALL: Final = 64 * 1024
"""Up to _FEW files of at most this size are read in this process, which is faster than a child process."""
_SMALL_TOGETHER: Final = 4 * _SMALL
"""Limit for all files read in this process: a hostile file of this size takes a few seconds at most."""


class ReadRequest(NamedTuple):
    """A source file to parse: its language and its path."""

    language: str
    path: str


class UnreadableFile(Exception):
    """The content of a source file is not available; the message says why."""


LoadContent = Callable[[str], bytes]
"""Returns the content of a path. Raises OSError or UnreadableFile."""


def read_all(
    wanted: Sequence[ReadRequest], load: LoadContent, seconds: float
) -> Iterator[tuple[ReadRequest, FileDefinitions]]:
    """Yield each requested source file with its definitions, or with the reason why it was left out.

    `load` returns the content of a path. After `seconds`, files that were not sent to a child process are left out.
    Raises NoReader when no child process starts.
    """
    left = list(wanted)
    if len(wanted) <= _FEW:
        left = []
        spent = 0
        for request in wanted:
            content = _load_content(request.path, load)
            if isinstance(content, FileDefinitions):
                yield request, content
            elif len(content) <= _SMALL and spent + len(content) <= _SMALL_TOGETHER:
                spent += len(content)
                yield request, read_definitions(request.language, content)
            else:
                left.append(request)
    if left:
        with closing(_Pool(load, time.monotonic() + seconds)) as pool:
            yield from pool.read(left)


def _load_content(path: str, load: LoadContent) -> bytes | FileDefinitions:
    """Load a content, or explain why there is none this time."""
    try:
        return load(path)
    except OSError as error:
        return FileDefinitions([], reason=error.strerror or str(error), is_repeatable=False)
    except UnreadableFile as refused:
        return FileDefinitions([], reason=str(refused), is_repeatable=False)


class _Lost(Exception):
    """The process ended or was late. `is_repeatable`: the same files would cause it again."""

    def __init__(self, why: str, *, is_repeatable: bool = False) -> None:
        super().__init__(why)
        self.is_repeatable = is_repeatable


class _Process:
    """A child process that reads files. It holds nothing but its socket."""

    def __init__(self) -> None:
        self._socket, child_socket = Pipe()
        command = [sys.executable, *_ISOLATED, "-m", _MODULE, str(child_socket.fileno())]
        self._process = subprocess.Popen(
            command,
            pass_fds=[child_socket.fileno()],
            env={},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in our terminal does not reach it
        )
        child_socket.close()

    def is_ready(self) -> bool:
        """Return whether the process has started."""
        with suppress(EOFError, OSError):
            return (
                self._socket.poll(_START_SECONDS) and self._socket.recv_bytes(len(READY)) == READY
            )
        return False

    def ask(self, jobs: Sequence[tuple[str, bytes]], seconds: float) -> list[FileDefinitions]:
        """Parse (language, content) pairs within `seconds` CPU seconds, and return their definitions in order.

        Raises _Lost if the process crashed, timed out or sent an invalid result. The process cannot be used afterwards.
        """
        try:
            self._socket.send((seconds, jobs))
            if not self._socket.poll(_PATIENCE * seconds):
                raise _Lost("the machine is too busy to read it")
            answer = self._socket.recv_bytes(_ANSWER_BYTES)
        except (EOFError, OSError) as error:
            raise self._explain_loss(seconds) from error
        try:
            readings = [_decode_result(result) for result in json.loads(answer)]
        except (ValueError, TypeError, RecursionError) as error:
            raise _Lost("the parser's process sent an invalid result") from error
        if len(readings) != len(jobs):
            raise _Lost(f"the parser's process answered {len(readings)} of {len(jobs)} files")
        return readings

    def _explain_loss(self, seconds: float) -> _Lost:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        if own := _OWN_FAULT.get(code):
            return _Lost(own.format(seconds), is_repeatable=True)
        return _Lost(f"the parser's process was lost ({_describe_exit(code)})")

    def close(self) -> None:
        """Kill the process, whatever it does."""
        self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        self._process.kill()
        self._process.wait()


def _decode_result(result: list[Any]) -> FileDefinitions:
    """Decode one result. Raises ValueError or TypeError for anything else: the sender has parsed hostile files."""
    rows, *more = result
    if tuple(map(type, more)) not in _READING:
        raise TypeError("a field of a reading holds what it can't")
    if not {tuple(map(type, row)) for row in rows} <= {_ROW}:
        raise TypeError("a field of a row holds what it can't")
    return FileDefinitions([DefinitionRow(*row) for row in rows], *more)


def _describe_exit(code: int | None) -> str:
    """Describe an exit code."""
    if code is None:
        return "no answer"
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def _start_process() -> _Process:
    """Start a process, with retries: an out-of-memory kill is no proof of a broken installation."""
    for _ in range(_STARTS):
        process = _Process()
        if process.is_ready():
            return process
        process.close()
    raise NoReader(
        f"`{sys.executable} -m {_MODULE}` doesn't start: install r4p-bot into that Python"
    )


_LATE: Final = FileDefinitions(
    [], reason="the time for the whole tree was over", is_repeatable=False
)


class _Pool:
    """A fixed number of processes. Each starts on first use and is replaced after a loss."""

    def __init__(self, load: LoadContent, deadline: float) -> None:
        self._load = load
        self._deadline = deadline
        self._threads = ThreadPoolExecutor(_PROCESSES, thread_name_prefix="reader")
        self._idle: SimpleQueue[_Process | None] = SimpleQueue()
        for _ in range(_PROCESSES):
            self._idle.put(None)

    def close(self) -> None:
        """End all processes. Batches that have not started are dropped."""
        self._threads.shutdown(cancel_futures=True)
        for _ in range(_PROCESSES):
            if process := self._idle.get():
                process.close()

    def read(self, wanted: Sequence[ReadRequest]) -> Iterator[tuple[ReadRequest, FileDefinitions]]:
        """Yield the results in the order of the requests."""
        batches = [wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)]
        # In the caller's context, so that log lines name its job.
        running = [(copy_context(), batch) for batch in batches]
        results = self._threads.map(lambda work: work[0].run(self._read_batch, work[1]), running)
        for batch, readings in zip(batches, results, strict=True):
            yield from zip(batch, readings, strict=True)

    def _read_batch(self, batch: Sequence[ReadRequest]) -> list[FileDefinitions]:
        if time.monotonic() > self._deadline:
            return [_LATE] * len(batch)
        contents = [_load_content(request.path, self._load) for request in batch]
        jobs = [
            (request.language, content)
            for request, content in zip(batch, contents, strict=True)
            if isinstance(content, bytes)
        ]
        readings = iter(self._ask(jobs))
        return [
            content if isinstance(content, FileDefinitions) else next(readings)
            for content in contents
        ]

    def _ask(self, jobs: Sequence[tuple[str, bytes]]) -> list[FileDefinitions]:
        """Send a whole batch. When that loses the process, send its files singly to find the culprit."""
        try:
            return self._ask_process(jobs, _BATCH_SECONDS)
        except _Lost:
            return list(self._ask_singly(jobs))

    def _ask_singly(self, jobs: Iterable[tuple[str, bytes]]) -> Iterator[FileDefinitions]:
        for job in jobs:
            if time.monotonic() > self._deadline:
                yield _LATE
                continue
            try:
                yield from self._ask_process([job], _FILE_SECONDS)
            except _Lost as lost:
                yield FileDefinitions(
                    [], reason=str(lost), size=len(job[1]), is_repeatable=lost.is_repeatable
                )

    def _ask_process(
        self, jobs: Sequence[tuple[str, bytes]], seconds: float
    ) -> list[FileDefinitions]:
        """Ask an idle process. Raises _Lost after it freed the slot for a new process."""
        process = self._idle.get()
        try:
            process = process or _start_process()
            return process.ask(jobs, seconds)
        except _Lost:
            if process:
                process.close()
            process = None
            raise
        finally:
            self._idle.put(process)
