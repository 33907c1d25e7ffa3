"""How many test runs fit on this machine at the same time: one a core, and fewer where memory is short."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from model.execution.suite_command import SuiteCommand

_RESIDENT_BYTES: Final = 1024**3
"""Memory that the processes of one run hold beside their folder in memory. Few suites need more."""
_MEMORY: Final = Path("/proc/meminfo")
_GROUP: Final = Path("/sys/fs/cgroup")
"""Where a container sees its own limit of memory."""


def count_slots(command: SuiteCommand) -> int:
    """Return how many runs of the command this machine can hold now, at least 1."""
    cores = len(os.sched_getaffinity(0))
    # The lower amount decides: a container's own limit may lie below what the machine has left.
    return choose_slots(cores, min(_list_free_bytes(), default=None), command.scratch_bytes)


def choose_slots(cores: int, free_bytes: int | None, scratch_bytes: int) -> int:
    """Return the number of runs for so many cores and bytes. None stands for an unknown amount of memory."""
    if free_bytes is None:
        return cores
    return max(1, min(cores, free_bytes // (scratch_bytes + _RESIDENT_BYTES)))


def _list_free_bytes() -> Iterator[int]:
    """Yield the free memory of the machine and that of the container, as far as the system tells them."""
    with suppress(OSError, ValueError, StopIteration):
        lines = _MEMORY.read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        yield int(line.split()[1]) * 1024
    with suppress(OSError, ValueError):  # `max` is no number: no limit
        most = int((_GROUP / "memory.max").read_text())
        yield max(most - int((_GROUP / "memory.current").read_text()), 0)
