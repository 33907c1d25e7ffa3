"""Run files: judged groups as JSON lines, each on disk as soon as it is judged, so that a killed run goes on."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model.errors import BadRun
from model.evaluation.judged_group import JudgedGroup, from_line, to_line

_BEGIN = b'{"key":{"group":"'
"""How a line begins, by which one that was cut off is known to be ours."""


class RunFile:
    """A run file held for adding. Made by `opened`."""

    def __init__(self, judged: tuple[JudgedGroup, ...], descriptor: int) -> None:
        self.judged = judged
        """What it held when it was opened, in the order written."""
        self._descriptor = descriptor

    def add(self, group: JudgedGroup) -> None:
        """On disk when this returns."""
        line = to_line(group) + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
        os.fsync(self._descriptor)


@contextmanager
def opened(path: Path) -> Iterator[RunFile]:
    """The run file, made with its folder where it is missing; what a killed run left half written is cut off.

    One process at a time holds it. Raises BadRun when another does, it can't be written, or it is no run file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise BadRun(f"run file {path} can't be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadRun(f"run file {path} is being written by another run; wait for it") from error
        judged = tuple(read(path))
        _cut_unfinished(path, descriptor)
        yield RunFile(judged, descriptor)
    finally:
        os.close(descriptor)


def _cut_unfinished(path: Path, descriptor: int) -> None:
    """Only what is ours: a file named by mistake keeps every byte."""
    os.ftruncate(descriptor, path.stat().st_size - unfinished(path))


def unfinished(path: Path) -> int:
    """Bytes of a last line that a killed run left half written, or that is still being written; 0 for none.

    Raises BadRun when they can't be ours, or the file can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadRun(f"run file {path} can't be read: {error.strerror}") from error
    tail = content[content.rfind(b"\n") + 1 :]
    if not (tail.startswith(_BEGIN) or _BEGIN.startswith(tail)):
        raise BadRun(f"{path} is no run file; give another one, or a folder")
    return len(tail)


def read(path: Path) -> Iterator[JudgedGroup]:
    """The judged groups of a run file, but for a last line that is still being written.

    Raises BadRun naming file and line for what is no run file.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.endswith(b"\n"):
                    yield _group(line, f"run file {path}, line {number}")
    except OSError as error:
        raise BadRun(f"run file {path} can't be read: {error.strerror}") from error


def in_order(path: Path) -> list[JudgedGroup]:
    """The same by group, so that no figure hangs on which was ready first."""
    return sorted(read(path), key=lambda one: one.key.group)


def _group(line: bytes, where: str) -> JudgedGroup:
    try:
        return from_line(line)
    except ValueError as error:
        raise BadRun(f"{where} is no judged group ({error}); give another file") from error
