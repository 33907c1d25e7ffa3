"""Open files below a directory handle without following any link.

Linux 5.6 has one system call for it, openat2. Elsewhere every folder on the way is opened on its own.
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

_OPENAT2: Final = 437
"""System call number on every architecture except Alpha."""
_NO_MAGIC_LINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_LOOK: Final = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""Open without access to the content: opening a device can have effects."""
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY


class NotARegularFile(OSError):
    """The path exists but is not a regular file."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@contextmanager
def open_below(root: int, path: str, flags: int, mode: int = 0) -> Iterator[int]:
    """Open a path below the directory handle `root` without following any link, and yield its file descriptor.

    `flags` and `mode` are those of `os.open`. The descriptor closes at the end. Raises OSError: ELOOP, ENOTDIR or EXDEV
    when the path leads out of `root`.
    """
    if any(part in {"", ".", ".."} for part in path.split("/")) and path != ".":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    way = _open_by_kernel if has_openat2() else _open_stepwise
    handle = way(root, path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        yield handle
    finally:
        os.close(handle)


def read_file(root: int, path: str, most: int) -> tuple[bytes, bool]:
    """Return the beginning of a regular file below the directory handle `root`, and its executable bit.

    The beginning has at most `most` + 1 bytes, so that a longer file is noticed. Raises OSError, NotARegularFile.
    """
    with open_below(root, path, _LOOK) as handle:
        _check_regular(handle, path)
    with open_below(root, path, _READ) as handle, open(handle, "rb", closefd=False) as file:
        status = _check_regular(handle, path)
        return file.read(most + 1), bool(status.st_mode & stat.S_IXUSR)


@cache
def has_openat2() -> bool:
    """Return whether this machine has the system call openat2 and this process may use it."""
    if not sys.platform.startswith("linux"):
        return False
    here = os.open("/", FOLDER | os.O_CLOEXEC)
    try:
        os.close(_open_by_kernel(here, ".", FOLDER | os.O_CLOEXEC, 0))
    except OSError:  # an older kernel, or a sandbox that allows only calls it knows
        return False
    finally:
        os.close(here)
    return True


def _check_regular(handle: int, path: str) -> os.stat_result:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise NotARegularFile(errno.EINVAL, describe_kind(status.st_mode), path)
    return status


def describe_kind(mode: int) -> str:
    """Return the kind of a file that is not regular in words, such as "a folder". `mode` is its `st_mode`."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((word for is_one, word in kinds if is_one(mode)), "a device")


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _open_by_kernel(root: int, path: str, flags: int, mode: int) -> int:
    how = _OpenHow(flags, mode, _BENEATH | _NO_SYMLINKS | _NO_MAGIC_LINKS)
    number, size = ctypes.c_long(_OPENAT2), ctypes.c_size_t(ctypes.sizeof(how))
    handle = _libc().syscall(number, root, os.fsencode(path), ctypes.byref(how), size)
    if handle < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return int(handle)


def _open_stepwise(root: int, path: str, flags: int, mode: int) -> int:
    *folders, name = path.split("/")
    step = _LOOK | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.dup(root)
    try:
        for folder in folders:
            there = os.open(folder, step, dir_fd=here)
            os.close(here)
            here = there
        return os.open(name, flags, mode, dir_fd=here)
    finally:
        os.close(here)
