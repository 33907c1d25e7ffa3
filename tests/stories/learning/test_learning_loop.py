"""The learning loop: outcomes become labels, a dataset and an adapter that gives the next verdict.

Everything is real: GitHub's webhooks, PostgreSQL, the worker that trains, TRL, vLLM. The model is tiny, and the rule of
what maintainers take can be learnt.
"""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from statistics import mean

import httpx
import pytest

from app.db.store.models import trainings
from app.learning.training_plan import TrainingState
from app.settings import build_child_environment
from tests import vllm_server
from tests.builders.models.tiny_model import NAMES
from tests.services import ROOT
from tests.stories import learnable_repository
from tests.stories import stage as stages
from tests.stories.learnable_repository import Values
from tests.stories.story import Story
from training.datasets import dataset
from training.datasets.groups import LabelSource
from training.runs import run_folder

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(900),
    pytest.mark.vllm,
]

CONFIG = "version: 1\nmode: advisory\nquiet_minutes: 0\nvotes: 4\ncomments: all\ntraining: on\n"
BASE = "tiny"
TRAINING_SECONDS = 600.0
EARLIER, LATER = 60, 20
"""Days between what is learnt from and what is measured on, and between that and today: all windows have passed."""
LEARNT = 8
"""Issues that are decided early enough to be learnt from."""
NAME = re.compile(r"r4p-\d{8}-[0-9a-f]{8}")


@pytest.fixture(scope="module")
def run_with_vllm(tmp_path_factory):
    """Return the settings of a bot with a server that can load adapters."""
    data = tmp_path_factory.mktemp("learning")
    base = learnable_repository.base(data / "base")
    benchmark = learnable_repository.write_labelled_groups(data / "benchmark.jsonl", 62)
    cut = (datetime.now(UTC) - timedelta(days=LATER + 15)).date()
    with vllm_server.running(BASE, directory=base) as server:
        settings = {
            "R4P_ENGINE_URL": server.url,
            "R4P_MODEL": BASE,
            "R4P_DAY_SECONDS": "86400",
            "R4P_TRAIN_PLAN": "cpu-smoke",
            "R4P_TRAIN_RUN_ARGS": f"--base {base} --max-steps 20",
            "R4P_TRAIN_DATASET_ARGS": f"--groups {benchmark} --test 0.5 --validation 0 --cut {cut}",
            "R4P_TRAIN_EVALUATE_ARGS": "--reply-tokens 16",
            "R4P_TRAIN_NEW_ISSUES": "4",
            "R4P_PROMOTE": "champion",
            "OMP_NUM_THREADS": "1",
        }
        with stages.run_stage(data, settings) as stage:
            yield stage, server


@pytest.fixture
def scene(run_with_vllm):
    stage, server = run_with_vllm
    story = Story.begin(stage, "learning", CONFIG, Values(0).tree())
    story.patience = 120.0
    yield story, server
    story.end()


def model_of(verdict):
    return verdict.document["engine"]["model"]


def open_issue(story, number, *, guarded):
    """Open an issue with a pull request for each value; return the numbers and the verdict."""
    values = Values(number)
    story.repo.commit(values.tree())
    issue = story.issue(values.title, values.body)
    pulls = [
        story.pull(f"Mend {name}", f"Fixes #{issue}", files=values.fix_file(name, guarded=guarded))
        for name in NAMES
    ]
    story.settle()
    return issue, pulls, story.verdict(issue)


def decide_issues(story, numbers):
    """Play issues whose maintainers merge guarding patches and close the others."""
    for number in numbers:
        guarded = number % 2 == 0
        issue, pulls, _ = open_issue(story, number, guarded=guarded)
        story.repo.commit(Values(number).tree())  # as it was when they were written
        for pull in pulls:
            if guarded:
                story.repo.merge(pull)
            else:
                story.repo.review(pull, "CHANGES_REQUESTED", body="Guard it, as we agreed.")
                story.repo.close(pull)
        story.settle()
        story.verdict(issue)


def last_training(story):
    with story.stage.database.connect() as connection:
        return trainings.find_last(connection)


def run_training(story):
    """Start the scheduled training and return it at its end."""
    story.stage.tick("training")
    story.patience = TRAINING_SECONDS
    story.wait_for(
        lambda: (
            (training := last_training(story)) is not None
            and training.state is not TrainingState.RUNNING
        ),
        lambda: last_training(story),
    )
    return last_training(story)


def command(story, *words):
    """Run an operator's command and return its output."""
    environment = build_child_environment(story.stage.settings)
    environment["R4P_DATABASE_URL"] = story.stage.bot.services.database_url
    asked = [sys.executable, "-m", "app.cli", *words]
    done = subprocess.run(
        asked, env=environment, cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def list_served(server):
    return {
        item["id"] for item in httpx.get(f"{server.url}/models", trust_env=False).json()["data"]
    }


def test_the_loop_closes(scene):
    story, server = scene
    decide_issues(story, range(LEARNT))
    learnable_repository.let_days_pass(story.stage.database, EARLIER)
    decide_issues(story, range(LEARNT, LEARNT + 2))
    learnable_repository.let_days_pass(story.stage.database, LATER)

    training = run_training(story)
    assert (training.state, training.labels.correct > 0) == (TrainingState.FINISHED, True), (
        training.why
    )
    learnt = dataset.read_split(training.dataset, "train")
    outcome_groups = [item for item in learnt if item.source is LabelSource.OUTCOMES]
    assert {item.issue for item in outcome_groups} <= {
        f"{story.repo.full_name}#{n}" for n in story.numbers
    }
    assert {(patch.count("guard("), target >= 0.5) for item in outcome_groups for patch, target in
            zip(item.patches, item.targets, strict=True)} == {(1, True), (0, False)}  # fmt: skip

    gate = json.loads((training.run / "gate.json").read_text())
    assert gate["outcome"] == "passed", gate["why"]
    compared = json.loads((training.run / "evaluation.json").read_text())["compared"]
    (benchmark,) = (item for item in compared if item["name"] == "benchmark")
    assert benchmark["difference"]["reward"]["low"] > 0
    steps = run_folder.read_steps(training.run)
    assert mean(item.reward for item in steps[-5:]) > mean(item.reward for item in steps[:5])

    assert NAME.fullmatch(training.model)
    assert training.why.startswith("the canary; the gate passed on benchmarks only: ")
    assert " is the champion now" in command(story, "models", "promote", training.model)
    assert {BASE, training.model} <= list_served(server)
    _, _, verdict = open_issue(story, 20, guarded=True)
    assert model_of(verdict) == training.model
    assert f"Model `{training.model}`" in verdict.body
    assert verdict.document["votes"]["valid"] >= 2

    assert f"{training.model} is rejected" in command(story, "models", "rollback")
    _, _, verdict = open_issue(story, 21, guarded=True)
    assert model_of(verdict) == BASE
    assert training.model in list_served(server), "a verdict may still ask it"
    learnable_repository.let_days_pass(story.stage.database, 1)
    story.stage.tick("adapters")
    story.wait_for(lambda: list_served(server) == {BASE}, lambda: list_served(server))
    assert "report.html: " in command(story, "train", "report", str(training.run))
