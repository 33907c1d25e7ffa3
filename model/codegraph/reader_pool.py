"""Reads many files at once in processes of their own, which a file may hang or bring down without harm."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from multiprocessing import Pipe
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

from model.codegraph.definition_reader import Reading, Row, read
from model.codegraph.reader_process import READY
from model.errors import NoReader

_MODULE: Final = "model.codegraph.reader_process"
_ISOLATED: Final = ("-I",)
"""Nothing is imported from where we happen to stand, which may be a stranger's tree."""
_PROCESSES: Final = 2
_BATCH: Final = 16
"""Files that are sent at once."""
_START_SECONDS: Final = 30.0
_STARTS: Final = 3
_ANSWER_BYTES: Final = 64 * 1024**2
_ROW: Final = (str, str, str, int, int, int, int, str)
_READING: Final = {(bool, reason, int, bool) for reason in (str, type(None))}
"""What the fields of a Row, and those of a Reading behind its rows, hold."""
_BATCH_SECONDS: Final = 20.0
_FILE_SECONDS: Final = 10.0
"""Of computing: so long a file takes on an idle machine and on a busy one."""
_PATIENCE: Final = 6.0
"""So many times as long an answer may be waited for. What is late then is the machine's fault, not the file's."""
_OWN_FAULT: Final = {
    -signal.SIGXCPU: "reading it takes more than {:g} s of computing",
    -signal.SIGSEGV: "the parser crashes on it",
}
"""Ends of a process that the file causes, by exit code. Who kills one, or takes its memory, may be gone the next time."""
_FEW: Final = 32
_SMALL: Final = 64 * 1024
"""So few files, and so small ones, are read without a process, which would cost more than they do. A
file made to be slow can take some seconds at this size, and of all together no more is read so than"""
_SMALL_TOGETHER: Final = 4 * _SMALL


class Wanted(NamedTuple):
    """A file to read."""

    language: str
    path: str


class Refused(Exception):
    """A file's content can't be had; the message says why."""


Load = Callable[[str], bytes]
"""The content of a path. Raises OSError or Refused."""


def read_all(
    wanted: Sequence[Wanted], load: Load, seconds: float
) -> Iterator[tuple[Wanted, Reading]]:
    """Every file with its reading; what is not begun in time is left out, with the reason. Raises NoReader."""
    left = list(wanted)
    if len(wanted) <= _FEW:
        left = []
        spent = 0
        for one in wanted:
            content = _loaded(one.path, load)
            if isinstance(content, Reading):
                yield one, content
            elif len(content) <= _SMALL and spent + len(content) <= _SMALL_TOGETHER:
                spent += len(content)
                yield one, read(one.language, content)
            else:
                left.append(one)
    if left:
        with closing(_Pool(load, time.monotonic() + seconds)) as pool:
            yield from pool.read(left)


def _loaded(path: str, load: Load) -> bytes | Reading:
    """A content, or why there is none; another time there may be."""
    try:
        return load(path)
    except OSError as error:
        return Reading([], reason=error.strerror or str(error), lasting=False)
    except Refused as refused:
        return Reading([], reason=str(refused), lasting=False)


class _Lost(Exception):
    """The process ended or did not answer in time; the message says which. `lasting`: it would again."""

    def __init__(self, why: str, *, lasting: bool = False) -> None:
        super().__init__(why)
        self.lasting = lasting


class _Process:
    """One process that reads. It has nothing but its socket."""

    def __init__(self) -> None:
        self._ours, theirs = Pipe()
        command = [sys.executable, *_ISOLATED, "-m", _MODULE, str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            env={},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # whoever interrupts us at a terminal does not interrupt it
        )
        theirs.close()

    def is_ready(self) -> bool:
        """Whether it has started."""
        with suppress(EOFError, OSError):
            return self._ours.poll(_START_SECONDS) and self._ours.recv_bytes(len(READY)) == READY
        return False

    def ask(self, jobs: Sequence[tuple[str, bytes]], seconds: float) -> list[Reading]:
        """Readings within so many seconds of computing. Raises _Lost; then it is of no use any more."""
        try:
            self._ours.send((seconds, jobs))
            if not self._ours.poll(_PATIENCE * seconds):
                raise _Lost("the machine is too busy to read it")
            answer = self._ours.recv_bytes(_ANSWER_BYTES)
        except (EOFError, OSError) as error:
            raise self._ended(seconds) from error
        try:
            readings = [_reading(told) for told in json.loads(answer)]
        except (ValueError, TypeError, RecursionError) as error:
            raise _Lost("the parser's process answered with what is no reading") from error
        if len(readings) != len(jobs):
            raise _Lost(f"the parser's process answered {len(readings)} of {len(jobs)} files")
        return readings

    def _ended(self, seconds: float) -> _Lost:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        if own := _OWN_FAULT.get(code):
            return _Lost(own.format(seconds), lasting=True)
        return _Lost(f"the parser's process was lost ({_ending(code)})")

    def close(self) -> None:
        """End the process, whatever it does."""
        self._ours.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        self._process.kill()
        self._process.wait()


def _reading(told: list[Any]) -> Reading:
    """Raises ValueError or TypeError for anything else: who answers has read what strangers wrote."""
    rows, *more = told
    if tuple(map(type, more)) not in _READING:
        raise TypeError("a field of a reading holds what it can't")
    if not {tuple(map(type, row)) for row in rows} <= {_ROW}:
        raise TypeError("a field of a row holds what it can't")
    return Reading([Row(*row) for row in rows], *more)


def _ending(code: int | None) -> str:
    """As people call it."""
    if code is None:
        return "no answer"
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def _started() -> _Process:
    """A process that is ready; who kills one at its start shall not be taken for a wrong installation."""
    for _ in range(_STARTS):
        process = _Process()
        if process.is_ready():
            return process
        process.close()
    raise NoReader(
        f"`{sys.executable} -m {_MODULE}` doesn't start: install r4p-bot into that Python"
    )


_LATE: Final = Reading([], reason="the time for the whole tree was over", lasting=False)


class _Pool:
    """Some processes, each started when it is first needed and again after it was lost."""

    def __init__(self, load: Load, deadline: float) -> None:
        self._load = load
        self._deadline = deadline
        self._threads = ThreadPoolExecutor(_PROCESSES, thread_name_prefix="reader")
        self._idle: SimpleQueue[_Process | None] = SimpleQueue()
        for _ in range(_PROCESSES):
            self._idle.put(None)

    def close(self) -> None:
        """End all processes. What was not begun is not done."""
        self._threads.shutdown(cancel_futures=True)
        for _ in range(_PROCESSES):
            if process := self._idle.get():
                process.close()

    def read(self, wanted: Sequence[Wanted]) -> Iterator[tuple[Wanted, Reading]]:
        """In their order."""
        batches = [wanted[at : at + _BATCH] for at in range(0, len(wanted), _BATCH)]
        for batch, readings in zip(batches, self._threads.map(self._batch, batches), strict=True):
            yield from zip(batch, readings, strict=True)

    def _batch(self, batch: Sequence[Wanted]) -> list[Reading]:
        if time.monotonic() > self._deadline:
            return [_LATE] * len(batch)
        contents = [_loaded(one.path, self._load) for one in batch]
        jobs = [
            (one.language, content)
            for one, content in zip(batch, contents, strict=True)
            if isinstance(content, bytes)
        ]
        readings = iter(self._ask(jobs))
        return [content if isinstance(content, Reading) else next(readings) for content in contents]

    def _ask(self, jobs: Sequence[tuple[str, bytes]]) -> list[Reading]:
        """All at once; one by one where that loses the process, so that the culprit shows."""
        try:
            return self._ask_one(jobs, _BATCH_SECONDS)
        except _Lost:
            return list(self._one_by_one(jobs))

    def _one_by_one(self, jobs: Iterable[tuple[str, bytes]]) -> Iterator[Reading]:
        for job in jobs:
            if time.monotonic() > self._deadline:
                yield _LATE
                continue
            try:
                yield from self._ask_one([job], _FILE_SECONDS)
            except _Lost as lost:
                yield Reading([], reason=str(lost), size=len(job[1]), lasting=lost.lasting)

    def _ask_one(self, jobs: Sequence[tuple[str, bytes]], seconds: float) -> list[Reading]:
        """Ask a process that is idle. Raises _Lost, after which there is room for a new one."""
        process = self._idle.get()
        try:
            process = process or _started()
            return process.ask(jobs, seconds)
        except _Lost:
            if process:
                process.close()
            process = None
            raise
        finally:
            self._idle.put(process)
