"""The command that starts an agent's process in the sandbox, and a check that it works on this machine.

An agent reads text from strangers and obeys a language model. So bubblewrap gives its process an empty environment and
no network, and it sees no other process. It can read Python, git, our package and its source tree, and it can write
only to a small folder in memory. The host's /proc, /etc, /home and /run are not there.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import model
from app.settings import get_interpreter
from model.sandbox import walls
from model.sandbox.sandboxed_process import SAID_NOTHING, ProcessEnded, SandboxedProcess
from model.sandbox.walls import NoSandbox, Walls

_AGENT: Final = "model.agents.process.child_process"
_SCRATCH_BYTES: Final = 512 * 1024**2
_PROCESSES: Final = 128
"""Most processes and threads of an agent. The kernel does not limit those of root, so the bot should not run as root."""
_PROBE: Final = f"""
import {_AGENT}
from model.workspace.git_diff import FileChange, build_diff
build_diff([FileChange("a", b"1", b"2")], seconds=30)
"""
_PROBE_SECONDS: Final = 60.0
READ_CODE: Final = ("-m", "model.agents.process.code_process")
"""The program that reads the code which patches touch."""
TREE: Final = Path("/tree")
"""Path of the source tree inside the sandbox."""


def build_command(tree: Path, program: Sequence[str] = ("-m", _AGENT)) -> list[str]:
    """Return the command that runs an agent on the source tree `tree`, in the sandbox, with an empty environment.

    `program` holds Python's arguments. The function appends the number of processes that the agent may start. Raises
    NoSandbox.
    """
    run = [get_interpreter(), "-I", "-X", "utf8", *program, f"{_PROCESSES}"]
    readable = (
        *((path, path) for path in _list_python_folders()),
        (tree.resolve(), TREE),
    )
    return walls.build_command(Walls(readable, _SCRATCH_BYTES), run)


def check_sandbox() -> str | None:
    """Start an agent's process as a test; return None if it works, else why it failed and how to fix it.

    The process loads every module of an agent and writes a diff.
    """
    try:
        probe = build_command(Path(model.__file__).parent, ("-c", _PROBE))
        with SandboxedProcess(probe, _PROBE_SECONDS, name="the test of the sandbox") as process:
            b"".join(process.read_lines())
            code = process.wait_for_exit()
    except NoSandbox as error:
        return str(error)
    except (OSError, ProcessEnded) as error:
        return f"no agent can be started in bubblewrap: {error}"
    return explain_failure(process.read_last_error()) if code else None


def explain_failure(last: str) -> str:
    """Return a sentence that says why an agent's process did not start, and how to fix it.

    `last` is the last line of the process's standard error.
    """
    is_bubblewrap = last.startswith("bwrap:") or last == SAID_NOTHING
    fix = walls.FIX if is_bubblewrap else f"`{get_interpreter()} -I -m {_AGENT} 0` must start"
    return f"no agent can be started in bubblewrap ({last}): {fix}"


def _list_python_folders() -> Iterator[Path]:
    """Yield the folders of the interpreter, of the installed libraries and of our package."""
    yield from walls.list_python_folders(Path(get_interpreter()))
    yield Path(model.__file__).parent
