"""How an agent's process is shut in: the command that starts it, and whether that works on this machine.

The agent reads what strangers wrote and does what a model says. So its process has an empty environment, and under
bubblewrap no network, no process but its own in sight, no file but those that Python, git and our package consist of,
its tree to read, and a small folder in memory to write. Nothing of the host's /proc, /etc, /home or /run is there.
"""

import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import model
from app import bubblewrap
from app.settings import python
from app.settings.sandbox_kind import Sandbox
from model.agents.process import seccomp_filter
from model.prompts.untrusted import visible

_AGENT: Final = "model.agents.process.child_process"
_SCRATCH_BYTES: Final = 512 * 1024**2
_PROCESSES: Final = 128
"""Threads among them. Nothing limits those of root, which the bot needs not be."""
_PROBE: Final = f"""
import {_AGENT}
from model.workspace.git_diff import Change, of
of([Change("a", b"1", b"2")], seconds=30)
"""
SAID_NOTHING: Final = "nothing was said"
_PROBE_SECONDS: Final = 60.0
_TREE, _SCRATCH = Path("/tree"), Path("/tmp")  # noqa: S108 - inside, where nobody else is
_CONTAINER: Final = "or run this worker in a container of its own that holds no secret, and set R4P_AGENT_SANDBOX=container"
_NO_FILTER: Final = "in a container nothing keeps an agent off the network but a filter of system calls, and there is none for"
_INSTEAD: Final = (
    "set R4P_AGENT_SANDBOX=bubblewrap, or run this worker on x86-64 or ARM-64 under Linux"
)
_FIX: Final = (
    "it takes bubblewrap 0.8 or newer, and a kernel that lets this user make user namespaces (on Debian "
    "`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu an AppArmor profile for bwrap, in Docker a seccomp profile "
    f"that allows it); {_CONTAINER}"
)
# First in line when memory runs out, ahead of the database and of ourselves.
_FIRST_TO_GO: Final = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$@"'


class NoSandbox(Exception):
    """No process can be shut in here; the message names the fix."""


@contextmanager
def inside(sandbox: Sandbox, tree: Path) -> Iterator[tuple[Path, Path]]:
    """Where the process finds its tree, and an empty folder to write to: under bubblewrap one that nobody else sees."""
    if sandbox is Sandbox.BUBBLEWRAP:
        yield _TREE, _SCRATCH
    else:
        with TemporaryDirectory(prefix="r4p-agent-") as folder:
            yield tree.resolve(), Path(folder)


def command(sandbox: Sandbox, tree: Path, program: Sequence[str] = ("-m", _AGENT)) -> list[str]:
    """What to execute, in an empty environment, for an agent on that tree. Raises NoSandbox.

    `program`: Python's arguments; the last one, how many processes it may start, is added.
    """
    run = [python(), "-I", "-X", "utf8", *program]
    shell = ["/bin/sh", "-c", _FIRST_TO_GO, "sh"]
    if sandbox is Sandbox.CONTAINER:
        if not seccomp_filter.is_known():
            raise NoSandbox(f"{_NO_FILTER} {platform.machine()}: {_INSTEAD}")
        return [*shell, *run, "0"]
    try:
        program = str(bubblewrap.find())
    except bubblewrap.NoBubblewrap as error:
        raise NoSandbox(f"{error}, {_CONTAINER}") from None
    return [*shell, program, *_walls(tree.resolve()), "--", *run, f"{_PROCESSES}"]


def trouble(sandbox: Sandbox) -> str | None:
    """Why no agent can be started in it, and the fix; None: one can. A process loads all of an agent and writes a diff."""
    try:
        tried = command(sandbox, Path(model.__file__).parent, ("-c", _PROBE))
        done = subprocess.run(
            tried, env={}, cwd="/", capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except NoSandbox as error:
        return str(error)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no agent can be started in the sandbox {sandbox}: {error}"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    last = visible(said[-1][:300]) if said else SAID_NOTHING
    return refusal(sandbox, last) if done.returncode else None


def refusal(sandbox: Sandbox, last: str) -> str:
    """Why an agent's process did not start, with the last it said, and the fix."""
    is_walls = last.startswith("bwrap:") or last == SAID_NOTHING
    fix = (
        _FIX
        if is_walls and sandbox is Sandbox.BUBBLEWRAP
        else f"`{python()} -I -m {_AGENT} 0` must start"
    )
    return f"no agent can be started in the sandbox {sandbox} ({last}): {fix}"


def _walls(tree: Path) -> Iterator[str]:
    """Bubblewrap's arguments. What is not named here is not there."""
    yield from ("--unshare-all", "--unshare-user", "--uid", "65534")
    yield from ("--gid", "65534", "--hostname", "agent", "--cap-drop", "ALL", "--clearenv")
    yield from ("--die-with-parent", "--new-session")
    yield from ("--size", f"{_SCRATCH_BYTES}", "--tmpfs", str(_SCRATCH))
    for device in ("/dev/null", "/dev/urandom"):  # git does not do without
        yield from ("--dev-bind", device, device)
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in map(Path, ("/bin", "/lib", "/lib64")):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        else:
            yield from _read_only(folder)
    yield from _read_only(Path("/etc/ld.so.cache"))
    for needed in _pythons_own():
        yield from _read_only(needed)
    yield from ("--ro-bind", str(tree), str(_TREE), "--remount-ro", "/", "--chdir", str(_SCRATCH))


def _pythons_own() -> Iterator[Path]:
    """The interpreter, the libraries that are installed, and our package: wherever those may be."""
    prefixes = {sys.prefix, sys.base_prefix, str(Path(python()).resolve().parents[1])}
    for prefix in sorted(prefixes - {"/usr"}):
        yield from (Path(prefix) / part for part in ("pyvenv.cfg", "bin", "lib", "lib64"))
    yield Path(model.__file__).parent


def _read_only(path: Path) -> tuple[str, ...]:
    return ("--ro-bind-try", str(path), str(path))
