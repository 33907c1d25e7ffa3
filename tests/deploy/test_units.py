"""systemd and SLURM: units that systemd itself accepts, and a script that runs to its end."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app.jobs.job import Queue
from app.settings import list_known_names
from tests.deploy.test_compose import LEAST_STOP_SECONDS

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
TEXTS = {path.name: path.read_text() for path in UNITS}
SLURM = DEPLOY / "slurm" / "train.sbatch"


def test_systemd_accepts_every_unit(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed: apt install systemd")
    for name, text in TEXTS.items():
        # The program is not installed here.
        (tmp_path / name).write_text(text.replace("/opt/r4p/bin/r4p", "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(f"./{name}" for name in TEXTS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in verified.stderr.splitlines() if "r4p" in line]
    assert (verified.returncode, ours) == (0, [])


def test_every_process_has_a_unit():
    started = re.findall(
        r"^ExecStart=/opt/r4p/bin/r4p (.+)$", "\n".join(TEXTS.values()), re.MULTILINE
    )
    named = [words.split()[2] for words in started if words.startswith("worker --queues")]
    instances = re.findall(r"r4p-(?:worker|sandbox)@(\w+)", "\n".join(TEXTS.values()))
    queues = {queue for names in [*named, *instances] for queue in names.split(",")} - {"%i"}
    assert queues == set(Queue)
    commands = {words.split()[0] for words in started}
    assert commands == {"up", "migrate", "serve", "beat", "worker"}


def test_every_process_of_a_unit_has_time_to_stop():
    """`r4p migrate` runs once and ends by itself."""
    running = {name: text for name, text in TEXTS.items() if "\nRestart=" in text}
    stops = {
        name: re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
        for name, text in running.items()
    }
    assert len(stops) >= 7
    assert [name for name, (seconds,) in stops.items() if int(seconds) < LEAST_STOP_SECONDS] == []


def test_each_unit_gets_the_secrets_of_its_own_work():
    """A file of secrets for each process, and a key only where it is used."""
    files = {
        name: re.findall(r"^EnvironmentFile=/etc/r4p/([^.]+)\.env$", text, re.MULTILINE)
        for name, text in TEXTS.items()
    }
    own = {name: [one for one in these if one != "settings"] for name, these in files.items()}
    assert own.pop("r4p.target") == []
    assert own.pop("r4p-up.service") == ["secrets"]
    expected = {name: [re.split(r"[-@.]", name)[1]] for name in own}
    expected |= {"r4p-worker@.service": ["%i"], "r4p-sandbox@.service": ["%i"]}
    assert own == expected
    with_key = {name for name, text in TEXTS.items() if "LoadCredential" in text}
    assert with_key == {"r4p-github.service", "r4p-writer.service"}


def test_every_setting_of_a_unit_exists():
    named = set(re.findall(r"\bR4P_[A-Z_]+", "\n".join([*TEXTS.values(), SLURM.read_text()])))
    assert named <= list_known_names()


def test_nothing_covers_proc_where_a_sandbox_mounts_its_own():
    """The kernel refuses a new /proc where a part of the old one is covered."""
    covering = ("ProtectKernelLogs", "ProtectKernelTunables", "ProtectProc", "RestrictNamespaces")
    for name in ("r4p-sandbox@.service", "r4p-up.service"):
        assert not [word for word in covering if f"\n{word}=" in TEXTS[name]]


@pytest.fixture
def run_script(tmp_path):
    """`run_script(*arguments)`: the SLURM script with an `srun` that runs its command here."""
    (tmp_path / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (tmp_path / "r4p").write_text('#!/bin/sh\necho "$R4P_TRAIN_WITH|$*"\nexit 7\n')
    for name in ("srun", "r4p"):
        (tmp_path / name).chmod(0o755)

    def run(*arguments, **variables):
        return subprocess.run(
            ["bash", str(SLURM), *map(str, arguments)],
            env={"PATH": f"{tmp_path}:{os.defpath}", "R4P": "r4p", **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_script_starts_a_training_and_continues_it(run_script, tmp_path):
    first = run_script("plan", "/dataset", tmp_path / "run", "--tensorboard")
    assert first.returncode == 7
    expected = f"train run plan --dataset /dataset --run {tmp_path}/run"
    assert first.stdout == f"|{expected} --tensorboard\n"
    (tmp_path / "run").mkdir()
    second = run_script("plan", "/dataset", tmp_path / "run", SLURM_GPUS_ON_NODE="4")
    accelerate = "accelerate launch --multi_gpu --num_processes 4"
    assert second.stdout == f"{accelerate}|{expected} --resume\n"


def test_the_script_names_what_is_missing(run_script):
    short = run_script("plan")
    assert (short.returncode, "give PLAN DATASET RUN" in short.stderr) == (2, True)
    lost = run_script("plan", "d", "r", R4P="/no/such/r4p")
    assert (lost.returncode, "/no/such/r4p is no program" in lost.stderr) == (2, True)
