"""DPO from guided pairs, for real: attempts that an agent made, a tiny model, TRL's own loss on our masks."""

import pytest
import torch

from tests.builders import guided_attempts, training_runs
from training.datasets.pairs import HELD_OUT
from training.plans.plan import BadPlan
from training.rollouts import chat_encoding
from training.trl import dpo

pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("ignore::FutureWarning")]


def build_plan(base, **pairs):
    optimiser = {"learning_rate": 5e-3, "batch": 2, "micro_batch": 2, "epochs": 20, "max_steps": 8}
    tables = {"adapter": {"rank": 8, "alpha": 16}, "pairs": {"max_tokens": 4096} | pairs}
    return training_runs.build_plan("dpo", base, optimiser=optimiser, **tables)


@pytest.fixture(scope="module")
def attempts(tmp_path_factory):
    root = tmp_path_factory.mktemp("pie") / "tree"
    return [
        one for number in range(1, 4) for one in guided_attempts.build_judged_pair(root, number)
    ]


def compute_likelihood(model, tokenizer, trajectory, *, own: bool) -> float:
    """The log-probability of an attempt's own words, or of what it was told."""
    found = chat_encoding.encode_attempt(tokenizer, trajectory)
    ids = torch.tensor([found.prompt + found.completion])
    with torch.no_grad():
        scores = model(input_ids=ids).logits[0, :-1].log_softmax(-1)
    chances = scores.gather(1, ids[0, 1:, None])[:, 0][len(found.prompt) - 1 :]
    return float(chances[torch.tensor(found.own_mask) == int(own)].sum())


def test_better_attempt_becomes_likelier_than_the_first(base, attempts, tmp_path):
    made = dpo.build_trainer(build_plan(base), attempts, {"octo/pie#3"}, tmp_path)
    assert made.left_out == {HELD_OUT: 1}
    assert len(made.train_dataset) == 2
    first, second = attempts[4:]  # of the issue that was held out
    chosen = second.trajectory.remove_guidance()

    def gap() -> float:
        model, tokenizer = made.model.eval(), made.processing_class
        better = compute_likelihood(model, tokenizer, chosen, own=True)
        return better - compute_likelihood(model, tokenizer, first.trajectory, own=True)

    before = gap()
    made.train()
    assert gap() > before + 1
    losses = [one["loss"] for one in made.state.log_history if "loss" in one]
    assert losses[0] == pytest.approx(0.6931, abs=1e-3)  # log 2: as likely as under the base
    assert losses[-1] < 0.5


def test_only_the_agents_own_tokens_are_learnt(base, attempts, tmp_path):
    made = dpo.build_trainer(build_plan(base), attempts[:2], set(), tmp_path)
    (row,) = made.train_dataset
    batch = made.data_collator([row, row])
    words = [
        made.processing_class.decode(ids[mask.bool()])
        for ids, mask in zip(batch["input_ids"], batch["completion_mask"], strict=True)
    ]
    for text, trajectory in zip(words[::2], (attempts[1], attempts[0]), strict=True):
        replies = [one.reply.content for one in trajectory.trajectory.steps]
        assert text == "".join(f"{one}<|im_end|>" for one in replies)
    assert words[0] == words[1]
    assert "rounded" not in made.processing_class.decode(row["prompt_ids"])


def test_flip_rate_selects_the_robust_loss(base, attempts, tmp_path):
    made = dpo.build_trainer(build_plan(base, flip_rate=0.1), attempts, set(), tmp_path)
    assert (made.args.loss_type, made.args.label_smoothing) == (["robust"], 0.1)


@pytest.mark.parametrize(
    ("changes", "held_out", "said"),
    [
        ({}, {"octo/pie#1", "octo/pie#2", "octo/pie#3"}, "none of 6 attempts .* held out"),
        ({"max_tokens": 10}, set(), "longer than the plan's longest"),
    ],
)
def test_training_without_a_pair_is_refused_with_the_reason(
    base, attempts, tmp_path, changes, held_out, said
):
    with pytest.raises(BadPlan, match=said):
        dpo.build_trainer(build_plan(base, **changes), attempts, held_out, tmp_path)
