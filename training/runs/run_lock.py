"""One process at a time trains in a run's folder: by a lock that the system takes back from whoever dies.

Between machines that share the folder it holds where their file system does: NFS from version 4 on, or Lustre mounted
with `flock`.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from training.runs.run_folder import BadRun

LOCK = ".lock"
"""In the run's folder; what it says of its holder outlives the holder, the lock does not."""


class Busy(BadRun):
    """Somebody else trains there, for now."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep others out of a folder, which is made, and goes again where nothing came into it.

    Raises Busy while another process is in it, BadRun where it can't be locked, OSError where it can't be written.
    """
    with _locked(folder):
        try:
            yield
        finally:
            _tidy(folder)


def is_empty(folder: Path) -> bool:
    """Whether no run was ever begun in it."""
    return not folder.exists() or all(one.name == LOCK for one in folder.iterdir())


def _locked(folder: Path) -> IO[str]:
    path = folder / LOCK
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            with lock:
                lock.seek(0)
                who = lock.read().strip() or "another process"
            raise Busy(f"{folder} is trained in by {who}; wait until it ends, or end it") from error
        except OSError as error:
            lock.close()
            raise BadRun(
                f"{folder} can't be locked ({error.strerror}); name one on a file system that knows locks, such as NFS "
                "from version 4 on"
            ) from error
        if _is_there(lock, path):
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()} since {_now()}\n")
            lock.flush()
            return lock
        lock.close()  # whoever had it found nothing to keep, and took the folder away


def _is_there(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _tidy(folder: Path) -> None:
    with suppress(OSError):
        if is_empty(folder):
            (folder / LOCK).unlink()
            folder.rmdir()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
