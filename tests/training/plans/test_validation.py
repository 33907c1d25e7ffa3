"""What a plan sets and nobody would read is refused, and so is a question whose answers are not what is learnt."""

import pytest

from training.plans import plan_file, validation

BASES = {
    "grpo": {},
    "sft": {},
    "dpo": {"prompt": {"template": "mini_se"}},
    "reward-model": {"prompt": {"template": "yes_no"}},
}
REPAIR = {"rollout": {"task": "repair"}, "prompt": {"template": "mini_se"}}


def list_objections(trainer, **tables):
    written = {"name": "mine", "trainer": trainer, "model": {"base": "somewhere"}}
    for tables_of in (BASES[trainer], tables):
        written |= {name: written.get(name, {}) | table for name, table in tables_of.items()}
    return list(validation.list_objections(plan_file.parse_plan(written, "mine")))


@pytest.mark.parametrize("imitation", ["continuous", "discrete"])
@pytest.mark.parametrize("template", ["swe_rl_repair", "/my/repair.j2"])
def test_plan_of_imitation_chooses_its_reward(imitation, template):
    rollout = {"task": "imitate", "imitation": imitation}
    assert list_objections("grpo", rollout=rollout, prompt={"template": template}) == []


@pytest.mark.parametrize("trainer", BASES)
def test_minimal_plan_has_no_objection(trainer):
    assert list_objections(trainer) == []


@pytest.mark.parametrize(
    ("trainer", "tables", "key", "reader"),
    [
        ("sft", {"policy": {"kl": 0.5}}, "policy.kl = 0.5", 'trainer = "grpo"'),
        ("sft", {"rollout": {"engine": "server"}}, "rollout.engine = server", 'trainer = "grpo"'),
        ("sft", {"rollout": {"url": "a"}}, "rollout.url = a", 'trainer = "grpo"'),
        ("sft", {"prompt": {"max_tokens": 9}}, "prompt.max_tokens = 9", 'trainer = "grpo"'),
        ("sft", {"supervised": {"share": 0.5}}, "supervised.share = 0.5", 'supervised.task = "attempts"'),
        ("sft", {"supervised": {"trajectories": True}}, "supervised.trajectories = True", 'supervised.task = "yes-no"'),
        ("sft", {"pairs": {"beta": 0.2}}, "pairs.beta = 0.2", 'trainer = "dpo"'),
        ("sft", {"pairs": {"max_tokens": 9}}, "pairs.max_tokens = 9", 'trainer = "dpo" or "reward-model"'),
        ("dpo", {"pairs": {"margin": True}}, "pairs.margin = True", 'trainer = "reward-model"'),
        ("dpo", {"scale": {"rollout_tensor_parallel": 2}}, "scale.rollout_tensor_parallel = 2", 'trainer = "grpo"'),
        ("reward-model", {"pairs": {"flip_rate": 0.1}}, "pairs.flip_rate = 0.1", 'trainer = "dpo"'),
        ("grpo", {"supervised": {"max_tokens": 9}}, "supervised.max_tokens = 9", 'trainer = "sft"'),
        ("grpo", {"rollout": {"url": "a"}}, "rollout.url = a", 'rollout.engine = "server"'),
        (
            "grpo",
            {"scale": {"rollout_tensor_parallel": 16}},
            "scale.rollout_tensor_parallel = 16",
            'rollout.engine = "colocated"',
        ),
        ("grpo", {"rollout": {"gpu_memory": 0.3}}, "rollout.gpu_memory = 0.3", 'rollout.engine = "colocated"'),
        ("grpo", {"rollout": {"max_turns": 3}}, "rollout.max_turns = 3", 'rollout.task = "repair"'),
        ("grpo", {"reward": {"votes": 3}}, "reward.votes = 3", 'rollout.task = "repair"'),
        (
            "grpo",
            {"rollout": {"imitation": "discrete"}},
            "rollout.imitation = discrete",
            'rollout.task = "imitate"',
        ),
        (
            "grpo",
            {"policy": {"importance_ceiling": 2.0}},
            "policy.importance_ceiling = 2.0",
            "another policy.importance than off",
        ),
    ],
)  # fmt: skip
def test_unused_setting_is_named_with_its_reader(trainer, tables, key, reader):
    assert list_objections(trainer, **tables) == [
        f"{key} has an effect only with {reader}; remove it"
    ]


def test_warm_up_is_steps_or_a_share():
    assert list_objections("sft", optimiser={"warmup_ratio": 0.1, "warmup_steps": 5}) == [
        "optimiser.warmup_ratio = 0.1 beside warmup_steps = 5: give one of them"
    ]


def test_binary_reward_needs_votes_on_each_patch():
    rewards = {"binary": True, "verifier": "yes-no"}
    (objection,) = list_objections("grpo", **REPAIR, reward=rewards)
    assert objection == (
        "reward.binary = true needs votes on each patch, and reward.verifier = 'yes-no' has none; use r4p or "
        "pointwise, or binary = false"
    )
    assert list_objections("grpo", **REPAIR, reward=rewards | {"verifier": "pointwise"}) == []


@pytest.mark.parametrize(
    ("trainer", "tables"),
    [
        ("sft", {"supervised": {"max_tokens": 9}}),
        ("sft", {"supervised": {"task": "attempts", "share": 0.5}, "prompt": {"template": "mini_se"}}),
        ("sft", {"supervised": {"task": "yes-no", "trajectories": True}, "prompt": {"template": "yes_no"}}),
        ("sft", {"optimiser": {"warmup_ratio": 0.1}}),
        ("dpo", {"pairs": {"beta": 0.2, "flip_rate": 0.1, "max_tokens": 9}}),
        ("reward-model", {"pairs": {"margin": True, "max_tokens": 9}}),
        ("grpo", {"rollout": {"engine": "server", "url": "a", "api_key_file": "b"}}),
        ("grpo", {"rollout": {"engine": "colocated"}, "scale": {"rollout_tensor_parallel": 2, "processes": 2}}),
        ("grpo", {"policy": {"importance": "token-mask", "importance_ceiling": 2.0}}),
        ("grpo", {"rollout": {**REPAIR["rollout"], "max_turns": 3}, "prompt": REPAIR["prompt"]}),
        ("grpo", {**REPAIR, "reward": {"votes": 3}}),
    ],
)  # fmt: skip
def test_used_setting_is_allowed(trainer, tables):
    assert list_objections(trainer, **tables) == []


def test_all_objections_are_listed_at_once():
    objection = list_objections(
        "sft", policy={"kl": 0.5, "drop_uniform_groups": True}, rollout={"top_p": 0.1}
    )
    assert [one.split(" = ")[0] for one in objection] == [
        "rollout.top_p",
        "policy.kl",
        "policy.drop_uniform_groups",
    ]


@pytest.mark.parametrize(
    ("trainer", "tables", "fix"),
    [
        (
            "grpo",
            {"prompt": {"template": "yes_no"}},
            "give 'r4p_group' or 'r4p_appendix_b', or a file of your own",
        ),
        ("grpo", {"rollout": {"task": "repair"}}, "give 'mini_se'"),
        ("grpo", {"rollout": {"task": "imitate"}}, "give 'swe_rl_repair', or a file of your own"),
        ("grpo", {**REPAIR, "prompt": {"template": "/my/agent.j2"}}, "give 'mini_se'"),
        ("sft", {"supervised": {"task": "yes-no"}}, "give 'yes_no', or a file of your own"),
        (
            "sft",
            {"prompt": {"template": "most_likely"}},
            "give 'r4p_group' or 'r4p_appendix_b', or a file",
        ),
        ("reward-model", {"prompt": {"template": "r4p_group"}}, "give 'yes_no', or a file"),
        ("dpo", {"prompt": {"template": "r4p_group"}}, "give 'mini_se', or a file"),
    ],
)
def test_template_of_another_task_is_refused(trainer, tables, fix):
    (objection,) = list_objections(trainer, **tables)
    assert "does not match what this plan trains" in objection
    assert fix in objection


@pytest.mark.parametrize("trainer", BASES)
def test_own_template_is_allowed(trainer):
    assert list_objections(trainer, prompt={"template": "/my/question.j2"}) == []


def test_shipped_plans_fit_the_context_of_their_models():
    # Qwen2.5-Coder reads 32,768 tokens, in all sizes
    named = [plan_file.load_plan(name) for name in plan_file.list_shipped_plans()]
    for one in named:
        if one.model.base.startswith("Qwen/Qwen2.5-Coder"):
            assert sum(validation.list_sequence_limits(one).values()) <= 32_768, one.name
