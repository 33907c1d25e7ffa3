"""Trainings are carried through, taken over, and told of when they fail; the children are real processes."""

import json
import shutil
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.db.session import transaction
from app.db.store.models import trainings as store
from app.db.store.queue import jobs
from app.jobs.job import Planned
from app.learning.training_plan import LAUNCHES, LabelCounts, TrainingStage, TrainingState
from model.errors import EngineDown
from tests.builders.job_attempts import carry_out
from tests.worker.learning import trainer, trainings
from tests.worker.learning.trainings import ASKED, JOB, last, starts
from worker.learning.launchers.local import Local
from worker.learning.train_model import plan_training
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services


@pytest.fixture
def handler(tmp_path, database_url):
    """`handler(faults, manifest, **settings)`: one whose trainer has these faults."""
    return partial(trainings.handler, tmp_path / "trainings", database_url)


def test_a_training_goes_through_its_stages_and_shows_how_far_it_is(database, handler):
    carry_out(database, handler(), JOB)
    found = last(database)
    assert (found.state, found.stage, found.why) == (
        TrainingState.FINISHED,
        TrainingStage.REGISTER,
        "it passed",
    )
    assert found.model == "r4p-20261122-0badcafe"
    assert found.labels == LabelCounts(issues=90, correct=120, incorrect=120, test=30)
    assert found.progress["step"] == trainer.STEPS
    assert len(starts(found)) == 1


def test_a_worker_that_dies_at_any_moment_leaves_one_training_that_is_gone_on_with(
    twice, database, handler, tmp_path
):
    patient = replace(handler(), look_seconds=0.3)

    def arrange(_database):
        for run in (tmp_path / "trainings").glob("*/run"):
            shutil.rmtree(run)
        return JOB

    def observe(database):
        with transaction(database) as connection:
            (found,) = store.list_newest(connection)
        lines = (found.run / "metrics.jsonl").read_text().splitlines()
        steps = {json.loads(line)["step"] for line in lines}
        return found.state, found.why, found.model, found.labels, steps

    left = twice(patient, arrange, observe)
    assert left[0] is TrainingState.FINISHED
    assert left[-1] == set(range(1, trainer.STEPS + 1))


@pytest.mark.parametrize("points", [[1], [4], [6], [1, 2, 5], ["evaluate"]], ids=str)
def test_a_trainer_that_is_killed_is_resumed_where_it_was(database, handler, points):
    carry_out(database, handler({"die_at": points}), JOB)
    found = last(database)
    assert found.state is TrainingState.FINISHED
    killed = [point for point in points if point != "evaluate"]
    assert [("--resume" in line) for line in starts(found)] == [False] + [True] * len(killed)


@pytest.mark.parametrize(
    ("faults", "why", "launches"),
    [
        ({"always_die_at": [3]}, f"run was started {LAUNCHES} times and died each time", LAUNCHES),
        ({"always_die_at": [3]}, "killed by SIGKILL (out of memory?)", LAUNCHES),
        ({"raise_at": 3}, "at last: exit code 1; it said: ", LAUNCHES),
        ({"raise_at": 3}, "KeyError: 'loss'", LAUNCHES),
        ({"fail": "loss is NaN at step 4"}, "loss is NaN at step 4", 1),
        ({"exit": 2}, "run: exit code 2: the plan cpu-smoke is not there", 1),
        ({"die_at": [3], "refuse_resume": "another plan"}, "run: exit code 2: another plan", 2),
        ({"refuse": "no dataset"}, "evaluate: exit code 2: no dataset", 1),
        ({"silent": True}, "it succeeded but left no result in", 1),
    ],
    ids=[
        *("always dies", "always dies, by a signal", "raises", "raises, with its traceback"),
        *("diverges", "refuses", "refuses to resume", "refuses to evaluate", "leaves no result"),
    ],
)
def test_a_training_that_fails_tells_why_after_the_launches_it_deserves(
    database, handler, faults, why, launches
):
    carry_out(database, handler(faults), JOB)
    training = last(database)
    assert training.state is TrainingState.FAILED
    assert why in training.why
    assert training.launches == launches


def test_a_model_that_fails_the_gate_is_kept_as_rejected(database, handler):
    carry_out(database, handler({"gate": "failed"}), JOB)
    found = last(database)
    assert (found.state, found.why, found.model) == (
        TrainingState.REJECTED,
        "it failed",
        "r4p-20261122-0badcafe",
    )


def test_without_an_engine_to_measure_by_the_training_waits_and_goes_on(database, handler):
    down = handler({"down": 7})
    for _ in range(7):
        with pytest.raises(EngineDown, match="nobody answers at http://vllm:8000/v1"):
            carry_out(database, down, JOB)
        with transaction(database) as connection:
            jobs.supersede(connection, [JOB.key])
    assert (last(database).state, last(database).stage) == (
        TrainingState.RUNNING,
        TrainingStage.EVALUATE,
    )
    carry_out(database, down, JOB)
    assert last(database).state is TrainingState.FINISHED
    assert len(starts(last(database))) == 1


def test_an_empty_corpus_is_skipped_by_the_real_builder(database, handler):
    carry_out(database, handler(manifest=None), ASKED)
    found = last(database)
    assert (found.state, found.stage) == (TrainingState.SKIPPED, TrainingStage.DATASET)
    assert found.why.startswith("r4p train dataset:")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"train_plan": "reward-model"}, "reward-model trains no adapter for judging"),
        ({"train_plan": "guided-dpo"}, 'set R4P_TRAIN_RUN_ARGS="--material FILE"'),
        ({"train_plan": "cpu-smok"}, "plan cpu-smok can't be read"),
        ({"train_run_args": "--bse /models/base"}, "No such option: --bse"),
    ],
    ids=lambda _: "",
)
def test_a_plan_that_could_never_judge_is_refused_before_the_corpus_is_read(
    database, handler, settings, reason
):
    carry_out(database, handler(manifest=None, **settings), ASKED)
    found = last(database)
    assert (found.state, found.stage, found.launches) == (
        TrainingState.FAILED,
        TrainingStage.DATASET,
        1,
    )
    assert found.why.startswith("dataset: exit code 2: ")
    assert reason in found.why
    assert not found.dataset.exists()
    assert not found.run.exists()


@pytest.mark.parametrize(
    ("positives", "unknown", "reason"),
    [
        ({"0": 60}, 240, "no patch has a label"),
        ({"1": 1, "0": 59}, 239, "every labelled patch (1) is correct"),
        ({"0": 60}, 239, "every labelled patch (1) is incorrect"),
    ],
    ids=["all unknown", "one label", "one label, incorrect"],
)
def test_labels_that_teach_nothing_are_skipped_even_when_asked(
    database, handler, positives, unknown, reason
):
    train = {"issues": 60, "groups": 60, "unknown": unknown, "positives": positives}
    carry_out(database, handler(manifest={"splits": {"train": train}}), ASKED)
    found = last(database)
    assert found.state is TrainingState.SKIPPED
    assert reason in found.why


def test_the_clock_asks_once_a_day_and_waits_for_enough_that_is_new(database, handler):
    carry_out(database, handler(), JOB)
    carry_out(database, handler(), JOB)
    assert last(database).id == 1
    carry_out(database, handler(train_every_seconds=0.001), JOB)
    found = last(database)
    assert (found.id, found.state) == (2, TrainingState.SKIPPED)
    assert found.why == "0 issues with labels are new, but R4P_TRAIN_NEW_ISSUES is 50"
    carry_out(database, handler(), ASKED)
    assert (last(database).id, last(database).state) == (3, TrainingState.FINISHED)


def test_a_broken_manifest_is_named(database, handler):
    carry_out(database, handler(manifest={"splits": {}}), JOB)
    assert "manifest.json has no 'train'" in last(database).why


def test_a_folder_that_cannot_be_made_is_named(database, handler, tmp_path):
    (tmp_path / "file").touch()
    carry_out(database, handler(train_dir=tmp_path / "file"), JOB)
    assert "set R4P_TRAIN_DIR to a folder that may be written" in last(database).why


def test_without_a_plan_nothing_is_trained(database, handler, monkeypatch):
    carry_out(database, handler(train_plan=None), JOB)
    assert last(database) is None
    monkeypatch.delenv("R4P_TRAIN_PLAN", raising=False)
    assert plan_training(None) == []


def test_the_clock_plans_what_is_due(database, monkeypatch):
    monkeypatch.setenv("R4P_TRAIN_PLAN", "cpu-smoke")
    with transaction(database) as connection:
        assert plan_training(connection) == [Planned(JOB)]
        begun = store.begin(connection, "cpu-smoke", "digest", Path("/trainings"), "subprocess")
        assert plan_training(connection) == [Planned(JOB)]
        store.end(connection, begun, TrainingState.FAILED, "for this test")
        assert plan_training(connection) == []


def test_a_worker_that_ends_ends_the_trainer_and_the_next_one_goes_on(database, handler):
    stopping = threading.Event()
    with trainings.interrupt(database, handler({"slow": 0.3}), stopping) as (claimed, work):
        stopping.set()
    assert type(work.exception()) is Postponed
    left = last(database)
    assert (left.state, left.launches) == (TrainingState.RUNNING, 0)
    assert jobs.finish(database, claimed)
    carry_out(database, handler(), JOB)
    assert last(database).state is TrainingState.FINISHED
    assert len(starts(left)) == 2


def test_a_worker_that_lost_its_job_stops_its_trainer_and_writes_nothing(database, handler):
    lost = threading.Event()
    slow = handler({"slow": 0.3})
    with trainings.interrupt(database, slow, threading.Event(), lost) as (claimed, work):
        with transaction(database) as connection:
            jobs.supersede(connection, [JOB.key])
        lost.set()
    assert work.exception() is not None
    assert last(database).state is TrainingState.RUNNING
    assert not (last(database).run / "result.json").exists()
    assert not jobs.finish(database, claimed)


def test_the_trainer_is_told_no_secret_and_no_store(database, handler, tmp_path, monkeypatch):
    monkeypatch.setenv("R4P_ENGINE_API_KEY", "secret")
    monkeypatch.setenv("R4P_DATABASE_URL", "postgresql://secret")
    told = tmp_path / "told.py"
    told.write_text(
        "import json, os, pathlib\n"
        f"pathlib.Path({str(tmp_path / 'told.json')!r}).write_text(json.dumps(dict(os.environ)))\n"
    )
    spying = replace(handler(), launcher=Local((sys.executable, str(told))))
    carry_out(database, spying, JOB)
    seen = json.loads((tmp_path / "told.json").read_text())
    assert {name for name in seen if name.startswith("R4P_")} == {
        "R4P_MODEL_DIR",
        "R4P_END_WITH_PARENT",
    }
