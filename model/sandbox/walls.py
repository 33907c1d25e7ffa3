"""The command that starts a program behind bubblewrap: what it can read, and the one folder that it can write."""

import os
import platform
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from model.sandbox import bubblewrap, seccomp_filter

SCRATCH: Final = Path("/tmp")  # noqa: S108 - inside the sandbox, where no other user is
"""Path of an empty folder in memory inside the sandbox."""
NOBODY: Final = 65534
"""User and group id inside the sandbox."""
FIX: Final = (
    "this needs bubblewrap 0.8 or newer, and a kernel that lets this user make user namespaces (on Debian "
    "`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu an AppArmor profile for bwrap, in Docker a seccomp profile "
    "that allows it)"
)
"""What an operator does when bubblewrap starts nothing."""
_ROOT_CAPABILITIES: Final = ("CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID")
"""What root needs to become another user, which ends these capabilities."""
_FIRST_USER: Final = 2**30
"""User ids from here on belong to no account."""
# When memory runs out, the kernel kills the sandbox before the database and the worker, unless the sandbox takes it back.
_SET_OOM_SCORE: Final = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$@"'


class NoSandbox(Exception):
    """No sandbox can be started on this machine. The message names the fix."""


@dataclass(frozen=True, slots=True)
class Walls:
    """What a sandboxed program sees of the host: the system's programs, two devices and these folders."""

    readable: tuple[tuple[Path, Path], ...]
    """Folders and files that it can read, as (path on the host, path inside). All must exist."""
    scratch_bytes: int
    """Size of the folder in memory."""
    writable: tuple[tuple[Path, Path], ...] = ()
    """Folders that it can write, as (path on the host, path inside). All must exist."""
    has_network: bool = False
    """Whether it shares the host's network. Only the build of a test environment does."""
    folder: Path = SCRATCH
    """The folder that the program starts in."""
    has_processes: bool = False
    """Whether it sees its own processes in /proc."""
    leaves_root: bool = False
    """Where this process is root, the program starts as root and must call `leave_root` before it runs a stranger's code.

    So the kernel limits its number of processes, and it can read folders of root before that.
    """
    variables: Mapping[str, str] = field(default_factory=dict)
    """Its environment."""
    filter_handle: int | None = None
    """A file that holds the filter of system calls; None sets no filter."""


def build_command(walls: Walls, program: Sequence[str]) -> list[str]:
    """Return the command that runs `program` behind `walls` with an empty environment. Raises NoSandbox."""
    try:
        bwrap = str(bubblewrap.find())
    except bubblewrap.NoBubblewrap as error:
        raise NoSandbox(str(error)) from None
    shell = ["/bin/sh", "-c", _SET_OOM_SCORE, "sh"]
    return [*shell, bwrap, *_list_options(walls), "--", *program]


@contextmanager
def open_filter() -> Iterator[int]:
    """Yield a file that holds the filter of system calls for a program with sockets, as `filter_handle`.

    Raises NoSandbox on a machine that the filter does not support.
    """
    code = seccomp_filter.build_filter(has_sockets=True)
    if code is None:
        raise NoSandbox(
            f"a repository's code needs a filter of system calls, and there is none for {platform.machine()}"
        )
    with TemporaryFile() as file:
        file.write(code)
        file.seek(0)
        yield file.fileno()


def list_python_folders(interpreter: Path) -> Iterator[Path]:
    """Yield the folders that a Python needs to run: those of its virtual environment and of its installation."""
    prefixes = {interpreter.parents[1], interpreter.resolve().parents[1]}
    for prefix in sorted(prefixes - {Path("/usr")}):
        parts = (prefix / part for part in ("pyvenv.cfg", "bin", "lib", "lib64"))
        yield from (part for part in parts if part.exists())


def _list_options(walls: Walls) -> Iterator[str]:
    """Yield bubblewrap's arguments. The sandbox holds only the files that they name."""
    yield from _list_namespace_options(walls)
    yield from ("--hostname", "agent", "--clearenv", "--die-with-parent", "--new-session")
    yield from ("--perms", "1777", "--size", f"{walls.scratch_bytes}", "--tmpfs", str(SCRATCH))
    if walls.has_processes:
        yield from ("--proc", "/proc")
    yield from ("--perms", "0755", "--dir", "/dev")
    for device in ("/dev/null", "/dev/urandom"):  # git needs both
        yield from ("--dev-bind", device, device)
    yield from _list_mounts(walls)
    for name, value in walls.variables.items():
        yield from ("--setenv", name, value)
    if walls.filter_handle is not None:
        yield from ("--seccomp", f"{walls.filter_handle}")
    yield from ("--remount-ro", "/", "--chdir", str(walls.folder))


def _list_mounts(walls: Walls) -> Iterator[str]:
    """Yield the arguments about the folders and files of the host."""
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in map(Path, ("/bin", "/lib", "/lib64")):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        else:
            yield from ("--ro-bind-try", str(folder), str(folder))
    mounts = (*walls.readable, *walls.writable)
    parents = {parent for _, inside in mounts for parent in inside.parents} | {Path("/etc")}
    for folder in sorted(parents - {Path("/")}):
        # Otherwise bubblewrap would close these folders to everyone but their owner.
        yield from ("--perms", "0755", "--dir", str(folder))
    yield from ("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache")
    for host, inside in walls.readable:
        yield from ("--ro-bind", str(host), str(inside))
    for host, inside in walls.writable:
        yield from ("--bind", str(host), str(inside))


def _list_namespace_options(walls: Walls) -> Iterator[str]:
    """Yield the arguments about namespaces, users and capabilities."""
    if walls.leaves_root and os.geteuid() == 0:
        yield from ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
        yield from (
            ("--cap-drop", "ALL") if walls.has_network else ("--unshare-net", "--cap-drop", "ALL")
        )
        yield from (word for power in _ROOT_CAPABILITIES for word in ("--cap-add", power))
    else:
        yield from ("--unshare-all", "--unshare-user", "--uid", f"{NOBODY}", "--gid", f"{NOBODY}")
        yield from (("--share-net",) if walls.has_network else ())
        yield from ("--cap-drop", "ALL")


def pick_user() -> int:
    """Return the number of a user that owns no file and no process."""
    return _FIRST_USER + secrets.randbelow(_FIRST_USER)


def leave_root(program: Sequence[str], user: int | None = None) -> list[str]:
    """Return the command that runs `program` as a user of its own, behind walls with `leaves_root`.

    No other process belongs to that user, so the limit of processes is for this sandbox alone. `user` comes from
    `pick_user`. In a process that is not root the command is `program` itself.
    """
    if os.geteuid():
        return list(program)
    user = pick_user() if user is None else user
    options = (f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all")
    return ["setpriv", *options, "--ambient-caps=-all", "--bounding-set=-all", "--", *program]
