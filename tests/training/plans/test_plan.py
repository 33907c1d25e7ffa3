import tomllib

import pytest

from tests.builders.models import tiny_model
from training.datasets.schedule import schedule_rounds
from training.plans import plan_file
from training.plans.plan import (
    AdvantageEstimator,
    BadPlan,
    ImportanceCorrection,
    LossAggregation,
    OverlongHandling,
    TrainingMethod,
)

MINIMAL = {"name": "mine", "trainer": "grpo", "model": {"base": "somewhere"}}


def test_shipped_plan_is_named_as_its_file():
    assert plan_file.list_shipped_plans() == (
        "attempts-sft",
        "boxed-sft",
        "cpu-smoke",
        "guided-dpo",
        "mini-se-rl",
        "r4p-paper",
        "r4p-qwen2.5-coder-0.5b",
        "reward-model",
        "yes-no-sft",
        "yes-no-trajectory-sft",
    )
    assert [plan_file.load_plan(name).name for name in plan_file.list_shipped_plans()] == list(
        plan_file.list_shipped_plans()
    )


@pytest.mark.parametrize("name", plan_file.list_shipped_plans())
def test_shipped_plan_survives_a_round_trip(name):
    plan = plan_file.load_plan(name)
    assert plan_file.parse_plan(tomllib.loads(plan_file.to_toml(plan)), "written") == plan


R4P_FIGURES = {
    "model.base": ("section 5.1", "Qwen/Qwen2.5-Coder-32B-Instruct"),
    "rollout.prompts": ("B.1, batch size", 128),
    "rollout.replies": ("B.1, samples", 16),
    "rollout.temperature": ("B.1", 1.0),
    "rollout.engine": ("B.1, vLLM", "colocated"),
    "policy.advantage": ("B.1, GRPO", "grpo"),
    "policy.clip_high": ("B.1, clip ratio high", 0.28),
    "policy.kl": ("B.1, no KL loss", 0.0),
    "optimiser.learning_rate": ("B.1", 1e-6),
    "optimiser.schedule": ("B.1, fixed", "constant"),
    "prompt.max_tokens": ("batch2_7B.sh", 24_576),
    "rollout.max_tokens": ("batch2_7B.sh", 4_096),
    "policy.loss": ("both scripts", "token-mean"),
    "policy.clip_low": ("both scripts", 0.2),
    "policy.ratio_ceiling": ("both scripts", 10.0),
    "policy.entropy_bonus": ("both scripts", 0.0),
}
"""The figures of R4P and of its authors' launch scripts, each with its source."""
R4P_GROUPS, R4P_ROUNDS, R4P_STEPS_A_ROUND = 7_599, 225, 16
"""Appendix B.1: groups after balancing, training steps, and gradient steps in each of them."""


@pytest.mark.parametrize("key", R4P_FIGURES)
def test_r4p_plan_has_the_papers_figure(key):
    section, name = key.split(".")
    source, figure = R4P_FIGURES[key]
    assert getattr(getattr(plan_file.load_plan("r4p-paper"), section), name) == figure, source


def test_r4p_plan_ends_after_the_papers_rounds():
    plan = plan_file.load_plan("r4p-paper")
    schedule = schedule_rounds(tiny_model.build_groups(1) * R4P_GROUPS, plan)
    assert (schedule.rounds, schedule.steps, schedule.filled) == (
        R4P_ROUNDS,
        R4P_ROUNDS * R4P_STEPS_A_ROUND,
        0,
    )


def test_agent_plan_has_no_deviation_or_length_term():
    plan = plan_file.load_plan("mini-se-rl")
    assert plan.policy.advantage == AdvantageEstimator.LEAVE_ONE_OUT
    assert plan.policy.loss == LossAggregation.CONSTANT_LENGTH
    assert plan.policy.overlong == OverlongHandling.MASK


def test_agent_plan_has_the_papers_values():
    plan = plan_file.load_plan("mini-se-rl")
    assert plan.model.base == "Qwen/Qwen3-32B"
    assert (plan.rollout.prompts, plan.rollout.replies, plan.rollout.temperature) == (64, 8, 1.0)
    assert (plan.prompt.max_tokens, plan.rollout.max_tokens, plan.rollout.max_turns) == (
        4_096,
        28_672,
        50,
    )
    assert (plan.optimiser.batch, plan.optimiser.learning_rate) == (64, 1e-6)
    assert (plan.optimiser.max_steps, plan.rollout.passes) == (300, 1)
    assert (plan.reward.binary, plan.reward.votes) == (True, 5)


def test_plans_of_agent_rlvr_have_the_papers_values():
    sft, dpo = plan_file.load_plan("attempts-sft"), plan_file.load_plan("guided-dpo")
    assert (sft.optimiser.learning_rate, sft.optimiser.epochs) == (1e-5, 5)
    assert (sft.supervised.share, sft.supervised.max_tokens) == (0.2, 8_192)
    assert (dpo.optimiser.learning_rate, dpo.optimiser.epochs, dpo.pairs.flip_rate) == (1e-6, 1, 0)
    # the second stage goes on with the adapter of the first
    assert (sft.model.base, sft.adapter) == (dpo.model.base, dpo.adapter)


def test_plan_of_r2e_gyms_verifier_has_the_papers_values():
    plan = plan_file.load_plan("yes-no-trajectory-sft")
    # appendix C.2
    assert plan.model.base == "Qwen/Qwen2.5-Coder-14B-Instruct"
    assert (plan.adapter.rank, plan.supervised.max_tokens) == (64, 32_768)
    steps = plan.optimiser
    assert (steps.batch, steps.epochs, steps.warmup_ratio, steps.warmup_steps) == (8, 2, 0.1, 0)
    # section 4.1
    assert (plan.supervised.task, plan.supervised.trajectories) == ("yes-no", True)
    # the authors' launch file, train_r2egym_14B_verifier.yaml
    assert (steps.learning_rate, steps.schedule) == (1e-5, "cosine")


def test_plan_of_the_ablation_differs_in_the_trajectories_alone():
    paper, ablation = map(plan_file.load_plan, ("yes-no-trajectory-sft", "yes-no-sft"))
    differences = plan_file.list_differences(paper, ablation)
    assert {text.partition(" ")[0] for text in differences} == {
        "name",
        "about",
        "supervised.trajectories",
    }


def test_reward_model_plan_has_the_papers_values():
    """Section 3.1 of Agent-RLVR: base, rate, 500 steps, a warm-up of 0.05 of them, and a pairwise loss."""
    plan = plan_file.load_plan("reward-model")
    assert plan.model.base == "Qwen/Qwen2.5-Coder-32B-Instruct"
    assert plan.optimiser.learning_rate == 1e-5
    assert plan.optimiser.max_steps == 500
    assert plan.optimiser.warmup_ratio == 0.05
    # with a margin the loss would be another one
    assert plan.pairs.margin is False


def test_minimal_plan_has_plain_defaults():
    plan = plan_file.parse_plan(MINIMAL, "mine")
    assert plan.trainer == TrainingMethod.GRPO
    assert plan.adapter is None
    assert plan.policy.importance == ImportanceCorrection.OFF


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trainer": "grop"}, "trainer = 'grop': Input should be 'grpo', 'sft'"),
        ({"rollout": {"promts": 3}}, "rollout.promts = 3: Unexpected keyword argument"),
        ({"rollout": {"replies": 1}}, "rollout.replies = 1: Input should be greater than"),
        ({"rollout": {"replies": "8"}}, "rollout.replies = '8': Input should be a valid integer"),
        ({"policy": {"clip_high": float("nan")}}, "clip_high"),
        ({"model": {}}, "model.base"),
        ({"seed": -5}, "seed = -5: Input should be greater than or equal to 0"),
        ({"adapter": {"dropout": 1.0}}, "adapter.dropout = 1.0: Input should be less than 1"),
        ({"adapter": {"targets": []}}, "adapter.targets = []: Tuple should have at least 1 item"),
        ({"rollout": {"top_p": 0.0}}, "rollout.top_p = 0.0: Input should be greater than 0"),
        ({"policy": {"clip_low": 7.0}}, "policy.clip_low = 7.0: Input should be less than 1"),
        ({"policy": {"importance_ceiling": 0.5}}, "policy.importance_ceiling = 0.5: Input should"),
        ({"optimiser": {"weight_decay": 1e9}}, "optimiser.weight_decay = 1000000000.0: Input"),
        ({"optimiser": {"schedule": "wavy"}}, "optimiser.schedule = 'wavy': Input should be 'con"),
        ({"supervised": {"task": "poems"}}, "supervised.task = 'poems': Input should be 'boxed'"),
        ({"model": {"base": "a", "dtype": "float8"}}, "model.dtype = 'float8': Input should be"),
    ],
)
def test_fault_is_named_with_its_key_and_value(change, message):
    with pytest.raises(BadPlan, match="plan mine") as caught:
        plan_file.parse_plan(MINIMAL | change, "mine")
    assert message in str(caught.value)


def test_missing_plan_lists_the_shipped_ones(tmp_path):
    with pytest.raises(
        BadPlan, match=r"plan nothing can't be read: .*shipped are attempts-sft, boxed-sft"
    ):
        plan_file.load_plan("nothing")
    (tmp_path / "torn.toml").write_text("name = ")
    with pytest.raises(BadPlan, match="is no TOML"):
        plan_file.load_plan(tmp_path / "torn.toml")
