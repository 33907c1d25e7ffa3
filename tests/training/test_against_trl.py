"""Our advantages and losses beside those of TRL's own trainer, on random numbers."""

import math
import random

import pytest
import torch
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from tests.training import tiny
from training.advantages import TRL_EPSILON, grpo, leave_one_out, without_deviation
from training.grpo import grouped
from training.losses import averaged, token
from training.plan import Loss, Policy

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
REPLIES = 8
LONGEST = 12


class Told(GRPOTrainer):
    """TRL's trainer, which is told the log-probabilities instead of asking its model."""

    told: torch.Tensor

    def _get_per_token_logps_and_entropies(self, *_, **__):
        return self.told, torch.zeros_like(self.told), None


def random_rewards(draw, groups=40):
    """Shares of four, some unknown, some groups all equal, some with a single reward that is known."""
    found = [[draw.randrange(5) / 4 for _ in range(REPLIES)] for _ in range(groups)]
    for group in found[: groups // 2]:
        group[draw.randrange(REPLIES)] = None
    # quarters are exact in TRL's 32 bits; of eight times 0.1 it keeps a deviation, and pushes by 7e-5 where we don't
    found[-1] = [0.75] * REPLIES
    found[-2] = [0.5] + [None] * (REPLIES - 1)
    found[-3] = [None] * REPLIES
    return found


REWARDS = random_rewards(random.Random(3))


@pytest.fixture(scope="module")
def trainer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trl")
    model = tiny.random_model(folder / "model")
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
    made = Told(
        model=str(model),
        reward_funcs=[reward],
        rollout_func=rollout,
        args=settings,
        train_dataset=Dataset.from_list([{"prompt": str(at)} for at in range(len(REWARDS))]),
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    made.model.train()
    made.current_gradient_accumulation_steps = 1
    return made


@pytest.mark.parametrize(
    ("scale", "ours"),
    [
        ("group", lambda rewards: grpo(rewards, TRL_EPSILON)),
        ("none", without_deviation),
    ],
)
def test_advantages_are_trls_also_where_rewards_are_unknown(trainer, scale, ours):
    trainer.scale_rewards = scale
    asked = [{"prompt": str(at)} for at in range(len(REWARDS)) for _ in range(REPLIES)]
    theirs = trainer._generate_and_score_completions(asked)["advantages"].tolist()
    expected = [one or 0.0 for group in REWARDS for one in ours(group)]
    assert theirs == pytest.approx(expected, abs=1e-6)


def test_leaving_one_out_is_trls_difference_from_the_mean_by_the_count_that_was_scored(trainer):
    trainer.scale_rewards = "none"
    asked = [{"prompt": str(at)} for at in range(len(REWARDS)) for _ in range(REPLIES)]
    theirs = trainer._generate_and_score_completions(asked)["advantages"].tolist()
    for at, group in enumerate(REWARDS):
        scored = sum(one is not None for one in group)
        factor = scored / (scored - 1) if scored > 1 else 0.0
        expected = [one * factor for one in theirs[at * REPLIES : (at + 1) * REPLIES]]
        assert [one or 0.0 for one in leave_one_out(group)] == pytest.approx(expected, abs=1e-6)


def test_our_trainer_gives_every_group_its_own_advantages():
    flat = [math.nan if one is None else one for group in REWARDS for one in group]
    expected = [one or 0.0 for group in REWARDS for one in leave_one_out(group)]
    assert grouped(flat, REPLIES, leave_one_out) == expected


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("dapo", Loss.TOKEN_MEAN),
        ("grpo", Loss.SEQUENCE_MEAN),
        ("dr_grpo", Loss.CONSTANT_LENGTH),
    ],
)
def test_losses_are_trls(trainer, name, how):
    draw, count = random.Random(4), 24
    ratios = [[draw.gauss(0, 1.5) for _ in range(LONGEST)] for _ in range(count)]
    advantages = [draw.gauss(0, 1) for _ in range(count)]
    lengths = [draw.randint(1, LONGEST) for _ in range(count - 1)] + [0]
    kept = [[at < length for at in range(LONGEST)] for length in lengths]

    trainer.loss_type = name
    trainer.told = torch.tensor(ratios, dtype=torch.float64)
    ids = torch.ones(count, LONGEST, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": ids[:, :1],
        "completion_ids": ids,
        "completion_mask": torch.tensor(kept, dtype=torch.long),
        "advantages": torch.tensor(advantages, dtype=torch.float64),
        "old_per_token_logps": torch.zeros_like(trainer.told),
        "num_items_in_batch": torch.tensor(sum(lengths)),
    }
    theirs = trainer._compute_loss(trainer.model, inputs).item()

    losses = [
        [token(ratio, advantage, Policy()) for ratio in row]
        for row, advantage in zip(ratios, advantages, strict=True)
    ]
    assert theirs == pytest.approx(averaged(losses, kept, how, LONGEST), abs=1e-6)
