import pytest

from tests.builders.models import training_runs
from training.runs import run_folder


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_killed_run_ends_as_an_uninterrupted_one(tmp_path):
    plan = training_runs.write_small_plan(
        tmp_path, steps=4, micro_batch=16, rollout={"max_tokens": 8}
    )
    data = training_runs.write_dataset(tmp_path / "data")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    done = training_runs.run_module(
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
