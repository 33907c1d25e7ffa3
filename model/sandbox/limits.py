"""Limits of a sandboxed process: it sets them on itself, or `prlimit` sets them before the program starts."""

import resource
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
    """Processes and threads of this user on the machine. The kernel does not limit those of root."""
    cpu_seconds: int = 0
    """Seconds of one core for each process."""

    @property
    def by_resource(self) -> dict[int, int]:
        """The limits by their number in the module `resource`."""
        wanted = {
            resource.RLIMIT_AS: self.memory_bytes,
            resource.RLIMIT_FSIZE: self.file_bytes,
            resource.RLIMIT_NOFILE: self.files,
            resource.RLIMIT_NPROC: self.processes,
            resource.RLIMIT_CPU: self.cpu_seconds,
        }
        return {which: most for which, most in wanted.items() if most} | {resource.RLIMIT_CORE: 0}


_OPTIONS: Final = {
    resource.RLIMIT_AS: "--as",
    resource.RLIMIT_FSIZE: "--fsize",
    resource.RLIMIT_NOFILE: "--nofile",
    resource.RLIMIT_NPROC: "--nproc",
    resource.RLIMIT_CPU: "--cpu",
    resource.RLIMIT_CORE: "--core",
}


def set_limits(limits: ResourceLimits) -> None:
    """Set the limits and the filter of system calls on this process and its children, for good."""
    for which, most in limits.by_resource.items():
        least = _lower(which, most)
        resource.setrlimit(which, (least, least))
    seccomp_filter.install_filter()


def build_command(limits: ResourceLimits, program: Sequence[str]) -> list[str]:
    """Return the command that runs `program` with the limits, by `prlimit` of util-linux."""
    options = [
        f"{_OPTIONS[which]}={_lower(which, most)}" for which, most in limits.by_resource.items()
    ]
    return ["prlimit", *options, "--", *program]


def _lower(which: int, most: int) -> int:
    """Return `most`, or the limit that this process has already, if that is lower."""
    hard = resource.getrlimit(which)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)
