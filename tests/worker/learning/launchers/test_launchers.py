"""Every launcher carries the same training through; schedulers are stand-ins on PATH that run what they are given."""

import threading
from functools import partial

import pytest

from app.db.session import transaction
from app.db.store.queue import jobs
from app.learning.training_plan import TrainingState
from model.errors import EngineDown
from tests.builders.job_attempts import carry_out
from tests.worker.learning import trainings
from tests.worker.learning.launchers.launchers import build_launcher
from tests.worker.learning.trainings import JOB, PROGRAM, last, starts
from worker.learning.launchers.slurm import Slurm
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services


def test_a_cluster_trains_what_is_killed_once(database, database_url, tmp_path, launcher):
    handler = partial(trainings.handler, tmp_path / "trainings", database_url)
    carry_out(database, handler({"die_at": [2]}, launcher=launcher), JOB)
    found = last(database)
    assert (found.state, found.progress["step"]) == (TrainingState.FINISHED, 6)
    assert len(starts(found)) == 2


def test_a_task_that_outlives_its_worker_is_found_again(database, database_url, tmp_path, launcher):
    handler = partial(trainings.handler, tmp_path / "trainings", database_url, launcher=launcher)
    stopping = threading.Event()
    with trainings.interrupt(database, handler({"slow": 0.4}), stopping) as (claimed, _):
        stopping.set()
    left = last(database)
    assert (left.state, left.launches) == (TrainingState.RUNNING, 1)
    assert jobs.finish(database, claimed)
    carry_out(database, handler({"slow": 0.4}), JOB)
    assert last(database).state is TrainingState.FINISHED
    assert len(starts(left)) == 1


def test_a_scheduler_without_its_command_fails_the_training_with_the_fix(
    database, database_url, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    handler = trainings.handler(
        tmp_path / "trainings", database_url, launcher=build_launcher("slurm", tmp_path)
    )
    carry_out(database, handler, JOB)
    found = last(database)
    assert found.state is TrainingState.FAILED
    assert "`squeue` is not on PATH" in found.why
    assert "R4P_TRAIN_LAUNCHER" in found.why


@pytest.mark.parametrize(
    ("name", "submits", "taken"),
    [("slurm", "sbatch", True), ("slurm", "sbatch", False), ("kubernetes", "kubectl", False)],
)
def test_a_cluster_that_takes_nothing_now_is_asked_later(
    database, database_url, tmp_path, state, name, submits, taken
):
    real = (tmp_path / "bin" / submits).read_text()
    first = "" if not taken else real.splitlines()[1].removeprefix("exec ") + " >/dev/null\n"
    said = "echo Socket timed out on send/recv operation >&2; exit 1"
    (tmp_path / "bin" / submits).write_text(f"#!/bin/sh\n{first}{said}\n")
    handler = trainings.handler(
        tmp_path / "trainings", database_url, {"slow": 0.2}, launcher=build_launcher(name, tmp_path)
    )
    with pytest.raises(Postponed, match="ended with 1: Socket timed out on send/recv operation"):
        carry_out(database, handler, JOB)
    left = last(database)
    assert (left.state, left.launches) == (TrainingState.RUNNING, 0)
    assert "Socket timed out" in left.why
    with transaction(database) as connection:
        jobs.supersede(connection, [JOB.key])
    (tmp_path / "bin" / submits).write_text(real)
    carry_out(database, handler, JOB)
    assert last(database).state is TrainingState.FINISHED
    assert len(starts(left)) == 1


def test_options_that_a_cluster_never_takes_end_the_training(
    database, database_url, tmp_path, state
):
    wrong = Slurm(1, "--partition=nowhere", PROGRAM)
    carry_out(
        database, trainings.handler(tmp_path / "trainings", database_url, launcher=wrong), JOB
    )
    assert last(database).state is TrainingState.FAILED
    assert "invalid partition specified: nowhere" in last(database).why


def test_on_a_cluster_an_evaluation_waits_for_its_engine(
    database, database_url, tmp_path, launcher
):
    down = trainings.handler(
        tmp_path / "trainings",
        database_url,
        {"die_at": ["evaluate"], "down": 2},
        launcher=launcher,
        train_shared_seconds=0.5,
    )
    for _ in range(2):
        with pytest.raises(EngineDown, match="nobody answers at"):
            carry_out(database, down, JOB)
        with transaction(database) as connection:
            jobs.supersede(connection, [JOB.key])
    carry_out(database, down, JOB)
    assert last(database).state is TrainingState.FINISHED
    assert len(starts(last(database))) == 1


def test_on_a_cluster_a_command_that_refuses_is_not_tried_again(
    database, database_url, tmp_path, launcher
):
    handler = trainings.handler(
        tmp_path / "trainings", database_url, {"refuse": "no dataset"}, launcher=launcher
    )
    carry_out(database, handler, JOB)
    assert last(database).why == "evaluate: exit code 2: no dataset"
    assert last(database).launches == 1
