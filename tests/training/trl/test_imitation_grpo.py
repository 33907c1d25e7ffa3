"""A whole run that imitates merged fixes: a tiny model, real replies, and the reward of the plan."""

import json
from dataclasses import asdict

import pytest

from tests.builders.models import training_runs
from training.datasets.merged_fixes import FORMAT
from training.runs import run_folder
from training.trl import train

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
FIXES = [
    {
        "format": FORMAT,
        "issue": f"octo/pie#{number}",
        "title": f"Half of {number} is off",
        "body": "It is an integer.",
        "files": {"pie.py": f"def half():\n    return {number} // 2\n"},
        "merged": {"pie.py": f"def half():\n    return {number} / 2\n"},
    }
    for number in range(90, 94)
]


@pytest.mark.proof
@pytest.mark.parametrize("imitation", ["continuous", "discrete"])
def test_replies_of_a_model_are_rewarded_and_trained_on(base, tmp_path, imitation):
    (tmp_path / "fixes.jsonl").write_text("".join(json.dumps(fix) + "\n" for fix in FIXES))
    rollout = {"task": "imitate", "imitation": imitation, "max_tokens": 32, "replies": 2}
    plan = training_runs.build_plan(
        "grpo",
        base,
        adapter={"rank": 4, "alpha": 8},
        prompt={"template": "swe_rl_repair", "max_tokens": 2048},
        rollout=rollout | {"prompts": 4},
        optimiser={"batch": 4, "micro_batch": 8, "max_steps": 1},
    )
    data = training_runs.write_dataset(tmp_path / "data")
    job = train.TrainingJob(plan, data, tmp_path / "run", material=tmp_path / "fixes.jsonl")
    result = train.train(job)
    assert (result.status, result.why, result.steps) == (run_folder.RunStatus.FINISHED, "", 1)
    (step,) = map(asdict, run_folder.read_steps(tmp_path / "run"))
    assert (step["reward"], step["format_valid"]) == (-1, 0), "a random model writes no solution"
    assert json.loads((tmp_path / "run" / "dataset.json").read_text())["material"]
    assert not (tmp_path / "run" / "prompt.j2").exists()
