"""Our advantages and losses beside those of TRL's own trainer, on random numbers."""

import math
import random

import pytest
import torch
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from tests.builders.models import tiny_model
from tests.builders.models.policy_loss import average_loss, compute_token_loss
from training.objective.policy_gradient import (
    TRL_EPSILON,
    normalise_by_group,
    subtract_leave_one_out,
    subtract_mean,
)
from training.plans.plan import LossAggregation, PolicySettings
from training.trl.grpo import compute_group_advantages

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
REPLIES = 8
LONGEST = 12


class FixedLogprobTrainer(GRPOTrainer):
    """TRL's trainer, which is told the log-probabilities instead of asking its model."""

    told: torch.Tensor

    def _get_per_token_logps_and_entropies(self, *_, **__):
        return self.told, torch.zeros_like(self.told), None


def draw_rewards(draw, groups=40):
    """Shares of four, some unknown, some groups all equal, some with a single reward that is known."""
    rewards = [[draw.randrange(5) / 4 for _ in range(REPLIES)] for _ in range(groups)]
    for group in rewards[: groups // 2]:
        group[draw.randrange(REPLIES)] = None
    # quarters are exact in TRL's 32 bits; of eight times 0.1 it keeps a deviation, and pushes by 7e-5 where we don't
    rewards[-1] = [0.75] * REPLIES
    rewards[-2] = [0.5] + [None] * (REPLIES - 1)
    rewards[-3] = [None] * REPLIES
    return rewards


REWARDS = draw_rewards(random.Random(3))


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trl")
    model = tiny_model.write_random_model(folder / "model")
    flat = iter([one for group in REWARDS for one in group] * 4)

    def rollout(prompts, trainer):
        ids = [[5, 6]] * len(prompts)
        return {"prompt_ids": ids, "completion_ids": ids, "logprobs": None}

    def reward(completions, **_):
        return [next(flat) for _ in completions]

    settings = GRPOConfig(
        output_dir=str(folder / "run"),
        num_generations=REPLIES,
        per_device_train_batch_size=len(REWARDS) * REPLIES,
        max_completion_length=LONGEST,
        epsilon=0.2,
        epsilon_high=0.28,
        delta=10.0,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
    )
    fixed_trainer = FixedLogprobTrainer(
        model=str(model),
        reward_funcs=[reward],
        rollout_func=rollout,
        args=settings,
        train_dataset=Dataset.from_list([{"prompt": str(at)} for at in range(len(REWARDS))]),
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    fixed_trainer.model.train()
    fixed_trainer.current_gradient_accumulation_steps = 1
    return fixed_trainer


@pytest.mark.parametrize(
    ("scale", "own_values"),
    [
        ("group", lambda rewards: normalise_by_group(rewards, TRL_EPSILON)),
        ("none", subtract_mean),
    ],
)
def test_advantages_equal_trls(trainer, scale, own_values):
    trainer.scale_rewards = scale
    asked = [{"prompt": str(at)} for at in range(len(REWARDS)) for _ in range(REPLIES)]
    trl_values = trainer._generate_and_score_completions(asked)["advantages"].tolist()
    expected = [one or 0.0 for group in REWARDS for one in own_values(group)]
    assert trl_values == pytest.approx(expected, abs=1e-6)


def test_leave_one_out_advantages_follow_from_trls(trainer):
    trainer.scale_rewards = "none"
    asked = [{"prompt": str(at)} for at in range(len(REWARDS)) for _ in range(REPLIES)]
    trl_values = trainer._generate_and_score_completions(asked)["advantages"].tolist()
    for at, group in enumerate(REWARDS):
        scored = sum(one is not None for one in group)
        factor = scored / (scored - 1) if scored > 1 else 0.0
        expected = [one * factor for one in trl_values[at * REPLIES : (at + 1) * REPLIES]]
        assert [one or 0.0 for one in subtract_leave_one_out(group)] == pytest.approx(
            expected, abs=1e-6
        )


def test_advantages_are_computed_per_group():
    flat = [math.nan if one is None else one for group in REWARDS for one in group]
    expected = [one or 0.0 for group in REWARDS for one in subtract_leave_one_out(group)]
    assert compute_group_advantages(flat, REPLIES, subtract_leave_one_out) == expected


def compute_both_losses(trainer, draw, lengths, tokens, *, deviation):
    """TRL's loss of a micro batch of random replies, ours of each token, and which tokens are kept.

    `tokens`: in the whole round. `deviation`: of the log-ratios.
    """
    ratios = [[draw.gauss(0, deviation) for _ in range(LONGEST)] for _ in lengths]
    advantages = [draw.gauss(0, 1) for _ in lengths]
    kept = [[at < length for at in range(LONGEST)] for length in lengths]
    trainer.told = torch.tensor(ratios, dtype=torch.float64)
    ids = torch.ones(len(lengths), LONGEST, dtype=torch.long)
    told = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": ids[:, :1],
        "completion_ids": ids,
        "completion_mask": torch.tensor(kept, dtype=torch.long),
        "advantages": torch.tensor(advantages, dtype=torch.float64),
        "old_per_token_logps": torch.zeros_like(trainer.told),
        "num_items_in_batch": torch.tensor(tokens),
    }
    trl_values = trainer._compute_loss(trainer.model, told).item()
    own_values = [
        [compute_token_loss(ratio, advantage, PolicySettings()) for ratio in row]
        for row, advantage in zip(ratios, advantages, strict=True)
    ]
    return trl_values, own_values, kept


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("dapo", LossAggregation.TOKEN_MEAN),
        ("grpo", LossAggregation.SEQUENCE_MEAN),
        ("dr_grpo", LossAggregation.CONSTANT_LENGTH),
    ],
)
def test_losses_equal_trls(trainer, name, how):
    draw, count = random.Random(4), 24
    lengths = [draw.randint(1, LONGEST) for _ in range(count - 1)] + [0]
    trainer.loss_type = name
    trl_values, own_values, kept = compute_both_losses(
        trainer, draw, lengths, sum(lengths), deviation=1.5
    )
    assert trl_values == pytest.approx(average_loss(own_values, kept, how, LONGEST), abs=1e-6)


def test_step_of_half_a_round_is_averaged_over_half_of_its_tokens(trainer, monkeypatch):
    """TRL doesn't count the step's own tokens: the steps of a round come to our mean together, one alone does not."""
    monkeypatch.setattr(trainer, "loss_type", "dapo")
    monkeypatch.setattr(trainer, "current_gradient_accumulation_steps", 2)
    monkeypatch.setattr(trainer.args, "steps_per_generation", 4)
    draw, rows = random.Random(5), 6
    lengths = [[draw.randint(1, most) for _ in range(rows)] for most in (3, 6, LONGEST, LONGEST)]
    tokens = sum(map(sum, lengths))
    parts = [compute_both_losses(trainer, draw, one, tokens, deviation=1) for one in lengths]
    steps, shares, expected = [], [], []
    for first, second in (0, 1), (2, 3):
        steps.append(parts[first][0] + parts[second][0])
        shares.append((sum(lengths[first]) + sum(lengths[second])) / tokens)
        expected.append(2 * shares[-1] * average_parts([parts[first], parts[second]]))
    assert shares[0] < 0.45
    assert steps == pytest.approx(expected, abs=1e-6)
    assert sum(steps) / 2 == pytest.approx(average_parts(parts), abs=1e-6)


def average_parts(parts):
    """Our mean over the tokens of these micro batches."""
    losses, kept = ([row for part in parts for row in part[at]] for at in (1, 2))
    return average_loss(losses, kept, LossAggregation.TOKEN_MEAN, LONGEST)
