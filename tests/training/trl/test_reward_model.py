"""A reward model, for real: a tiny one learns which of two patches is the better."""

from dataclasses import replace

import pytest
import torch

from tests.builders import tiny_model
from training.datasets.pairs import build_preferences
from training.plans import plan_file
from training.plans.plan import BadPlan
from training.rollouts.tokenization import TOO_LONG
from training.trl import reward_model
from training.trl.reward_model import UNREADABLE

pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("ignore::FutureWarning")]


def plan(base, optimiser=None, adapter=None, **pairs):
    written = {
        "name": "scores",
        "trainer": "reward-model",
        "model": {"base": str(base), "dtype": "float32", "gradient_checkpointing": False},
        "prompt": {"template": "yes_no"},
        "pairs": {"max_tokens": 2048} | pairs,
        "optimiser": {"learning_rate": 1e-3, "batch": 8, "micro_batch": 8, "max_steps": 12}
        | (optimiser or {}),
    }
    return plan_file.parse_plan(
        written | ({"adapter": adapter} if adapter else {}), "the test's plan"
    )


def groups(count, seed=0):
    """Groups of two correct patches and two that are not."""
    draw = tiny_model.groups(count, seed)
    return [
        replace(
            one,
            patches=tuple(
                tiny_model.diff("limit", 7 * at + seat, guarded=seat < 2) for seat in range(4)
            ),
            targets=(1.0, 1.0, 0.0, 0.0),
        )
        for at, one in enumerate(draw)
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_model.random_model(tmp_path_factory.mktemp("base"))


def right(made, asked) -> float:
    """The share of pairs of which the better patch has the higher score."""

    def score(statement, patch):
        ids = reward_model.tokenize_scored_patch(asked, made.processing_class, statement, patch)
        return float(made.model(input_ids=torch.tensor([ids])).logits)

    made.model.eval()
    with torch.no_grad():
        pairs = build_preferences(groups(6, seed=77))
        hits = [score(one.statement, one.better) > score(one.statement, one.worse) for one in pairs]
    return sum(hits) / len(hits)


def test_the_better_patch_gets_the_higher_score(base, tmp_path):
    asked = plan(base)
    made = reward_model.build_trainer(asked, groups(24), tmp_path)
    assert len(made.train_dataset) == 96
    made.train()
    losses = [one["loss"] for one in made.state.log_history if "loss" in one]
    assert losses[-1] < 0.3 < losses[0]
    assert right(made, asked) >= 0.9


def test_an_adapter_keeps_the_new_head_beside_it(base, tmp_path):
    asked = plan(base, optimiser={"max_steps": 1}, adapter={"rank": 4, "alpha": 8})
    made = reward_model.build_trainer(asked, groups(2), tmp_path)
    trained = {name for name, weight in made.model.named_parameters() if weight.requires_grad}
    assert any("lora_" in name for name in trained)
    assert any("score" in name for name in trained)


def test_scores_may_be_asked_to_lie_as_far_apart_as_the_targets(base, tmp_path):
    unsure = [replace(one, targets=(0.75, 0.75, 0.25, 0.25)) for one in groups(1)]
    made = reward_model.build_trainer(plan(base, margin=True), unsure, tmp_path)
    assert made.train_dataset["margin"][:] == [0.5] * 4
    assert "margin" not in reward_model.build_trainer(plan(base), unsure, tmp_path).train_dataset[0]


def test_what_can_not_be_scored_is_left_out_and_counted(base, tmp_path):
    good, bad, long = groups(3)
    bad = replace(bad, patches=("no diff", *bad.patches[1:]))
    long = replace(long, problem_statement="word\n" * 3000)
    made = reward_model.build_trainer(plan(base), [good, bad, long], tmp_path)
    assert made.left_out == {UNREADABLE: 2, TOO_LONG: 4}


def test_groups_without_a_pair_are_refused(base, tmp_path):
    with pytest.raises(BadPlan, match="none of 2 groups has a correct and an incorrect patch"):
        reward_model.build_trainer(plan(base), tiny_model.groups(2), tmp_path)
