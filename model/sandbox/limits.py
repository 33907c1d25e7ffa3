"""Limits that a sandboxed process sets on itself and its children before it runs anything of a stranger."""

import resource
from dataclasses import dataclass

from model.sandbox import seccomp_filter


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """What one process may use. 0 sets no limit of its own."""

    memory_bytes: int
    """Address space of each process. A thread reserves about 70 MB of it without using them."""
    file_bytes: int
    """Size of one file. The sandbox limits the sum of all files."""
    files: int = 256
    """Open files of each process."""
    processes: int = 0
    """Processes and threads together. The kernel does not limit those of root."""
    cpu_seconds: int = 0
    """Seconds of one core for each process."""
    has_sockets: bool = False
    """Whether sockets may be opened; without a network they reach only this sandbox."""


def set_limits(limits: ResourceLimits) -> None:
    """Set the limits and the filter of system calls on this process and its children, for good."""
    wanted = {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_NPROC: limits.processes,
        resource.RLIMIT_CPU: limits.cpu_seconds,
    }
    for which, most in wanted.items():
        if most:
            _lower(which, most)
    _lower(resource.RLIMIT_CORE, 0)
    seccomp_filter.install_filter(has_sockets=limits.has_sockets)


def _lower(which: int, most: int) -> None:
    hard = resource.getrlimit(which)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(which, (least, least))
