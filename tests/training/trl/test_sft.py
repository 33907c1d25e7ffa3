"""Supervised fine-tuning, for real: a tiny model learns a rule, and the bot's own verifiers judge by what it learnt."""

from dataclasses import replace

import pytest

from model.domain import Issue, Patch, PatchId
from model.engines.local_transformers import LocalTransformers
from model.prompts import prompt_template
from model.verifiers.vote_sampling import Sampling
from model.verifiers.vote_schemes import R4PVerifier
from model.verifiers.voting_verifier import VotingOptions
from model.verifiers.yes_no import YesNoVerifier
from tests.builders.models import tiny_model, training_runs
from training.plans.plan import BadPlan
from training.trl import sft

pytestmark = [
    pytest.mark.model,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TEMPLATES = {"boxed": "r4p_group", "yes-no": "yes_no"}


def build_plan(base, task, **changes):
    prompt = {"template": TEMPLATES.get(task, "r4p_group")}
    optimiser = {"learning_rate": 3e-3, "batch": 8, "micro_batch": 8, "epochs": 8, "max_steps": 45}
    supervised = {"task": task, "max_tokens": 2048}
    tables = {"prompt": prompt, "supervised": supervised, "optimiser": optimiser} | changes
    return training_runs.build_plan("sft", base, **tables)


def measure_accuracy(directory, task) -> float:
    """The share of patches of new groups that the bot's verifier judges rightly with these weights."""
    engine = LocalTransformers(directory, model="tiny", context_tokens=tiny_model.CONTEXT)
    kind = R4PVerifier if task == "boxed" else YesNoVerifier
    short = VotingOptions(Sampling(max_tokens=16))
    verifier = kind(engine, prompt_template.load(TEMPLATES[task]), short)
    hits = []
    for group in tiny_model.build_groups(12, seed=99):
        patches = [Patch(PatchId(f"{at}"), one) for at, one in enumerate(group.patches)]
        issue = Issue(*group.problem_statement.split("\n\n", 1))
        verdict = verifier.verify(issue, patches, votes=1)
        for one, target in zip(verdict.patches, group.targets, strict=True):
            hits.append(one.score is not None and (one.score >= 0.5) == bool(target))
    return sum(hits) / len(hits)


@pytest.mark.parametrize("task", ["boxed", "yes-no"])
def test_model_learns_to_judge_from_given_answers(base, tmp_path, task):
    trainer = sft.build_trainer(
        build_plan(base, task), tiny_model.build_groups(64), tmp_path / "run"
    )
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    assert losses[-1] < losses[0] / 10
    trainer.save_model(str(tmp_path / "learnt"))
    assert measure_accuracy(tmp_path / "learnt", task) >= 0.8
    assert measure_accuracy(base, task) <= 0.6


def test_only_the_reply_is_learnt_and_long_examples_are_left_out(base, tmp_path):
    groups = tiny_model.build_groups(8)
    long = replace(groups[0], key="long", problem_statement="word\n" * 3000)
    made = sft.build_trainer(build_plan(base, "boxed"), [*groups, long], tmp_path)
    assert made.left_out == {"longer than the plan's longest": 8}
    row = made.train_dataset[0]
    learnt = [token for token in row["labels"] if token != -100]
    assert made.processing_class.decode(learnt) in {
        "\\boxed{}<|im_end|>",
        "\\boxed{1, 2, 3, 4}<|im_end|>",
    }
    assert row["input_ids"][-len(learnt) :] == learnt


def test_adapter_trains_lora_weights_only(base, tmp_path):
    small = build_plan(
        base,
        "boxed",
        adapter={"rank": 4, "alpha": 8},
        optimiser={"learning_rate": 1e-3, "batch": 2, "micro_batch": 1, "max_steps": 1},
    )
    made = sft.build_trainer(small, tiny_model.build_groups(4), tmp_path)
    assert made.args.gradient_accumulation_steps == 2
    trained = [name for name, weight in made.model.named_parameters() if weight.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supervised": {"max_tokens": 5}}, "none of 2 groups makes an example"),
        (
            {"optimiser": {"batch": 3, "micro_batch": 2}},
            "optimiser.batch = 3 makes 3 sequences, not a multiple of the 2",
        ),
        ({"model": {"base": "/nowhere"}}, "model.base = '/nowhere' has no tokenizer"),
    ],
)
def test_plan_that_cannot_be_followed_is_refused_with_the_fix(base, tmp_path, changes, message):
    with pytest.raises(BadPlan, match=message):
        sft.build_trainer(
            build_plan(base, "boxed", **changes), tiny_model.build_groups(2), tmp_path
        )
