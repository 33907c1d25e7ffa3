"""A plan in verl's words, and every setting that verl could not honour."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from training.plans import plan_file
from training.plans.plan import (
    AdvantageEstimator,
    BadPlan,
    ImportanceCorrection,
    LoraSettings,
    LossAggregation,
    OverlongHandling,
    RolloutEngine,
    RolloutTask,
    TrainingMethod,
)
from training.trl import grpo_config
from training.verl import hydra_overrides
from training.verl.unsupported_settings import check_supported

PAPER = plan_file.load_plan("r4p-paper")
FOLDER = PurePosixPath("/shared/a run")
ACTOR = "actor_rollout_ref.actor."


def change_plan(**tables):
    """The paper's plan with some settings of some tables changed."""
    return replace(
        PAPER, **{name: replace(getattr(PAPER, name), **of) for name, of in tables.items()}
    )


def build_overrides(**tables):
    return hydra_overrides.build_overrides(change_plan(**tables), FOLDER, rounds=3)


def test_paper_plan_is_exported_as_in_the_papers_figures():
    found = hydra_overrides.build_overrides(PAPER, FOLDER, rounds=3)
    assert {
        "data.train_batch_size": 128,
        "actor_rollout_ref.rollout.n": 16,
        "actor_rollout_ref.rollout.temperature": 1.0,
        ACTOR + "ppo_mini_batch_size": 8,
        ACTOR + "clip_ratio_low": 0.2,
        ACTOR + "clip_ratio_high": 0.28,
        ACTOR + "clip_ratio_c": 10.0,
        ACTOR + "loss_agg_mode": "token-mean",
        ACTOR + "loss_scale_factor": None,
        ACTOR + "entropy_coeff": 0.0,
        ACTOR + "use_kl_loss": False,
        ACTOR + "optim.lr": 1e-6,
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": True,
        "algorithm.use_kl_in_reward": False,
        "algorithm.rollout_correction.rollout_is": None,
        "trainer.total_training_steps": 3,
        "trainer.total_epochs": 1,
        "trainer.n_gpus_per_node": 8,
        "data.shuffle": False,
        "data.train_files": "/shared/a run/train.parquet",
    }.items() <= found.items()
    assert "actor_rollout_ref.model.lora_rank" not in found


CORRECTIONS = "algorithm.rollout_correction.rollout_is"
TRUNCATED = {"importance": ImportanceCorrection.TOKEN_TRUNCATE, "importance_ceiling": 3.0}
MASKED = {"importance": ImportanceCorrection.SEQUENCE_MASK, "importance_ceiling": 3.0}


@pytest.mark.parametrize(
    ("tables", "key", "value"),
    [
        ({"policy": {"advantage": AdvantageEstimator.LEAVE_ONE_OUT}}, "algorithm.adv_estimator", "rloo"),
        ({"rollout": {"gpu_memory": 0.3}}, "actor_rollout_ref.rollout.gpu_memory_utilization", 0.3),
        ({"policy": {"advantage": AdvantageEstimator.WITHOUT_DEVIATION}}, "algorithm.norm_adv_by_std_in_grpo", False),
        ({"policy": {"loss": LossAggregation.CONSTANT_LENGTH}}, ACTOR + "loss_agg_mode", "seq-mean-token-sum-norm"),
        ({"policy": {"loss": LossAggregation.CONSTANT_LENGTH}}, ACTOR + "loss_scale_factor", 4096),
        ({"policy": {"loss": LossAggregation.SEQUENCE_MEAN}}, ACTOR + "loss_agg_mode", "seq-mean-token-mean"),
        ({"policy": {"kl": 0.01}}, ACTOR + "use_kl_loss", True),
        ({"policy": {"drop_uniform_groups": True}}, "algorithm.filter_groups.enable", True),
        ({"policy": TRUNCATED}, f"{CORRECTIONS}_threshold", 3.0),
        ({"policy": MASKED}, CORRECTIONS, "sequence"),
        ({"policy": MASKED}, f"{CORRECTIONS}_threshold", "1e-30_3.0"),
        ({"optimiser": {"warmup_steps": 32}}, ACTOR + "optim.lr_warmup_steps", 2),
        ({"checkpoints": {"every_steps": 48}}, "trainer.save_freq", 3),
        ({"model": {"dtype": "float32"}}, ACTOR + "fsdp_config.model_dtype", "fp32"),
        ({"scale": {"nodes": 4}}, "trainer.nnodes", 4),
    ],
)  # fmt: skip
def test_setting_is_rendered_in_verls_words(tables, key, value):
    assert build_overrides(**tables)[key] == value


def test_adapter_is_sent_to_a_server_with_the_base():
    found = hydra_overrides.build_overrides(
        replace(PAPER, adapter=LoraSettings(rank=8, alpha=16)), FOLDER, rounds=1
    )
    assert found["actor_rollout_ref.model.lora_rank"] == 8
    assert found["actor_rollout_ref.model.lora_alpha"] == 16
    assert found["actor_rollout_ref.model.target_modules"] == LoraSettings().targets
    assert found["actor_rollout_ref.rollout.load_format"] == "safetensors"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (replace(PAPER, trainer=TrainingMethod.DPO), "trainer = dpo: verl is given"),
        (change_plan(rollout={"task": RolloutTask.REPAIR}), "rollout.task = repair"),
        (change_plan(rollout={"task": RolloutTask.IMITATE}), "rollout.task = imitate"),
        (change_plan(rollout={"engine": RolloutEngine.SERVER}), 'rollout.engine = server: give "colocated"'),
        (change_plan(policy={"overlong": OverlongHandling.MASK}), "policy.overlong = mask"),
        (change_plan(policy={"ratio_ceiling": None}), "policy.ratio_ceiling = None"),
        (change_plan(policy={"ratio_ceiling": 1.28}), "policy.ratio_ceiling = 1.28"),
        (change_plan(policy={"entropy_bonus": 0.1, "loss": LossAggregation.SEQUENCE_MEAN}), "policy.entropy_bonus = 0.1"),
        (change_plan(policy={"importance": ImportanceCorrection.TOKEN_MASK}), "policy.importance_ceiling = None"),
        (replace(PAPER, adapter=LoraSettings(dropout=0.1)), "adapter.dropout = 0.1"),
        (change_plan(optimiser={"schedule": "linear"}), "optimiser.schedule = linear"),
        (change_plan(optimiser={"batch": 24}), "optimiser.batch = 24: give a divisor"),
        (change_plan(optimiser={"batch": 256}), "optimiser.batch = 256: give a divisor"),
        (change_plan(scale={"nodes": 3}), "optimiser.batch = 8: times rollout.replies"),
        (change_plan(optimiser={"warmup_steps": 5}), "optimiser.warmup_steps = 5: give a multiple"),
        (change_plan(optimiser={"warmup_ratio": 0.1}), "optimiser.warmup_ratio = 0.1: give optimiser.warmup_steps"),
        (change_plan(optimiser={"max_steps": 100}), "optimiser.max_steps = 100: give a multiple"),
        (change_plan(checkpoints={"every_steps": 10}), "checkpoints.every_steps = 10"),
        (change_plan(scale={"sequence_parallel": 3}), "scale.sequence_parallel = 3"),
        (change_plan(model={"adapter": "runs/a/adapter"}), "model.adapter = runs/a/adapter: leave it"),
        (change_plan(scale={"rollout_tensor_parallel": 3}), "scale.rollout_tensor_parallel = 3"),
    ],
)  # fmt: skip
def test_unsupported_setting_is_refused(plan, message):
    with pytest.raises(BadPlan, match="plan r4p-paper can't be exported to verl: ") as caught:
        check_supported(plan)
    assert message in str(caught.value)


def test_all_faults_are_listed_at_once():
    with pytest.raises(BadPlan) as caught:
        check_supported(plan_file.load_plan("mini-se-rl"))
    assert "rollout.task = repair" in str(caught.value)
    assert "policy.overlong = mask" in str(caught.value)


def test_overrides_follow_hydras_grammar():
    written = hydra_overrides.format_overrides(
        {"a": None, "b": True, "c": 1e-6, "d": "it's here", "e": ("x", "y"), "f": 3}
    )
    assert written == "a=null\nb=True\nc=1e-06\nd='it\\'s here'\ne=['x','y']\nf=3\n"


@pytest.mark.parametrize("advantage", AdvantageEstimator)
@pytest.mark.parametrize("loss", LossAggregation)
def test_trl_and_verl_get_the_same_settings(advantage, loss):
    plan = change_plan(
        policy={"advantage": advantage, "loss": loss, "kl": 0.01, "ratio_ceiling": 5.0},
        optimiser={"batch": 32, "micro_batch": 4, "warmup_steps": 4, "max_steps": 8},
        checkpoints={"every_steps": 8},
    )
    processes = plan.scale.processes
    theirs, ours = (
        grpo_config.build_grpo_settings(plan, processes),
        hydra_overrides.build_overrides(plan, FOLDER, rounds=2),
    )
    at_once = plan.optimiser.micro_batch * processes
    replies = theirs["num_generations"]
    assert replies == ours["actor_rollout_ref.rollout.n"]
    assert theirs["steps_per_generation"] * at_once // replies == ours["data.train_batch_size"]
    assert (
        theirs["gradient_accumulation_steps"] * at_once // replies
        == ours[ACTOR + "ppo_mini_batch_size"]
    )
    assert theirs["num_iterations"] == ours[ACTOR + "ppo_epochs"]
    assert theirs["save_steps"] == ours["trainer.save_freq"] * 4
    for name, key in [
        ("epsilon", "clip_ratio_low"),
        ("epsilon_high", "clip_ratio_high"),
        ("delta", "clip_ratio_c"),
        ("beta", "kl_loss_coef"),
        ("entropy_coef", "entropy_coeff"),
    ]:
        assert theirs[name] == ours[ACTOR + key]
    assert theirs["max_completion_length"] == ours["data.max_response_length"]
    assert theirs["temperature"] == ours["actor_rollout_ref.rollout.temperature"]
    by_length = ours[ACTOR + "loss_scale_factor"] == theirs["max_completion_length"]
    assert by_length == (theirs["loss_type"] == "dr_grpo")
    assert (theirs["scale_rewards"] == "group") == ours["algorithm.norm_adv_by_std_in_grpo"]
    assert not theirs["vllm_importance_sampling_correction"]
    assert ours["algorithm.rollout_correction.rollout_is"] is None
