"""A reward model, for real: a tiny one learns which of two patches is the better."""

import math
from dataclasses import replace

import pytest
import torch

from tests.builders.models import tiny_model, training_runs
from training.datasets.pairs import build_preferences
from training.plans.plan import BadPlan
from training.rollouts.tokenization import TOO_LONG
from training.trl import reward_model
from training.trl.reward_model import UNREADABLE

pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("ignore::FutureWarning")]


def build_plan(base, optimiser=None, adapter=None, **pairs):
    small = {"learning_rate": 1e-3, "batch": 8, "micro_batch": 8, "max_steps": 12}
    tables = {"prompt": {"template": "yes_no"}, "pairs": {"max_tokens": 2048} | pairs}
    tables |= {"adapter": adapter} if adapter else {}
    return training_runs.build_plan(
        "reward-model", base, optimiser=small | (optimiser or {}), **tables
    )


def build_groups(count, seed=0):
    """Groups of two correct patches and two that are not."""
    draw = tiny_model.build_groups(count, seed)
    return [
        replace(
            one,
            patches=tuple(
                tiny_model.build_diff("limit", 7 * at + seat, guarded=seat < 2) for seat in range(4)
            ),
            targets=(1.0, 1.0, 0.0, 0.0),
        )
        for at, one in enumerate(draw)
    ]


def measure_accuracy(trainer, plan) -> float:
    """The share of pairs of which the better patch has the higher score."""

    def score(statement, patch):
        ids = reward_model.tokenize_scored_patch(plan, trainer.processing_class, statement, patch)
        return float(trainer.model(input_ids=torch.tensor([ids])).logits)

    trainer.model.eval()
    with torch.no_grad():
        pairs = build_preferences(build_groups(6, seed=77))
        hits = [score(one.statement, one.better) > score(one.statement, one.worse) for one in pairs]
    return sum(hits) / len(hits)


def test_better_patch_gets_the_higher_score(base, tmp_path):
    plan = build_plan(base)
    trainer = reward_model.build_trainer(plan, build_groups(24), tmp_path)
    assert len(trainer.train_dataset) == 96
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    assert losses[-1] < 0.3 < losses[0]
    assert measure_accuracy(trainer, plan) >= 0.9


def compute_pair_loss(base, folder, *, scores=None, **pairs):
    """TRL's loss of the first two pairs, and their (better, worse) scores; with `scores` False the head gives zeros."""
    unsure = [replace(one, targets=(0.75, 0.75, 0.25, 0.25)) for one in build_groups(1)]
    trainer = reward_model.build_trainer(build_plan(base, **pairs), unsure, folder)
    if scores is False:
        trainer.model.score.weight.data.zero_()
    trainer.model.eval()
    batch = trainer.data_collator([trainer.train_dataset[at] for at in range(2)])
    with torch.no_grad():
        better, worse = trainer.model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).logits.view(2, 2)
        loss = trainer.compute_loss(trainer.model, batch)
    return float(loss), list(zip(better.tolist(), worse.tolist(), strict=True))


def test_loss_is_the_negative_log_likelihood_of_bradley_and_terry(base, tmp_path):
    """P(better wins) = e^b / (e^b + e^w), in Bradley and Terry's own form; the loss is the mean of -log P."""
    loss, pairs = compute_pair_loss(base, tmp_path)
    likelihoods = [math.exp(b) / (math.exp(b) + math.exp(w)) for b, w in pairs]
    assert len({round(b - w, 4) for b, w in pairs}) == 2, "two pairs of different scores"
    assert loss == pytest.approx(-sum(map(math.log, likelihoods)) / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("margin", "number"),
    # log 2 at equal scores; log(1 + e^0.5) where the better patch should lead by 0.75 - 0.25
    [(False, 0.6931472), (True, 0.9740770)],
)
def test_loss_of_equal_scores_is_an_exact_number(base, tmp_path, margin, number):
    loss, pairs = compute_pair_loss(base, tmp_path, scores=False, margin=margin)
    assert pairs == [(0.0, 0.0)] * 2
    assert loss == pytest.approx(number, abs=1e-6)


def test_adapter_trains_the_score_head_too(base, tmp_path):
    plan = build_plan(base, optimiser={"max_steps": 1}, adapter={"rank": 4, "alpha": 8})
    trainer = reward_model.build_trainer(plan, build_groups(2), tmp_path)
    trained = {name for name, weight in trainer.model.named_parameters() if weight.requires_grad}
    assert any("lora_" in name for name in trained)
    assert any("score" in name for name in trained)


def test_margin_is_the_distance_of_the_targets(base, tmp_path):
    unsure = [replace(one, targets=(0.75, 0.75, 0.25, 0.25)) for one in build_groups(1)]
    trainer = reward_model.build_trainer(build_plan(base, margin=True), unsure, tmp_path)
    assert trainer.train_dataset["margin"][:] == [0.5] * 4
    assert (
        "margin"
        not in reward_model.build_trainer(build_plan(base), unsure, tmp_path).train_dataset[0]
    )


def test_unusable_pairs_are_left_out_and_counted(base, tmp_path):
    good, bad, long = build_groups(3)
    bad = replace(bad, patches=("no diff", *bad.patches[1:]))
    long = replace(long, problem_statement="word\n" * 3000)
    trainer = reward_model.build_trainer(build_plan(base), [good, bad, long], tmp_path)
    assert trainer.left_out == {UNREADABLE: 2, TOO_LONG: 4}


def test_groups_without_a_pair_are_refused(base, tmp_path):
    with pytest.raises(BadPlan, match="none of 2 groups has a correct and an incorrect patch"):
        reward_model.build_trainer(build_plan(base), tiny_model.build_groups(2), tmp_path)
