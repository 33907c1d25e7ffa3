"""A process that is shut in is ended with all it started, and nobody else ever is."""

import os
from pathlib import Path

from model.sandbox.sandboxed_process import SandboxedProcess
from tests.services import wait_for


def test_a_reaped_process_is_not_killed_again(monkeypatch):
    ended = []
    with SandboxedProcess(["/bin/sh", "-c", "exec 1>&-; exit 7"], 30) as process:
        assert list(process.read_lines()) == []
        assert process.wait_for_exit() == 7
        monkeypatch.setattr(os, "killpg", lambda number, _signal: ended.append(number))
        process.kill()
    assert ended == []


def test_a_sandboxed_process_ends_with_its_children():
    code = "sleep 60 >/dev/null 2>&1 & echo $!; exec 1>&-"
    with SandboxedProcess(["/bin/sh", "-c", code], 30) as process:
        (raw,) = process.read_lines()
        assert process.wait_for_exit() == 0
    wait_for(lambda: not _is_running(int(raw)), 10)


def _is_running(number):
    try:
        with Path(f"/proc/{number}/stat").open() as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
