"""YES/NO is trained with trajectories (R2E-Gym): a tiny model learns what only they tell, and the bot asks the same."""

from contextlib import closing
from dataclasses import replace

import pytest

from model.domain import Patch, PatchId
from model.engines.local_transformers import LocalTransformers
from model.prompts import prompt_template
from model.verifiers.yes_no import YesNoVerifier
from tests.builders.models import tiny_model, training_runs
from training.evaluation.evaluation_replies import build_issue
from training.plans import plan_file
from training.plans.plan import BadPlan
from training.rollouts import tokenization
from training.trl import sft
from training.trl.training_arguments import build_common_arguments

pytestmark = [
    pytest.mark.model,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
LONGEST = 1_536


def build_told_groups(count, seed=0, padding=""):
    """Toy groups whose patches all look wrong. Only the attempts tell which are guarded."""
    groups = []
    for group in tiny_model.build_groups(count, seed=seed):
        name = group.problem_statement.split()[1]
        patches = tuple(tiny_model.build_diff(name, at, guarded=False) for at in range(4))
        told = tuple("guard" if target else "None" for target in group.targets)
        records = tuple(f"[step 1]\n{word} {word}\n[result]\n{padding}" for word in told)
        groups.append(replace(group, patches=patches, trajectories=records))
    return groups


def build_plan(base, trajectories=True, **optimiser):
    steps = {"learning_rate": 3e-3, "batch": 8, "micro_batch": 8, "epochs": 8, "max_steps": 45}
    task = {"task": "yes-no", "max_tokens": LONGEST, "trajectories": trajectories}
    prompt = {"template": "yes_no"}
    return training_runs.build_plan(
        "sft", base, prompt=prompt, supervised=task, optimiser=steps | optimiser
    )


class RecordingTransformers(LocalTransformers):
    """The embedded engine, with a record of its requests."""

    requests = ()

    def complete(self, requests):
        self.requests = (*self.requests, *requests)
        return super().complete(requests)


def judge(directory, groups, *, trajectories=True):
    """The requests, and for each labelled patch whether the bot's verifier judges it rightly with these weights."""
    engine = RecordingTransformers(directory, model="tiny", context_tokens=LONGEST)
    template = prompt_template.load("yes_no")
    with closing(engine):
        verifier = YesNoVerifier(engine, template, trajectories=trajectories)
        hits = []
        for group in groups:
            patches = [
                Patch(PatchId(f"{at}"), diff, group.trajectories[at])
                for at, diff in enumerate(group.patches)
            ]
            verdict = verifier.verify(build_issue(group), patches, votes=1)
            for patch, target in zip(verdict.patches, group.targets, strict=True):
                hits.append(patch.score is not None and (patch.score >= 0.5) == bool(target))
    return engine.requests, hits


@pytest.mark.proof
def test_model_learns_what_only_trajectories_tell(base, tmp_path):
    plan = build_plan(base, max_steps=20)
    trainer = sft.build_trainer(plan, build_told_groups(64), tmp_path / "run")
    trainer.train()
    trainer.save_model(str(tmp_path / "learnt"))
    groups = build_told_groups(30, seed=99)
    held_out = [
        group for truth in (0, 4) for group in [g for g in groups if g.positives == truth][:5]
    ]
    _, hits = judge(tmp_path / "learnt", held_out)
    assert sum(hits) / len(hits) >= 0.9
    _, blind = judge(tmp_path / "learnt", held_out, trajectories=False)
    assert 0.3 <= sum(blind) / len(blind) <= 0.7


@pytest.mark.parametrize("padding", ["", "word\n" * 1_500], ids=["whole", "shortened"])
def test_row_is_the_bots_prompt_to_the_token(base, tmp_path, padding):
    groups = build_told_groups(4, padding=padding)
    trainer = sft.build_trainer(build_plan(base, epochs=1), groups, tmp_path)
    assert tokenization.TOO_LONG not in trainer.left_out
    requests, _ = judge(base, groups)
    asked = {
        tuple(tokenization.tokenize_prompt(trainer.processing_class, request.messages))
        for request in requests
        if request.prefill is None
    }
    rows = {
        tuple(row["input_ids"][: row["labels"].count(tokenization.IGNORED)])
        for row in trainer.train_dataset
    }
    assert rows <= asked
    assert len(rows) > 1
    text = trainer.processing_class.decode(min(rows))
    assert ("characters left out" in text) == bool(padding)


def test_plan_of_trajectories_needs_a_dataset_with_some(base, tmp_path):
    with pytest.raises(BadPlan, match="no patch of 2 groups has a trajectory; build the dataset"):
        sft.build_trainer(build_plan(base), tiny_model.build_groups(2), tmp_path)
    assert sft.build_trainer(build_plan(base, False), build_told_groups(4), tmp_path)


@pytest.mark.parametrize(
    ("name", "schedule"), [("cosine", "cosine"), ("constant", "constant_with_warmup")]
)
def test_warm_up_is_a_tenth_of_the_steps_rounded_up(base, tmp_path, name, schedule):
    plan = build_plan(base, max_steps=45, warmup_ratio=0.1, schedule=name)
    trainer = sft.build_trainer(plan, build_told_groups(4), tmp_path)
    # 4.5 steps
    assert trainer.args.get_warmup_steps(45) == 5
    assert trainer.args.lr_scheduler_type == schedule
    trainer.create_optimizer_and_scheduler(45)
    rates = []
    for _ in range(6):
        rates.append(trainer.lr_scheduler.get_last_lr()[0])
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
    assert rates == pytest.approx([3e-3 * step / 5 for step in range(6)])


def test_paper_plan_warms_up_over_the_papers_share():
    plan = plan_file.load_plan("yes-no-trajectory-sft")
    single = replace(plan, scale=replace(plan.scale, processes=1))
    assert build_common_arguments(single, training_runs.ROOT)["warmup_steps"] == 0.1
