"""Stand-ins for schedulers on PATH, and a task for them."""

import os
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.worker.learning.launchers import cluster
from tests.worker.learning.launchers.launchers import SCHEDULERS, build_launcher, executable
from tests.worker.learning.trainings import PROGRAM
from worker.learning.launchers.task import LaunchTask


@pytest.fixture
def state(tmp_path, monkeypatch):
    """What the schedulers know; their commands, and `r4p`, are first on PATH."""
    bin_, folder = tmp_path / "bin", tmp_path / "state"
    bin_.mkdir()
    folder.mkdir()
    for command in cluster.COMMANDS.keys() - {"watch"}:
        inner = shlex.join([sys.executable, cluster.__file__, str(folder), command])
        executable(bin_ / command, inner)
    executable(bin_ / "r4p", shlex.join(PROGRAM))
    monkeypatch.setenv("PATH", f"{bin_}:{Path(sys.executable).parent}:/usr/bin:/bin")
    yield folder
    for pid in folder.glob("*.pid"):
        with suppress(ProcessLookupError):
            os.kill(int(pid.read_text()), signal.SIGKILL)


@pytest.fixture(params=SCHEDULERS)
def launcher(request, state, tmp_path):
    return build_launcher(request.param, tmp_path)


@pytest.fixture
def task(tmp_path):
    (tmp_path / "trainings" / "000001").mkdir(parents=True)
    (tmp_path / "trainings" / "faults.json").write_text('{"slow": 5}')
    folder = tmp_path / "trainings" / "000001"
    arguments = ("train", "run", "cpu-smoke", "--dataset", "d", "--run", str(folder / "run"))
    return LaunchTask("r4p-1-run-1", arguments, folder, {"R4P_MODEL_DIR": "/a model's folder"})
