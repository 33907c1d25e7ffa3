"""What `r4p train status` and /metrics say of trainings, and how one is begun by hand."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.db.session import transaction
from app.db.store.models import trainings
from app.jobs.job import OF_THE_APP
from app.jobs.learning_jobs import TrainModel
from app.learning.training_plan import (
    LabelCounts,
    LauncherKind,
    Training,
    TrainingStage,
    TrainingState,
)
from app.operator import training_status
from app.web.stored_metrics import build_training_metrics
from tests.builders.job_attempts import waiting

NOW = datetime(2026, 11, 22, 5, tzinfo=UTC)
STEP = {"step": 3, "of": 20, "reward": 0.53125, "entropy": None, "loss": "NaN"}


@pytest.fixture
def settings(database_url, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("R4P_TRAIN_PLAN", "cpu-smoke")


@pytest.fixture
def two_trainings(settings, database):
    """One that was skipped and one that runs."""
    with transaction(database) as connection:
        first = trainings.begin(
            connection, "cpu-smoke", "digest", Path("/trainings"), LauncherKind.SUBPROCESS
        )
        trainings.end(connection, first, TrainingState.SKIPPED, "12 issues are new [of 50]")
        second = trainings.begin(
            connection, "cpu-smoke", "digest", Path("/trainings"), LauncherKind.SLURM
        )
        second = trainings.reach_stage(
            connection, second, TrainingStage.RUN, LabelCounts(60, 80, 160)
        )
        trainings.record_progress(connection, second, STEP)


@pytest.mark.services
def test_trainings_are_shown_with_how_far_they_are(two_trainings, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert training_status.show(as_json=False) == 0
    shown = capsys.readouterr().out
    assert "running: run" in shown
    assert "step 3 of 20, reward 0.531" in shown
    assert "12 issues are new [of 50]" in shown


@pytest.mark.services
def test_trainings_are_printed_as_json_for_machines(two_trainings, capsys):
    assert training_status.show(as_json=True) == 0
    second, first = json.loads(capsys.readouterr().out)
    assert (second["state"], second["stage"], second["launcher"]) == ("running", "run", "slurm")
    assert second["labels"] == {"issues": 60, "correct": 80, "incorrect": 160}
    assert second["progress"] == STEP
    assert second["folder"] == f"/trainings/{second['id']:06}"
    assert (first["state"], first["labels"]) == ("skipped", None)


@pytest.mark.services
def test_training_status_without_a_plan_names_the_setting(settings, capsys, monkeypatch):
    training_status.show(as_json=False)
    assert "to start now: r4p train start" in capsys.readouterr().out
    monkeypatch.delenv("R4P_TRAIN_PLAN")
    training_status.show(as_json=False)
    assert "R4P_TRAIN_PLAN is not set" in capsys.readouterr().out
    assert training_status.start() == 2


@pytest.mark.services
def test_a_training_is_begun_by_hand(settings, database):
    assert training_status.start() == 0
    assert training_status.start() == 0
    assert waiting(database) == [TrainModel(OF_THE_APP, asked=True)]


@pytest.mark.services
def test_a_single_training_runs_and_the_last_skipped_one_is_kept(two_trainings, database):
    with transaction(database) as connection:
        running = trainings.find_running(connection)
        trainings.end(connection, running, TrainingState.SKIPPED, "later")
        assert [one.why for one in trainings.list_newest(connection)] == ["later"]
        assert trainings.find_last_learnt(connection, "digest") is None


def build_training(state, beat_at=NOW, **more):
    folder = Path("/trainings/000007")
    stage, launcher = TrainingStage.RUN, LauncherKind.SLURM
    return Training(7, state, stage, "", "plan", folder, launcher, beat_at=beat_at, **more)


def test_metrics_tell_the_state_the_silence_and_the_newest_step():
    running = build_training(TrainingState.RUNNING, progress=STEP)
    assert samples(build_training_metrics(running, NOW + timedelta(seconds=90))) == [
        ("r4p_training", 1, {"stage": "run", "state": "running"}),
        ("r4p_training_beat_seconds", 90.0, {}),
        ("r4p_training_metric", 3, {"name": "step"}),
        ("r4p_training_metric", 20, {"name": "of"}),
        ("r4p_training_metric", 0.53125, {"name": "reward"}),
    ]
    assert samples(build_training_metrics(build_training(TrainingState.FAILED), NOW)) == [
        ("r4p_training", 1, {"stage": "run", "state": "failed"})
    ]
    assert samples(build_training_metrics(None, NOW)) == []


def samples(metrics):
    return [
        (sample.name, sample.value, sample.labels)
        for metric in metrics
        for sample in metric.samples
    ]


@pytest.mark.parametrize(
    ("minutes", "state", "note"),
    [
        (4, TrainingState.RUNNING, ""),
        (
            61,
            TrainingState.RUNNING,
            "no worker has worked on it for 61 minutes; is a worker on the queue train?",
        ),
        (61, TrainingState.FAILED, ""),
    ],
)
def test_a_training_that_was_left_is_told(minutes, state, note):
    now = NOW + timedelta(minutes=minutes)
    assert training_status._note_silence(build_training(state), now) == note


def test_no_progress_is_no_words():
    assert training_status.format_progress(build_training(TrainingState.RUNNING)) == ""
