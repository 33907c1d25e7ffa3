"""Run a test command once on a patched copy of a tree, in the sandbox, and read its signed report."""

import os
import secrets
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Final

from model.execution import inside
from model.execution.result_stream import read_run
from model.execution.suite_command import SuiteCommand
from model.execution.suite_run import SuiteRun, build_failed_run
from model.execution.tree_changes import TreeChanges
from model.prompts.untrusted import escape_invisible
from model.sandbox import limits, seccomp_filter, walls
from model.sandbox.walls import NOBODY, SCRATCH, Walls

_BASE, _CHANGES, _REPORTERS = Path("/base"), Path("/changes"), Path("/reporters")
_TREE: Final = SCRATCH / "tree"
_VARIABLES: Final = {
    "HOME": str(SCRATCH),
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}
_PREPARE: Final = f"""
set -e
cp -dR {_BASE} {_TREE}
cp -dR {_CHANGES}/files/. {_TREE}
cd {_TREE}
xargs -0 -r rm -f -- <{_CHANGES}/deleted
if [ "$(id -u)" = 0 ]; then chown -hR {NOBODY}:{NOBODY} .; fi
exec "$@"
"""
"""Copies the base into memory, lays the changed files over it, and runs the tests there."""
_CHUNK: Final = 65_536
_LAST_WORDS: Final = 4_096


class _RunEnded(Exception):
    """The run reached a limit; the message says which."""


def run_tests(tree: Path, changes: TreeChanges, command: SuiteCommand) -> SuiteRun:
    """Run the tests of the folder `tree` with `changes`, which come from `keep_code`, and return what they showed.

    The call blocks until the tests end or `command.seconds` are over. Then no process of them is left. A run that says
    nothing has a `failure`. Raises NoSandbox.
    """
    key = secrets.token_bytes(32)
    begin = time.monotonic()
    output = bytearray()
    with _write_changes(changes) as folder, _start(tree, folder, command) as handles:
        process, report = handles
        try:
            _send_key(process, key)
            raw = _read_all(process, report, output, begin + command.seconds, command.output_bytes)
        except _RunEnded as error:
            return build_failed_run(f"{error} {command.seconds:g} s", time.monotonic() - begin)
        finally:
            process.kill()  # bubblewrap holds a process namespace, which dies with it
    seconds = time.monotonic() - begin
    if not raw:
        return build_failed_run(_describe_silence(bytes(output)), seconds)
    return read_run(raw.removesuffix(b"\n").split(b"\n"), key, seconds)


@contextmanager
def _write_changes(changes: TreeChanges) -> Iterator[Path]:
    """Yield a folder with the new content of the changed files, and the list of the deleted ones."""
    with TemporaryDirectory(prefix="r4p-tests-") as home:
        (files := Path(home) / "files").mkdir()
        for path, content in changes.written.items():
            (file := files / path).parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (Path(home) / "deleted").write_bytes(
            b"".join(os.fsencode(f"{path}\0") for path in changes.deleted)
        )
        yield Path(home)


@contextmanager
def _start(
    tree: Path, folder: Path, command: SuiteCommand
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Start the sandbox, and yield its process and the reading end of its report."""
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as report, _open_filter() as filtering:  # noqa: PTH123 - a number, not a path
        try:
            process = subprocess.Popen(
                _build_command(tree, folder, command, writing, filtering),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(writing, *([] if filtering is None else [filtering])),
                env={},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(writing)
        with process:
            yield process, report


@contextmanager
def _open_filter() -> Iterator[int | None]:
    """Yield a file that holds the filter of system calls; None on a machine that it does not support."""
    code = seccomp_filter.build_filter(has_sockets=True)
    if code is None:
        yield None
        return
    with TemporaryFile() as file:
        file.write(code)
        file.seek(0)
        yield file.fileno()


def _build_command(
    tree: Path, folder: Path, command: SuiteCommand, report: int, filtering: int | None
) -> list[str]:
    python = command.python or Path(sys.executable)
    mounts = [(path, path) for path in walls.list_python_folders(python)]
    mounts += [(tree.resolve(), _BASE), (folder, _CHANGES)]
    mounts += [(Path(inside.__file__).parent, _REPORTERS)]
    reporter = str(_REPORTERS / f"run_{command.runner}.py")
    tests = [str(python), "-s", reporter, f"{report}", *command.arguments]
    limited = walls.leave_root(limits.build_command(command.limits, tests))
    return walls.build_command(
        Walls(
            tuple(mounts),
            command.scratch_bytes,
            has_processes=True,
            leaves_root=True,
            variables={**_VARIABLES, **command.variables},
            filter_handle=filtering,
        ),
        ["/bin/sh", "-c", _PREPARE, "sh", *limited],
    )


def _send_key(process: subprocess.Popen[bytes], key: bytes) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(key.hex().encode() + b"\n")


def _read_all(
    process: subprocess.Popen[bytes],
    report: IO[bytes],
    output: bytearray,
    deadline: float,
    most: int,
) -> bytes:
    """Return the whole report; keep the end of the output in `output`. Raises _RunEnded at a limit."""
    lines = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(report, selectors.EVENT_READ, lines)
        selector.register(process.stdout or report, selectors.EVENT_READ, output)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if time.monotonic() >= deadline:
                raise _RunEnded("the tests were ended after")
            for key, _ in ready:
                if chunk := os.read(key.fd, _CHUNK):
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            del output[:-_LAST_WORDS]
            if len(lines) > most:
                raise _RunEnded(f"the tests' report grew over {most:,} bytes within")
    return bytes(lines)


def _describe_silence(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    last = lines[-1] if lines else "they wrote nothing"
    complaint = next((line for line in lines if "error" in line.lower()), last)
    return f"the tests did not start: {escape_invisible(complaint[:300])}"
