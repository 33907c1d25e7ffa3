"""A folder in which somebody starts the bot is no place to import from: it may be a stranger's checkout."""

import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import httpx
import pytest

from app.settings import build_child_environment
from tests.services import free_port, wait_for
from worker.learning.launchers.local import Local
from worker.learning.launchers.slurm import Slurm

OURS = ("app", "worker", "model", "training", "migrations")
OTHERS = ("celeryconfig", "sitecustomize", "usercustomize", *sys.stdlib_module_names)
SCRIPT = Path(sys.executable).parent / "r4p"


@pytest.fixture
def hostile(tmp_path):
    """A folder with a file for every module that the bot could import; each leaves its name in `ran`."""
    folder, ran = tmp_path / "folder", tmp_path / "ran"
    folder.mkdir()
    ran.mkdir()
    code = f"open({str(ran)!r} + '/' + __name__.replace('/', '_'), 'w').close()\n"
    for name in {*OURS, *OTHERS, *packages_distributions()}:
        if name.isidentifier():
            (folder / f"{name}.py").write_text(f"{code}raise SystemExit('the folder ran')\n")
    return folder


def names_run(hostile):
    return sorted(path.name for path in (hostile.parent / "ran").iterdir())


def test_a_file_of_that_folder_would_be_seen(hostile):
    subprocess.run([sys.executable, "-m", "training"], cwd=hostile, check=False)
    assert names_run(hostile) != []


@pytest.mark.services
def test_the_whole_bot_runs_none_of_it(hostile, tmp_path):
    port = free_port()
    command = [SCRIPT, "up", "--data", tmp_path / "data", "--port", str(port)]
    settings = {
        "R4P_APP_ID": "7",
        "R4P_PRIVATE_KEY": "-----BEGIN RSA PRIVATE KEY-----",
        "R4P_WEBHOOK_SECRET": "secret",
        "R4P_VERIFIER": "consensus",
        "R4P_CALIBRATE_SECONDS": "1",  # a worker starts a child for it
    }
    with (
        (tmp_path / "up.log").open("wb") as log,
        subprocess.Popen(
            command, cwd=hostile, env=build_child_environment(settings), stdout=log, stderr=log
        ) as bot,
    ):
        try:
            wait_for(lambda: bot.poll() is not None or is_complete(tmp_path, port), 90)
        finally:
            bot.terminate()
    assert names_run(hostile) == []
    assert has_worked(tmp_path)


def is_complete(folder, port):
    """Whether the web process answers, every worker has begun, and a job of the clock's came to its end."""
    try:
        answers = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=2).is_success
    except httpx.TransportError:
        return False
    return answers and has_worked(folder)


def has_worked(folder):
    logs = {path.stem: path.read_text() for path in (folder / "data/logs").glob("*.log")}
    workers = [logs.get(name, "") for name in ("github", "verify", "agents")]
    return all(" ready." in log for log in workers) and "calibrators: {" in logs["github"]


def test_a_launcher_of_several_processes_imports_none_of_it(hostile):
    settings = {"R4P_TRAIN_WITH": sys.executable}
    ran = subprocess.run(
        [SCRIPT, "train", "run", "--help"],
        cwd=hostile,
        env=build_child_environment(settings),
        capture_output=True,
        check=False,
    )
    assert names_run(hostile) == []
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("launcher", [Local(), Slurm(0)], ids=["local", "slurm"])
def test_a_training_imports_none_of_it(hostile, launcher):
    command = [*launcher.program, "train", "status", "--help"]
    ran = subprocess.run(command, cwd=hostile, capture_output=True, check=False)
    assert names_run(hostile) == []
    assert ran.returncode == 0, ran.stderr
