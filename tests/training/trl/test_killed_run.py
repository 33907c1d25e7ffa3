import pytest

from tests.builders import tiny_model, training_runs
from training.runs import run_folder

SMALL = {"max_steps": 4, "batch": 4}
PROMPTS = {"prompts": 4, "replies": 4, "max_tokens": 8}


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_a_run_that_is_killed_at_any_point_ends_as_if_nothing_had_happened(tmp_path):
    plan = training_runs.written_plan(
        tmp_path / "plan.toml",
        tiny_model.kept_base(),
        optimiser=SMALL | {"micro_batch": 16},
        rollout=PROMPTS,
    )
    data = training_runs.written_dataset(tmp_path / "data")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    done = training_runs.started(
        "tests.training.trl.programs.killed_run", plan, data, killed, whole
    )
    assert done.returncode == 0, done.stderr[-3000:]

    assert done.stdout.splitlines() == [
        "prepared: []",
        "step 1: [1]",
        "torn checkpoint: [1, 2]",
        "step 3: [1, 2, 3]",
        "trained: [1, 2, 3, 4]",
        "saved: [1, 2, 3, 4]",
        "probed: [1, 2, 3, 4]",
    ]
    ends = [run_folder.read_result(folder) for folder in (killed, whole)]
    assert [one.status for one in ends] == ["finished", "finished"]
    assert ends[0].resumed_from == 4
    assert ends[0].adapter_sha256 == ends[1].adapter_sha256
    lost, kept = (
        [(one.step, one.reward, one.loss, one.tokens) for one in run_folder.read_steps(folder)]
        for folder in (killed, whole)
    )
    assert lost == kept
    assert any(one.loss for one in run_folder.read_steps(whole))
