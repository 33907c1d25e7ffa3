"""The settings for 8 GPUs that come with the bot, in two processes of a CPU: weights, gradients and optimiser sharded."""

import shutil
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from tests.builders.models import tiny_model, training_runs
from tests.services import ROOT
from training.plans import plan_file
from training.runs import run_folder
from training.trl import checkpoints

pytestmark = [pytest.mark.proof, pytest.mark.model, pytest.mark.timeout(600)]


@pytest.fixture
def start(tmp_path):
    """`start(plan, *words)`: trains by this plan, or goes on, in `tmp_path/run`."""
    data = training_runs.write_dataset(tmp_path / "data", tiny_model.build_groups(16))

    def run_sharded(plan, *words):
        path = tmp_path / "plan.toml"
        path.write_text(plan_file.to_toml(plan))
        ended = training_runs.run_module(
            "accelerate.commands.launch",
            *("--config_file", ROOT / "training/plans/accelerate-fsdp2-8.yaml"),
            *("--num_processes", 2, "--main_process_port", 0),
            *("-m", "tests.training.trl.programs.sharded_run"),
            *("run", path, "--run", tmp_path / "run", "--dataset", data, *words),
        )
        assert ended.returncode == 0, ended.stderr[-3000:]
        return tmp_path / "run"

    return run_sharded


def load_small_plan(tmp_path, **changes):
    base = tiny_model.write_random_model(tmp_path / "base")
    written = training_runs.write_small_plan(tmp_path, base=base, every_steps=1)
    return replace(plan_file.load_plan(written), **changes)


def test_sharded_run_saves_a_whole_adapter_and_resumes_from_its_shards(tmp_path, start):
    plan = load_small_plan(tmp_path)
    folder = start(plan)
    ended = run_folder.read_result(folder)
    whole = load_file(folder / "adapter" / "adapter_model.safetensors")
    assert all(one.abs().max() > 0 for one in whole.values())
    for step in (1, 2):
        made = folder / f"checkpoint-{step}"
        assert (made / checkpoints.COMPLETE).exists()
        assert len(list(made.glob("pytorch_model_fsdp_0/*.distcp"))) == 2

    (folder / run_folder.RESULT).unlink()
    shutil.rmtree(folder / run_folder.ADAPTER)
    (folder / "checkpoint-2" / checkpoints.COMPLETE).unlink()
    start(plan, "--resume")
    again = run_folder.read_result(folder)
    assert (again.resumed_from, again.adapter_sha256) == (1, ended.adapter_sha256)


def test_sharded_run_saves_all_weights_whole(tmp_path, start):
    folder = start(load_small_plan(tmp_path, adapter=None))
    before = load_file(tmp_path / "base" / "model.safetensors")
    after = load_file(folder / run_folder.WEIGHTS / "model.safetensors")
    assert {name: after[name].shape for name in before} == {
        name: one.shape for name, one in before.items()
    }
    assert not any(torch.equal(after[name], one) for name, one in before.items())
