"""The gym that comes with R4P bot is sound, small and licensed, and its tests decide about its candidates."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from model.evaluation.gyms.gym_run import GymRunPlan, run_gym
from model.execution import evidence_record
from model.gyms.gym_folder import open_trees, read_gym
from training.commands.gym import app

MOST_BYTES = 5_000_000


@pytest.fixture
def gym(tmp_path):
    """A copy of the gym."""
    folder = tmp_path / "gym"
    assert CliRunner().invoke(app, ["sample", "--out", str(folder)]).exit_code == 0
    return folder


def test_the_sample_is_small_sound_and_licensed(gym):
    assert sum(file.stat().st_size for file in gym.iterdir()) < MOST_BYTES
    assert "Permission is hereby granted" in (gym / "LICENSE-TinyDB").read_text()
    tasks = read_gym(gym).tasks
    assert len(tasks) > 10
    assert {task.licence for task in tasks} == {"MIT"}
    result = CliRunner().invoke(app, ["check", str(gym)])
    assert result.exit_code == 0, result.output


def test_a_folder_that_exists_is_kept(gym):
    assert CliRunner().invoke(app, ["sample", "--out", str(gym)]).exit_code == 2


@pytest.mark.proof
def test_tests_decide_about_the_candidates_of_a_task(bubblewrap, gym, tmp_path):
    sample = read_gym(gym)
    task = next(task for task in reversed(sample.tasks) if len(task.candidates) > 1)
    small = type(sample)(sample.folder, sample.manifest, (task,), sample.environments)
    plan = GymRunPlan(find_python=lambda _: Path(sys.executable), base_runs=1)
    with open_trees(small) as trees, evidence_record.open_record(tmp_path / "runs.jsonl") as file:
        run_gym(small, trees, plan, file)
    records = evidence_record.read_records(tmp_path / "runs.jsonl")
    resolved = {candidate.id: candidate.resolved for candidate in task.candidates}
    assert {record.candidate: record.is_resolved for record in records} == resolved
