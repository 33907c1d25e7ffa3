"""Two trainers that are started on one folder: the second is told of the first, and the folder is free when it ends."""

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.builders.models import training_runs
from tests.services import ROOT
from training.commands import run
from training.runs.run_folder import BadRun
from training.runs.run_lock import LOCK, RunLocked, is_empty_run, lock_run

HOLD = """
import sys
from pathlib import Path
from training.runs.run_lock import lock_run
with lock_run(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process in the folder."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_second_trainer_is_refused_until_the_first_ends(tmp_path, holder):
    folder = tmp_path / "run"
    with (
        pytest.raises(RunLocked, match=f"trained in by process {holder.pid} on ") as refused,
        lock_run(folder),
    ):
        pass
    assert str(refused.value).endswith("; wait until it ends, or end it")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with lock_run(folder):
        assert f"process {os.getpid()} on " in (folder / LOCK).read_text()


def test_locked_run_exits_with_try_again(tmp_path, holder):
    data = training_runs.write_dataset(tmp_path / "data")
    arguments = ["cpu-smoke", "--dataset", str(data), "--run", str(tmp_path / "run"), "--resume"]
    result = CliRunner().invoke(run.app, arguments)
    assert result.exit_code == 5
    assert f"trained in by process {holder.pid}" in " ".join(result.output.split())


def test_empty_run_folder_is_removed(tmp_path):
    folder = tmp_path / "runs" / "first"
    with lock_run(folder):
        assert is_empty_run(folder)
    assert not folder.exists()
    with lock_run(folder):
        (folder / "plan.toml").touch()
    assert not is_empty_run(folder)
    with lock_run(folder):
        assert (folder / "plan.toml").exists()


def test_unlockable_folder_is_reported_with_the_fix(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with (
        pytest.raises(BadRun, match=r"can't be locked \(No locks available\); use a file system"),
        lock_run(tmp_path / "run"),
    ):
        pass
