"""Lock the folder of a run for one process. The system releases the lock when the process dies.

On shared folders the lock needs NFS 4 or later, or Lustre mounted with `flock`.
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
"""Lock file in the run's folder. Its text names the last holder and may outlive the lock."""


class RunLocked(BadRun):
    """Another process trains in the folder of this run."""


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Create a run's folder and lock it during a `with` block. Delete the folder at the end if it is still empty.

    Raises RunLocked if another process holds the lock, BadRun if the file system has no locks, and OSError if the
    folder cannot be written.
    """
    with _acquire(folder):
        try:
            yield
        finally:
            _delete_if_empty(folder)


def is_empty_run(folder: Path) -> bool:
    """Return whether a run's folder is missing or holds nothing but the lock."""
    return not folder.exists() or all(path.name == LOCK for path in folder.iterdir())


def _acquire(folder: Path) -> IO[str]:
    path = folder / LOCK
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            with lock:
                lock.seek(0)
                holder = lock.read().strip() or "another process"
            raise RunLocked(
                f"{folder} is trained in by {holder}; wait until it ends, or end it"
            ) from error
        except OSError as error:
            lock.close()
            raise BadRun(
                f"{folder} can't be locked ({error.strerror}); use a file system with locks, such as NFS "
                "4 or later"
            ) from error
        if _is_current(lock, path):
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()} since {_format_now()}\n")
            lock.flush()
            return lock
        lock.close()  # the last holder deleted the empty folder: lock the new one


def _is_current(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _delete_if_empty(folder: Path) -> None:
    with suppress(OSError):
        if is_empty_run(folder):
            (folder / LOCK).unlink()
            folder.rmdir()


def _format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
