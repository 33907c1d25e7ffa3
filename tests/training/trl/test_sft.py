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
from tests.builders import tiny_model
from training.plans import plan_file
from training.plans.plan import BadPlan
from training.trl import sft

pytestmark = [
    pytest.mark.model,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TEMPLATES = {"boxed": "r4p_group", "yes-no": "yes_no"}


def plan(base, task, **changes):
    return plan_file.parse_plan(
        {
            "name": task,
            "trainer": "sft",
            "model": {"base": str(base), "dtype": "float32", "gradient_checkpointing": False},
            "prompt": {"template": TEMPLATES.get(task, "r4p_group")},
            "supervised": {"task": task, "max_tokens": 2048},
            "optimiser": {
                "learning_rate": 3e-3,
                "batch": 8,
                "micro_batch": 8,
                "epochs": 8,
                "max_steps": 45,
            },
        }
        | changes,
        "the test's plan",
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_model.random_model(tmp_path_factory.mktemp("base"))


def right(directory, task) -> float:
    """The share of patches of new groups that the bot's verifier judges rightly with these weights."""
    engine = LocalTransformers(directory, model="tiny", context_tokens=tiny_model.CONTEXT)
    kind = R4PVerifier if task == "boxed" else YesNoVerifier
    short = VotingOptions(Sampling(max_tokens=16))
    verifier = kind(engine, prompt_template.load(TEMPLATES[task]), short)
    hits = []
    for group in tiny_model.groups(12, seed=99):
        patches = [Patch(PatchId(f"{at}"), one) for at, one in enumerate(group.patches)]
        issue = Issue(*group.problem_statement.split("\n\n", 1))
        verdict = verifier.verify(issue, patches, votes=1)
        for one, target in zip(verdict.patches, group.targets, strict=True):
            hits.append(one.score is not None and (one.score >= 0.5) == bool(target))
    return sum(hits) / len(hits)


@pytest.mark.parametrize("task", ["boxed", "yes-no"])
def test_a_model_learns_to_judge_from_given_answers(base, tmp_path, task):
    trainer = sft.build_trainer(plan(base, task), tiny_model.groups(64), tmp_path / "run")
    trainer.train()
    losses = [one["loss"] for one in trainer.state.log_history if "loss" in one]
    assert losses[-1] < losses[0] / 10
    trainer.save_model(str(tmp_path / "learnt"))
    assert right(tmp_path / "learnt", task) >= 0.8
    assert right(base, task) <= 0.6


def test_only_the_reply_is_learnt_and_long_examples_are_left_out_whole(base, tmp_path):
    groups = tiny_model.groups(8)
    long = replace(groups[0], key="long", problem_statement="word\n" * 3000)
    made = sft.build_trainer(plan(base, "boxed"), [*groups, long], tmp_path)
    assert made.left_out == {"longer than the plan's longest": 8}
    row = made.train_dataset[0]
    learnt = [token for token in row["labels"] if token != -100]
    assert made.processing_class.decode(learnt) in {
        "\\boxed{}<|im_end|>",
        "\\boxed{1, 2, 3, 4}<|im_end|>",
    }
    assert row["input_ids"][-len(learnt) :] == learnt


def test_an_adapter_is_plain_lora_and_the_base_stays_as_it_was(base, tmp_path):
    small = plan(
        base,
        "boxed",
        adapter={"rank": 4, "alpha": 8},
        optimiser={"learning_rate": 1e-3, "batch": 2, "micro_batch": 1, "max_steps": 1},
    )
    made = sft.build_trainer(small, tiny_model.groups(4), tmp_path)
    assert made.args.gradient_accumulation_steps == 2
    trained = [name for name, weight in made.model.named_parameters() if weight.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"supervised": {"max_tokens": 5}}, "none of 2 groups makes an example"),
        (
            {"optimiser": {"batch": 3, "micro_batch": 2}},
            "optimiser.batch = 3 makes 3 sequences, not a multiple of the 2",
        ),
        ({"model": {"base": "/nowhere"}}, "model.base = '/nowhere' has no tokenizer"),
    ],
)
def test_a_plan_that_can_not_be_followed_is_refused_with_its_fix(base, tmp_path, changes, said):
    with pytest.raises(BadPlan, match=said):
        sft.build_trainer(plan(base, "boxed", **changes), tiny_model.groups(2), tmp_path)
