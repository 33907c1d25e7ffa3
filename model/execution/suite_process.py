"""Run a test command once on a patched copy of a tree, in the sandbox, and read its signed report."""

import os
import re
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from model.execution import inside
from model.execution.junit_report import read_junit_run
from model.execution.result_stream import ENDED_EARLY, read_run
from model.execution.suite_command import SuiteCommand
from model.execution.suite_run import SuiteRun, build_failed_run
from model.execution.tree_changes import TreeChanges
from model.execution.tree_copy import Mount, SharedTree, mount_tree
from model.prompts.untrusted import escape_invisible
from model.sandbox import limits, walls
from model.sandbox.memory_limit import MemoryLimit
from model.sandbox.walls import SCRATCH, Walls

_TREE, _REPORTERS = Path("/tree"), Path("/reporters")
_VARIABLES: Final = {
    "HOME": str(SCRATCH),
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "COVERAGE_FILE": str(SCRATCH / "coverage"),
    "HYPOTHESIS_STORAGE_DIRECTORY": str(SCRATCH / "hypothesis"),
}
ENDED_BY_CALLER: Final = "the tests were stopped before they finished"
"""Reason of a run that its caller ended, because its time is over or its result is not needed any more."""
_CHUNK: Final = 65_536
_OUTPUT_TAIL_BYTES: Final = 4_096
_ERROR: Final = re.compile(r"E   \w+Error\b|ERROR")
_ERROR_CHARACTERS: Final = 200
"""Most characters of an error of the test runner that a reason repeats."""
_LOOK_SECONDS: Final = 0.2
"""How often a run looks whether it may go on."""


class _RunEnded(Exception):
    """The run reached a limit. The message is a sentence for a person."""


def run_tests(
    tree: Path | SharedTree,
    changes: TreeChanges,
    command: SuiteCommand,
    keep_going: Callable[[], bool] = lambda: True,
) -> SuiteRun:
    """Run the tests of the source tree `tree` with `changes`, which come from `patch_screening.keep_code`, and return what they showed.

    Blocks until the tests end, `command.seconds` pass or `keep_going` returns False; then every process of
    the tests is killed. A run without usable results has `failure` set. Raises NoSandbox, and PatchDoesNotApply when a link leads
    out of the tree.
    """
    with mount_tree(tree, changes) as mounts:
        return _run(mounts, command, keep_going)


def run_in_copy(
    copy: Path, command: SuiteCommand, keep_going: Callable[[], bool] = lambda: True
) -> SuiteRun:
    """Run the tests in the folder `copy`, which comes from `tree_copy.copy_tree`, like `run_tests`.

    Runs may share the folder at the same time, because they only read it. Raises NoSandbox.
    """
    return _run([(copy, Path())], command, keep_going)


def _run(tree: Sequence[Mount], command: SuiteCommand, keep_going: Callable[[], bool]) -> SuiteRun:
    if not keep_going():
        return build_failed_run(ENDED_BY_CALLER)
    key = secrets.token_bytes(32)
    output = bytearray()
    begin = time.monotonic()
    with _start(tree, command) as (process, report):
        try:
            _send_key(process, key)
            raw = _read_all(process, report, output, begin, command, keep_going)
        except _RunEnded as error:
            return build_failed_run(str(error), time.monotonic() - begin)
        finally:
            _kill(process)
    seconds = time.monotonic() - begin
    if not raw:
        return build_failed_run(f"the tests wrote no report: {_pick_line(output)}", seconds)
    lines = raw.removesuffix(b"\n").split(b"\n")
    if not command.report:
        run = read_run(lines, key, seconds)
        if run.failure and run.failure.endswith(ENDED_EARLY) and (line := _find_error(output)):
            return replace(run, failure=f"{run.failure}: {line}")
        return run
    run = read_junit_run(lines, key, seconds)
    return replace(run, failure=f"{run.failure} ({_pick_line(output)})") if run.failure else run


@contextmanager
def _start(
    tree: Sequence[Mount], command: SuiteCommand
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Start the sandbox, and yield its process and the reading end of its report."""
    with walls.open_filter() as filtering, ExitStack() as stack:
        reading, writing = os.pipe()
        report = stack.enter_context(open(reading, "rb", buffering=0))  # noqa: PTH123 - a number, not a path
        try:
            process = subprocess.Popen(
                _build_command(tree, command, writing, filtering),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(writing, filtering),
                env={},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(writing)
        with process:
            yield process, report


def _build_command(
    tree: Sequence[Mount], command: SuiteCommand, report: int, filtering: int
) -> list[str]:
    python = command.python or Path(sys.executable)
    mounts = [(path, path) for path in walls.list_python_folders(python)]
    mounts += [(host, _TREE / path) for host, path in tree]
    mounts.append((Path(inside.__file__).parent, _REPORTERS))
    reporter = str(_REPORTERS / f"run_{command.runner}.py")
    tests = [str(python), "-s", reporter, f"{report}", *command.arguments]
    # Any command finds the programs of the environment first.
    path = {"PATH": f"{python.parent}:{_VARIABLES['PATH']}"} if command.report else {}
    # First another user, then its limits: root would not be held to the number of processes.
    return walls.build_command(
        Walls(
            tuple(mounts),
            command.scratch_bytes,
            folder=_TREE,
            has_processes=True,
            leaves_root=True,
            variables={**_VARIABLES, **path, **command.variables},
            filter_handle=filtering,
        ),
        walls.leave_root(limits.build_command(command.limits, tests)),
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill bubblewrap and its process group. Its process namespace, with every process of the tests, dies with them."""
    # At its start bubblewrap has a second process, which waits for the first and does not yet die with it. Killing only
    # the first would leave the second waiting for ever.
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _send_key(process: subprocess.Popen[bytes], key: bytes) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(key.hex().encode() + b"\n")


def _read_all(
    process: subprocess.Popen[bytes],
    report: IO[bytes],
    output: bytearray,
    begin: float,
    command: SuiteCommand,
    keep_going: Callable[[], bool],
) -> bytes:
    """Return the whole report; keep the end of the output in `output`. Raises _RunEnded at a limit."""
    lines = bytearray()
    memory = MemoryLimit(process.pid, command.memory_bytes)
    with selectors.DefaultSelector() as selector:
        selector.register(report, selectors.EVENT_READ, lines)
        selector.register(process.stdout or report, selectors.EVENT_READ, output)
        while selector.get_map():
            left = begin + command.seconds - time.monotonic()
            if left <= 0:
                raise _RunEnded(f"the tests were ended after {command.seconds:g} s")
            if not keep_going():
                raise _RunEnded(ENDED_BY_CALLER)
            if memory.is_exceeded():
                raise _RunEnded(f"the tests used over {command.memory_bytes:,} bytes of memory")
            for key, _ in selector.select(min(left, _LOOK_SECONDS)):
                if chunk := os.read(key.fd, _CHUNK):
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            del output[:-_OUTPUT_TAIL_BYTES]
            if len(lines) > command.output_bytes:
                raise _RunEnded(f"the tests' report grew over {command.output_bytes:,} bytes")
    return bytes(lines)


def _find_error(output: bytes | bytearray) -> str:
    """Return the last error that pytest quotes, else the last line that starts with `ERROR`, shortened; "" without one."""
    lines = output.decode(errors="replace").splitlines()
    errors = (line for line in reversed(lines) if _ERROR.match(line))
    line = max(errors, key=lambda line: line.startswith("E "), default="")
    shown = "".join(filter(str.isprintable, line.removeprefix("E ")))
    return shown.strip()[:_ERROR_CHARACTERS]


def _pick_line(output: bytes | bytearray) -> str:
    """Return the last line of the output if it holds `error`, else the first that does, else the last; safe to show."""
    lines = output.decode(errors="replace").strip().splitlines()
    last = lines[-1] if lines else "they wrote nothing"
    complaint = next((line for line in [last, *lines] if "error" in line.lower()), last)
    return escape_invisible(complaint.strip()[:300])
