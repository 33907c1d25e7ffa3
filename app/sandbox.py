"""The command that starts an agent's process in the sandbox, and a check that it works on this machine.

An agent reads text from strangers and obeys a language model. So bubblewrap gives its process an empty environment and
no network, and it sees no other process. It can read Python, git, our package and its source tree, and it can write
only to a small folder in memory. The host's /proc, /etc, /home and /run are not there.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import model
from app import bubblewrap
from app.settings import get_interpreter
from model.prompts.untrusted import escape_invisible

_AGENT: Final = "model.agents.process.child_process"
_SCRATCH_BYTES: Final = 512 * 1024**2
_PROCESSES: Final = 128
"""Most processes and threads of an agent. The kernel does not limit those of root, so the bot should not run as root."""
_PROBE: Final = f"""
import {_AGENT}
from model.workspace.git_diff import FileChange, build_diff
build_diff([FileChange("a", b"1", b"2")], seconds=30)
"""
SAID_NOTHING: Final = "it wrote nothing to standard error"
_PROBE_SECONDS: Final = 60.0
TREE: Final = Path("/tree")
"""Path of the source tree inside the sandbox."""
SCRATCH: Final = Path("/tmp")  # noqa: S108 - inside the sandbox, where no other user is
"""Path of an empty folder in memory inside the sandbox."""
_FIX: Final = (
    "this needs bubblewrap 0.8 or newer, and a kernel that lets this user make user namespaces (on Debian "
    "`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu an AppArmor profile for bwrap, in Docker a seccomp profile "
    "that allows it)"
)
# When memory runs out, the kernel kills the agent first, before the database and the worker.
_FIRST_TO_GO: Final = 'echo 1000 2>/dev/null >/proc/self/oom_score_adj; exec "$@"'


class NoSandbox(Exception):
    """No sandbox can be started on this machine. The message names the fix."""


def build_command(tree: Path, program: Sequence[str] = ("-m", _AGENT)) -> list[str]:
    """Return the command that runs an agent on the source tree `tree`, in the sandbox, with an empty environment.

    `program` holds Python's arguments. The function appends the number of processes that the agent may start. Raises
    NoSandbox.
    """
    run = [get_interpreter(), "-I", "-X", "utf8", *program]
    try:
        walls = str(bubblewrap.find())
    except bubblewrap.NoBubblewrap as error:
        raise NoSandbox(str(error)) from None
    shell = ["/bin/sh", "-c", _FIRST_TO_GO, "sh"]
    return [*shell, walls, *_list_bubblewrap_options(tree.resolve()), "--", *run, f"{_PROCESSES}"]


def check_sandbox() -> str | None:
    """Start an agent's process as a test; return None if it works, else why it failed and how to fix it.

    The process loads every module of an agent and writes a diff.
    """
    try:
        probe = build_command(Path(model.__file__).parent, ("-c", _PROBE))
        done = subprocess.run(
            probe, env={}, cwd="/", capture_output=True, timeout=_PROBE_SECONDS, check=False
        )
    except NoSandbox as error:
        return str(error)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no agent can be started in bubblewrap: {error}"
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    last = escape_invisible(lines[-1][:300]) if lines else SAID_NOTHING
    return explain_failure(last) if done.returncode else None


def explain_failure(last: str) -> str:
    """Return a sentence that says why an agent's process did not start, and how to fix it.

    `last` is the last line of the process's standard error.
    """
    is_bubblewrap = last.startswith("bwrap:") or last == SAID_NOTHING
    fix = _FIX if is_bubblewrap else f"`{get_interpreter()} -I -m {_AGENT} 0` must start"
    return f"no agent can be started in bubblewrap ({last}): {fix}"


def _list_bubblewrap_options(tree: Path) -> Iterator[str]:
    """Yield bubblewrap's arguments. The sandbox holds only the files that they name."""
    yield from ("--unshare-all", "--unshare-user", "--uid", "65534")
    yield from ("--gid", "65534", "--hostname", "agent", "--cap-drop", "ALL", "--clearenv")
    yield from ("--die-with-parent", "--new-session")
    yield from ("--size", f"{_SCRATCH_BYTES}", "--tmpfs", str(SCRATCH))
    for device in ("/dev/null", "/dev/urandom"):  # git needs both
        yield from ("--dev-bind", device, device)
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in map(Path, ("/bin", "/lib", "/lib64")):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        else:
            yield from _read_only(folder)
    yield from _read_only(Path("/etc/ld.so.cache"))
    for needed in _list_python_folders():
        yield from _read_only(needed)
    yield from ("--ro-bind", str(tree), str(TREE), "--remount-ro", "/", "--chdir", str(SCRATCH))


def _list_python_folders() -> Iterator[Path]:
    """Yield the folders of the interpreter, of the installed libraries and of our package."""
    prefixes = {sys.prefix, sys.base_prefix, str(Path(get_interpreter()).resolve().parents[1])}
    for prefix in sorted(prefixes - {"/usr"}):
        yield from (Path(prefix) / part for part in ("pyvenv.cfg", "bin", "lib", "lib64"))
    yield Path(model.__file__).parent


def _read_only(path: Path) -> tuple[str, ...]:
    return ("--ro-bind-try", str(path), str(path))
