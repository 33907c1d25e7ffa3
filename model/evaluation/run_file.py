"""Read and write run files: judged groups as JSON lines.

Each group is on disk as soon as it is judged, so that a killed run can continue.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model.errors import BadRun
from model.evaluation.judged_group import JudgedGroup, dump_line, parse_line

_BEGIN = b'{"key":{"group":"'
"""Start of every line. It identifies a half-written last line."""


class RunFile:
    """A run file that is open and locked for appending. `open_run_file` creates it."""

    def __init__(self, judged: tuple[JudgedGroup, ...], descriptor: int) -> None:
        self.judged = judged
        """Groups in the file when it was opened, in the order written."""
        self._descriptor = descriptor

    def add(self, group: JudgedGroup) -> None:
        """Append a judged group to the run file. The group is on disk when the call returns."""
        line = dump_line(group) + b"\n"
        while line:
            # os.write may write only a part
            line = line[os.write(self._descriptor, line) :]
        os.fsync(self._descriptor)


@contextmanager
def open_run_file(path: Path) -> Iterator[RunFile]:
    """Open and lock the run file `path` for appending, as a context manager.

    The file and its folder are created where needed. A last line that a killed run left half written is cut off. Raises
    BadRun when another process holds the lock, when the file cannot be written, or when it is no run file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise BadRun(f"run file {path} can't be written: {error.strerror}") from error
    try:
        try:
            # the kernel releases the lock with the process, so a killed run leaves none
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadRun(f"run file {path} is being written by another run; wait for it") from error
        judged = tuple(read_run_file(path))
        _cut_unfinished(path, descriptor)
        yield RunFile(judged, descriptor)
    finally:
        os.close(descriptor)


def _cut_unfinished(path: Path, descriptor: int) -> None:
    """Truncate the half-written last line. A file of another kind raises BadRun before and keeps every byte."""
    os.ftruncate(descriptor, path.stat().st_size - count_unfinished_bytes(path))


def count_unfinished_bytes(path: Path) -> int:
    """Return the number of bytes of a run file's half-written last line; 0 if its last line is complete.

    Raises BadRun when the last line is not a run file's, or the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadRun(f"run file {path} can't be read: {error.strerror}") from error
    tail = content[content.rfind(b"\n") + 1 :]
    if not (tail.startswith(_BEGIN) or _BEGIN.startswith(tail)):
        raise BadRun(f"{path} is no run file; give another one, or a folder")
    return len(tail)


def read_run_file(path: Path) -> Iterator[JudgedGroup]:
    """Yield the judged groups of the run file `path` in file order, without a half-written last line.

    Raises BadRun, with file and line, for a complete line that is no judged group.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.endswith(b"\n"):
                    yield _parse_group(line, f"run file {path}, line {number}")
    except OSError as error:
        raise BadRun(f"run file {path} can't be read: {error.strerror}") from error


def read_sorted(path: Path) -> list[JudgedGroup]:
    """Return the judged groups of the run file `path`, sorted by group id.

    The order in which a run finished its groups thus changes no result. Raises BadRun.
    """
    return sorted(read_run_file(path), key=lambda group: group.key.group)


def _parse_group(line: bytes, where: str) -> JudgedGroup:
    try:
        return parse_line(line)
    except ValueError as error:
        raise BadRun(f"{where} is no judged group ({error}); give another file") from error
