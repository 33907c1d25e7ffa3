"""What an operator sets reaches the commands of a training; datasets are built by the real one."""

import json
import sys

import pytest

from app.jobs.job import OF_THE_APP
from app.jobs.learning_jobs import TrainModel
from app.learning.training_plan import LauncherKind, Training, TrainingStage, TrainingState
from app.settings import TrainSettings
from model.errors import EngineDown
from tests.builders.job_attempts import carry_out
from tests.services import free_port
from tests.stories import learnable_repository
from tests.worker.learning import trainer, trainings
from tests.worker.learning.trainings import last
from training.datasets import dataset
from worker.learning.launchers.local import Local
from worker.learning.stages import build_task

pytestmark = pytest.mark.services

ASKED = TrainModel(OF_THE_APP, asked=True)


def issues(training):
    held = dataset.read_manifest(training.dataset)
    return {
        one.issue for split in held.splits for one in dataset.read_split(training.dataset, split)
    }


def test_nothing_is_learnt_of_what_is_measured_on_elsewhere(
    database, database_url, tmp_path, monkeypatch
):
    groups = learnable_repository.write_labelled_groups(tmp_path / "groups.jsonl", 24)
    apart = groups.read_text().splitlines(keepends=True)[:3]
    for number, line in enumerate(apart):
        (tmp_path / f"{number}.jsonl").write_text(line)
    monkeypatch.setenv("R4P_TRAIN_DATASET_ARGS", f"--groups {groups}")

    def learn(name, *measured_on):
        if measured_on:
            monkeypatch.setenv(
                "R4P_TRAIN_MEASURED_ON", json.dumps([str(one) for one in measured_on])
            )
        folder = tmp_path / name
        handler = trainings.handler(folder, database_url, manifest=None)
        carry_out(database, handler, ASKED)
        assert last(database).state is TrainingState.FINISHED, last(database).why
        return issues(last(database))

    all_of_them = learn("all")
    kept = learn("kept", *(tmp_path / f"{number}.jsonl" for number in range(3)))
    assert len(all_of_them - kept) == 3
    assert kept < all_of_them


@pytest.mark.parametrize("code", [2, 5])
def test_several_processes_end_a_run_as_one_does(
    database, database_url, tmp_path, monkeypatch, code
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    several = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--")
    launcher = Local((sys.executable, *several, trainer.__file__))
    handler = trainings.handler(
        tmp_path / "trainings", database_url, {"exit": code}, launcher=launcher
    )
    if code == 5:
        with pytest.raises(EngineDown, match=r"^the plan cpu-smoke is not there$"):
            carry_out(database, handler, ASKED)
    else:
        carry_out(database, handler, ASKED)
        assert last(database).why == "run: exit code 2: the plan cpu-smoke is not there"
    assert last(database).launches == (0 if code == 5 else 1)


def test_a_builder_without_its_database_is_asked_later(database, tmp_path):
    nowhere = f"postgresql://127.0.0.1:{free_port()}/r4p"
    handler = trainings.handler(tmp_path / "trainings", nowhere, manifest=None)
    with pytest.raises(EngineDown, match="Connection refused"):
        carry_out(database, handler, ASKED)
    assert (last(database).state, last(database).launches) == (TrainingState.RUNNING, 0)


def test_a_candidate_is_measured_by_the_rules_in_force(tmp_path):
    training = Training(
        1,
        TrainingState.RUNNING,
        TrainingStage.EVALUATE,
        "",
        "plan",
        tmp_path,
        LauncherKind.SUBPROCESS,
    )
    settings = TrainSettings(
        gate_margin=0.01, gate_least_issues=60, train_evaluate_args="--votes 8"
    )
    asked = build_task(training, settings, {}, ("--model", "base")).arguments
    assert asked[-6:] == ("--model", "base", "--margin=0.01", "--least-issues=60", "--votes", "8")
