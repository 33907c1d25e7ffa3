"""DPO from guided pairs, for real: attempts that an agent made, a tiny model, TRL's own loss on our masks."""

import math
from dataclasses import replace

import pytest
import torch
from peft import PeftModel

from model.protocols import Message
from tests.builders import guided_attempts
from tests.builders.models import training_runs
from training.datasets.attempt_pairs import HELD_OUT, StagePair
from training.plans.plan import BadPlan
from training.rollouts import chat_encoding
from training.trl import dpo, model_loading, sft

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


@pytest.mark.parametrize("flip_rate", [0.0, 0.1])
def test_loss_is_that_of_the_formula(base, attempts, tmp_path, flip_rate):
    """Agent-RLVR, equation 2: -log σ(β·margin) over the agent's own tokens; robust DPO with a rate of flipped labels.

    The margin is the gain of the better attempt over the reference minus that of the other one. Here both come from
    the logits of the model, without TRL.
    """
    plan = build_plan(base, flip_rate=flip_rate)
    made = dpo.build_trainer(plan, attempts[:2], set(), tmp_path)
    made.train()
    model, tokenizer = made.model.eval(), made.processing_class
    better, other = attempts[1].trajectory.remove_guidance(), attempts[0].trajectory

    def measure_gap() -> float:
        return compute_likelihood(model, tokenizer, better, own=True) - compute_likelihood(
            model, tokenizer, other, own=True
        )

    trained = measure_gap()
    with model.disable_adapter():
        margin = plan.pairs.beta * (trained - measure_gap())
    batch = made._prepare_inputs(made.data_collator([made.train_dataset[0]]))
    with torch.no_grad():
        loss = float(made.compute_loss(model, batch))
    assert margin > 0.1, "a step must have moved the model, else every loss is log 2"
    right, wrong = math.log(1 + math.exp(-margin)), math.log(1 + math.exp(margin))
    formula = ((1 - flip_rate) * right - flip_rate * wrong) / (1 - 2 * flip_rate)
    assert loss == pytest.approx(formula, abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "held_out", "message"),
    [
        ({}, {"octo/pie#1", "octo/pie#2", "octo/pie#3"}, "none of 6 attempts .* held out"),
        ({"max_tokens": 10}, set(), "longer than the plan's longest"),
    ],
)
def test_training_without_a_pair_is_refused_with_the_reason(
    base, attempts, tmp_path, changes, held_out, message
):
    with pytest.raises(BadPlan, match=message):
        dpo.build_trainer(build_plan(base, **changes), attempts, held_out, tmp_path)


def test_stage_of_a_pipeline_is_a_row_of_its_own_prompt(base):
    tokenizer = model_loading.load_tokenizer(build_plan(base))
    prompt = (Message("user", "Where is it?"),)
    row = dpo._build_row(tokenizer, StagePair("o/r#1", "locate", prompt, "In a.py.", "In b.py."))
    assert tokenizer.decode(row["prompt_ids"]).count("Where is it?") == 1
    assert tokenizer.decode(row["chosen_ids"]) == "In a.py.<|im_end|>"
    assert tokenizer.decode(row["rejected_ids"]) == "In b.py.<|im_end|>"
    assert set(row["chosen_own"] + row["rejected_own"]) == {1}


def build_sft_plan(base, **supervised):
    return training_runs.build_plan(
        "sft",
        base,
        adapter={"rank": 8, "alpha": 16},
        prompt={"template": "mini_se"},
        supervised={"task": "attempts", "max_tokens": 4096} | supervised,
        optimiser={"learning_rate": 5e-3, "batch": 2, "micro_batch": 2, "epochs": 5},
    )


@pytest.fixture(scope="module")
def positives(attempts):
    """Three correct attempts without a hint."""
    return [
        replace(one, trajectory=replace(one.trajectory, guidance=None)) for one in attempts[1::2]
    ]


def sum_replies(model, batch):
    """Reference log-probabilities of each row's own tokens, by a plain forward pass."""
    mask = batch["completion_mask"][:, 1:]
    with torch.no_grad():
        scores = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    logs = scores[:, :-1].log_softmax(-1).gather(2, batch["input_ids"][:, 1:, None])[..., 0]
    return (logs * mask).sum(1)


def test_reference_is_the_adapter_of_the_supervised_stage(base, attempts, positives, tmp_path):
    warm = sft.build_attempt_trainer(build_sft_plan(base), positives, set(), tmp_path / "sft")
    warm.train()
    warm.save_model(str(tmp_path / "sft" / "adapter"))
    plan = build_plan(base)
    plan = replace(plan, model=replace(plan.model, adapter=str(tmp_path / "sft" / "adapter")))
    made = dpo.build_trainer(plan, attempts, set(), tmp_path / "dpo")
    rows = list(made.train_dataset)
    batch = made.data_collator(rows)
    plain = model_loading.load_causal_model(plan)
    of_base = sum_replies(plain, batch)
    of_warm = sum_replies(PeftModel.from_pretrained(plain, plan.model.adapter).eval(), batch)
    assert (of_warm - of_base).abs().min() > 1
    made.train()
    reference = torch.cat(made.compute_ref_log_probs(made.model.eval(), batch))
    assert torch.allclose(reference, of_warm, atol=1e-3)
    losses = [one["loss"] for one in made.state.log_history if "loss" in one]
    assert losses[0] == pytest.approx(0.6931, abs=1e-3)  # log 2: the start is the reference
    assert losses[-1] < 0.5
    assert (sum_replies(made.model, batch) - of_warm).abs().max() > 1


def test_share_of_the_positives_is_drawn_for_every_epoch(base, positives, tmp_path):
    plan = build_sft_plan(base, share=0.4)  # of three attempts, rounded up
    made = sft.build_attempt_trainer(plan, positives, set(), tmp_path)
    shown = [tuple(row["input_ids"]) for row in made.train_dataset]
    assert len(shown) == 2 * 5
    assert len(set(shown)) == 2
    first = next(iter(made.train_dataset))
    learnt = [token for token in first["labels"] if token != -100]
    replies = [one.reply.content for one in positives[0].trajectory.steps]
    assert made.processing_class.decode(learnt) == "".join(f"{one}<|im_end|>" for one in replies)


def test_supervised_stage_without_a_positive_is_refused(base, attempts, positives, tmp_path):
    # the second attempt of each pair had a hint, and the first is incorrect
    with pytest.raises(BadPlan, match=r"none of 6 attempts makes an example .* 'attempts'"):
        sft.build_attempt_trainer(build_sft_plan(base), attempts, set(), tmp_path)
    with pytest.raises(BadPlan, match="longer than the plan's longest"):
        sft.build_attempt_trainer(
            build_sft_plan(base, max_tokens=10), positives, set(), tmp_path / "short"
        )
