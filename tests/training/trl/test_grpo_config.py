from dataclasses import replace

import pytest

from training.plans import plan_file
from training.plans.plan import (
    BadPlan,
    ImportanceCorrection,
    OverlongHandling,
    RolloutEngine,
    RolloutTask,
)
from training.trl import grpo_config

PAPER = plan_file.load_plan("r4p-paper")
SMOKE = plan_file.load_plan("cpu-smoke")


def test_paper_plan_is_rendered_completely():
    settings = grpo_config.build_grpo_settings(PAPER, processes=8)
    assert settings["num_generations"] == 16
    # 128 prompts of 16 replies a round, 8 prompts a step, one reply at once in each of 8 processes
    assert settings["steps_per_generation"] == 256
    assert settings["gradient_accumulation_steps"] == 16
    assert (settings["epsilon"], settings["epsilon_high"], settings["delta"]) == (0.2, 0.28, 10.0)
    assert (settings["beta"], settings["entropy_coef"], settings["temperature"]) == (0.0, 0.0, 1.0)
    assert (settings["top_p"], settings["top_k"], settings["min_p"]) == (1.0, 0, None)
    assert (settings["loss_type"], settings["scale_rewards"]) == ("dapo", "group")
    assert settings["vllm_importance_sampling_correction"] is False
    assert settings["vllm_gpu_memory_utilization"] == PAPER.rollout.gpu_memory == 0.5
    assert settings["save_steps"] % 16 == 0


def test_agent_plan_is_rendered_without_deviation_and_length():
    settings = grpo_config.build_grpo_settings(plan_file.load_plan("mini-se-rl"), processes=8)
    assert (settings["loss_type"], settings["scale_rewards"]) == ("dr_grpo", "none")
    assert settings["mask_truncated_completions"] is False
    assert settings["max_completion_length"] == 28_672


def test_cut_replies_of_a_judge_are_masked_by_trl():
    settings = grpo_config.build_grpo_settings(_policy(overlong=OverlongHandling.MASK), processes=1)
    assert settings["mask_truncated_completions"] is True


def test_correction_of_trl_is_off_beside_ours():
    weighed = _policy(importance=ImportanceCorrection.TOKEN_TRUNCATE, importance_ceiling=2.0)
    colocated = replace(SMOKE.rollout, engine=RolloutEngine.COLOCATED)
    for plan in (SMOKE, replace(weighed, rollout=colocated)):
        settings = grpo_config.build_grpo_settings(plan, processes=1)
        assert settings["vllm_importance_sampling_correction"] is False


def test_episodes_of_a_colocated_engine_may_be_weighed():
    grpo_config.check_plan(
        replace(
            _policy(importance=ImportanceCorrection.TOKEN_TRUNCATE, importance_ceiling=2.0),
            prompt=replace(SMOKE.prompt, template="mini_se"),
            rollout=replace(SMOKE.rollout, task=RolloutTask.REPAIR, engine=RolloutEngine.COLOCATED),
        ),
        1,
    )


def test_checkpoints_fall_between_rounds():
    slow = replace(
        SMOKE,
        optimiser=replace(SMOKE.optimiser, batch=2, micro_batch=2),
        checkpoints=replace(SMOKE.checkpoints, every_steps=5),
    )
    assert grpo_config.build_grpo_settings(slow, processes=1)["save_steps"] == 8


def _rollout(**changes):
    return replace(SMOKE, rollout=replace(SMOKE.rollout, **changes))


def _build_supervised():
    return replace(plan_file.load_plan("boxed-sft"), name="cpu-smoke")


def _policy(**changes):
    return replace(SMOKE, policy=replace(SMOKE.policy, **changes))


@pytest.mark.parametrize(
    ("plan", "processes", "message"),
    [
        (_rollout(top_p=0.95), 1, "rollout.top_p = 0.95: the ratio of a truncated"),
        (_rollout(prompts=12), 1, "rollout.prompts = 12 is no multiple of optimiser.batch = 8"),
        (SMOKE, 3, "rollout.prompts = 8 is no multiple of 3 processes"),
        (SMOKE, 4, "is no multiple of 128 replies"),
        (_policy(ratio_ceiling=1.2), 1, "ratio_ceiling = 1.2: give more than 1 + policy.clip_high"),
        (_policy(drop_uniform_groups=True), 1, "policy.drop_uniform_groups = true"),
        (
            _policy(importance=ImportanceCorrection.TOKEN_MASK, importance_ceiling=2.0),
            1,
            "policy.importance = token-mask: the trainer's own model samples; use off",
        ),
        (
            replace(
                _policy(importance=ImportanceCorrection.TOKEN_MASK),
                rollout=replace(SMOKE.rollout, engine=RolloutEngine.COLOCATED),
            ),
            1,
            "policy.importance = token-mask needs policy.importance_ceiling",
        ),
        (
            _rollout(task=RolloutTask.REPAIR, engine=RolloutEngine.SERVER),
            1,
            "rollout.engine = 'server': an agent's turns are drawn in the trainer's process",
        ),
        (replace(SMOKE, scale=replace(SMOKE.scale, sequence_parallel=4)), 1, "sequence_parallel"),
        (
            replace(SMOKE, scale=replace(SMOKE.scale, processes=8)),
            1,
            "scale.nodes x scale.processes = 8, and 1 run: start as many",
        ),
        (
            replace(
                _rollout(engine=RolloutEngine.COLOCATED),
                scale=replace(SMOKE.scale, rollout_tensor_parallel=16),
            ),
            1,
            "scale.rollout_tensor_parallel = 16: give a divisor of all 1 processes",
        ),
        (
            replace(
                _build_supervised(), optimiser=replace(SMOKE.optimiser, batch=3, micro_batch=2)
            ),
            1,
            "optimiser.batch = 3 is no multiple of optimiser.micro_batch = 2",
        ),
        (
            replace(_rollout(engine=RolloutEngine.COLOCATED), scale=replace(SMOKE.scale, nodes=2)),
            1,
            "scale.nodes = 2: a colocated vLLM stays on one node",
        ),
    ],
)
def test_unsupported_setting_is_refused_with_the_fix(plan, processes, message):
    with pytest.raises(BadPlan, match="plan cpu-smoke can't be trained with TRL") as caught:
        grpo_config.build_grpo_settings(plan, processes)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", plan_file.list_shipped_plans())
def test_shipped_plans_run_on_their_machines(name):
    plan = plan_file.load_plan(name)
    grpo_config.check_plan(plan, plan.scale.nodes * plan.scale.processes)


def test_plan_for_one_process_may_run_in_two():
    grpo_config.check_plan(replace(SMOKE, optimiser=replace(SMOKE.optimiser, micro_batch=8)), 2)


def test_passes_are_rendered_as_iterations():
    settings = grpo_config.build_grpo_settings(_rollout(passes=3), processes=1)
    assert (settings["num_iterations"], settings["save_steps"]) == (3, 6)
    assert grpo_config.build_grpo_settings(SMOKE, processes=1)["num_iterations"] == 1
