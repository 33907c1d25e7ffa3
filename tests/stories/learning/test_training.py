"""A training bot continues to judge: however a training ends, verdicts appear and the operator gets the reason."""

import json
import subprocess
import sys

import pytest

from app.db.session import transaction
from app.db.store.models import trainings
from app.learning.training_plan import TrainingState
from app.settings import build_child_environment
from tests.builders.models import tiny_model
from tests.stories import learnable_repository
from tests.stories import stage as stages
from tests.stories.story import Story
from tests.stories.verdicts import ADVISORY

pytestmark = [pytest.mark.proof, pytest.mark.services, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def that_trains(tmp_path_factory):
    """Return the settings of a bot with a scripted engine and a trainer of an untrained model."""
    data = tmp_path_factory.mktemp("training")
    base = tiny_model.write_random_model(data / "base")
    groups = learnable_repository.write_labelled_groups(data / "groups.jsonl", 24)
    settings = stages.build_script_settings(data) | {
        "R4P_MODEL": "base",
        "R4P_TRAIN_PLAN": "cpu-smoke",
        "R4P_TRAIN_DATASET_ARGS": f"--groups {groups}",
        "R4P_TRAIN_RUN_ARGS": f"--base {base} --max-steps 8",
        "R4P_TRAIN_EVALUATE_ARGS": "--votes 1 --limit 1 --reply-tokens 8",
        "R4P_TRAIN_NEW_ISSUES": "1",
        "R4P_TRAIN_TEST_ISSUES": "0",
        "OMP_NUM_THREADS": "1",
    }
    with stages.run_stage(data, settings) as running:
        yield running


@pytest.fixture
def story(that_trains):
    """A story with more patience, because the machine trains at the same time."""
    begun = Story.begin(that_trains, "training", ADVISORY, {})
    begun.patience = 400.0
    begun.is_rough = True
    yield begun
    begun.end()


def last(story):
    with transaction(story.stage.database) as connection:
        return trainings.find_last(connection)


def status(story):
    """Return the training status as an operator reads it."""
    asked = [sys.executable, "-m", "app.cli", "train", "status", "--json"]
    url = {"R4P_DATABASE_URL": story.stage.bot.services.database_url}
    done = subprocess.run(asked, env=build_child_environment(url), capture_output=True, check=True)
    return json.loads(done.stdout)[0]


def has_saved(story):
    training = last(story)
    return training is not None and (training.run / "checkpoint-6" / "COMPLETE").exists()


def test_a_train_worker_killed_at_work_is_replaced_and_its_training_resumed(story):
    story.stage.tick("training")
    story.wait_for(lambda: has_saved(story), lambda: last(story))
    story.stage.kill("train")
    issue, (right, wrong) = story.open_judged_issue()
    assert story.verdict(issue).rows == {right: "Correct", wrong: "Incorrect"}
    story.wait_for(lambda: last(story).state is not TrainingState.RUNNING, lambda: last(story))
    training = status(story)
    assert (training["state"], training["progress"]["step"]) == ("finished", 8), training["why"]
    result = json.loads((last(story).run / "result.json").read_text())
    assert result["resumed_from"] == 6
    assert "a candidate that can't judge yet (too few" in training["why"]
    assert "r4p models register" in training["why"]
    with transaction(story.stage.database) as connection:
        assert len(trainings.list_newest(connection)) == 1
