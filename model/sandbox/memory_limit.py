"""Limit of the memory that a process and all its descendants hold together, by /proc.

The kernel's own limits hold for each process alone. A control group would count all of them, but needs root or systemd.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS: Final = 0.2
"""Shortest pause between two measurements. What a process takes meanwhile comes on top of the limit."""
_PAUSE: Final = 20
"""A pause is this many times as long as the measurement before it, so that measuring costs little."""
_MOST_SHARING: Final = 4
"""Beyond this multiple of the limit, shared pages are not told apart: that would take seconds, in which more is taken."""


class MemoryLimit:
    """The limit of `most` bytes for process number `root` and its descendants. Its owner asks and kills."""

    def __init__(self, root: int, most: int) -> None:
        self._root, self._most = root, most
        self._next_look = 0.0

    def is_exceeded(self) -> bool:
        """Return whether the processes hold too much memory; False, without a look, soon after the last look."""
        begin = time.monotonic()
        if begin < self._next_look:
            return False
        used = measure_tree(self._root, self._most)
        end = time.monotonic()
        self._next_look = end + max(_LOOK_SECONDS, _PAUSE * (end - begin))
        return used > self._most


def measure_tree(root: int, enough: int) -> int:
    """Return the bytes of memory of process number `root` and its descendants. A process that ended has none.

    Up to `enough`, a page that processes share counts once for each of them, because that is quick. Beyond it, each
    page counts once, unless the quick sum is many times as large.
    """
    members = list(_list_tree(root))
    resident = sum(map(_read_resident, members))
    if not enough < resident <= _MOST_SHARING * enough:
        return resident
    return sum(map(_read_proportional, members))


def _list_tree(root: int) -> Iterator[int]:
    """Yield the number of `root` and of all its descendants that run now."""
    children = defaultdict(list)
    for name in [entry.name for entry in os.scandir("/proc")]:
        if name.isdecimal():
            with suppress(OSError):  # it ended meanwhile
                # The name of the program comes first, in brackets, and may hold anything.
                fields = _read(name, "stat").rpartition(b")")[2].split(maxsplit=2)
                children[int(fields[1])].append(int(name))
    waiting = [root]
    while waiting:
        yield (number := waiting.pop())
        waiting += children[number]


def _read_resident(number: int) -> int:
    with suppress(OSError):
        return int(_read(f"{number}", "statm").split()[1]) * _PAGE_BYTES
    return 0


def _read_proportional(number: int) -> int:
    """Return the bytes of a process, each shared page divided by the number of its owners."""
    try:
        lines = _read(f"{number}", "smaps_rollup").splitlines()
    except OSError:  # not ours to read, or it ended
        return _read_resident(number)
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))


def _read(number: str, name: str) -> bytes:
    """Return a file of a process. This is half the cost of `Path.read_bytes`, and a look reads hundreds."""
    handle = os.open(f"/proc/{number}/{name}", os.O_RDONLY)
    try:
        return os.read(handle, 4096)
    finally:
        os.close(handle)
