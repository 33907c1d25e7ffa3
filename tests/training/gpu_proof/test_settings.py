"""The proof's plans are the shipped plans, cut to one process: an engine can follow them, and sizes read back."""

import tomllib
from dataclasses import replace

import pytest

from tests.training.gpu_proof import rehearsal
from training.gpu_proof import packing, settings
from training.gpu_proof.bundle import BadPart
from training.gpu_proof.settings import FULL, QUICK
from training.gpu_proof.slices import BOXED_SFT, GRPO, YES_NO_SFT
from training.plans import plan_file
from training.trl import grpo_config


@pytest.mark.parametrize("size", [QUICK, FULL, rehearsal.TINY], ids=lambda size: size.name)
@pytest.mark.parametrize("training", [YES_NO_SFT, BOXED_SFT, GRPO])
def test_trl_can_follow_every_plan_with_one_process(size, training, tmp_path):
    plan = settings.build_plan(size, training, tmp_path / "base", tmp_path / "runs")
    grpo_config.check_plan(plan, processes=1)
    assert plan.adapter.rank == size.rank
    assert plan_file.parse_plan(tomllib.loads(plan_file.to_toml(plan)), "it") == plan


def test_grpo_goes_on_with_the_boxed_adapter_and_one_step_is_a_round(tmp_path):
    plan = settings.build_plan(FULL, GRPO, tmp_path / "base", tmp_path / "runs")
    assert plan.model.adapter == str(tmp_path / "runs" / "boxed-sft" / "adapter")
    assert (plan.rollout.prompts, plan.optimiser.batch, plan.rollout.replies) == (16, 16, 8)
    assert plan.rollout.engine == "transformers"
    assert plan.optimiser.max_steps == 20


def test_sizes_read_back_from_the_bundle(tmp_path):
    packing.write_sizes(tmp_path, [QUICK, FULL])
    assert settings.read_size(tmp_path, "full") == FULL
    assert settings.read_size(tmp_path, "quick") == QUICK
    with pytest.raises(BadPart, match=r"no size 'huge' in .*; it has quick, full"):
        settings.read_size(tmp_path, "huge")
    (tmp_path / settings.FILE).write_text("{")
    with pytest.raises(BadPart, match="can't be read"):
        settings.read_size(tmp_path, "full")


def test_an_adapter_of_the_full_size_is_small():
    """Rank x (inputs + outputs) of the seven matrices of Qwen2.5-0.5B's 24 layers, 4 bytes a weight: 17.6 MB."""
    hidden, keys, inner = 896, 128, 4864
    pairs = [(hidden, hidden)] * 2 + [(hidden, keys)] * 2 + [(hidden, inner)] * 3
    weights = 24 * sum(FULL.rank * (a + b) for a, b in pairs)
    assert weights * 4 == 17_596_416
    assert replace(FULL, rank=4) != FULL
