"""A reward model from pairs of patches for one issue, one correct and one not (Agent-RLVR; Bradley and Terry, 1952).

It scores a patch beside nothing but its issue; only differences of scores on one issue mean something. Loads TRL.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl.trainer.reward_config import RewardConfig
from trl.trainer.reward_trainer import RewardTrainer

from model.errors import BadDiff
from model.prompts import prompt_template
from training.datasets import preference_pairs, verifier_prompts
from training.datasets.groups import TrainingGroup
from training.datasets.preference_pairs import Preference
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization
from training.trl import model_loading
from training.trl.checkpoints import Complete
from training.trl.training_arguments import common

UNREADABLE = "a patch that the bot could not judge"


class Trainer(Complete, RewardTrainer):
    """TRL's own."""

    left_out: dict[str, int]
    """How many pairs are not learnt from, by reason."""


def trainer(plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path) -> Trainer:
    """Ready to train; checkpoints go to `folder`. Raises BadPlan where nothing can be learnt by this plan."""
    tokenizer = model_loading.tokenizer(plan)
    left_out: Counter[str] = Counter()
    rows = _rows(plan, preference_pairs.of_groups(groups), tokenizer, left_out)
    if not rows:
        raise BadPlan(
            f"none of {len(groups)} groups has two patches of which one is rather correct and the other is not; "
            f"left out: {dict(left_out) or 'nothing'}"
        )
    made = Trainer(
        model=model_loading.scoring(plan, tokenizer.pad_token_id),
        args=RewardConfig(
            **common(plan, folder),
            num_train_epochs=plan.optimiser.epochs,
            max_length=None,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=model_loading.adapter(plan.adapter, scores=True),
    )
    made.left_out = dict(left_out)
    return made


def scored(plan: TrainPlan, tokenizer: Any, issue: str, patch: str) -> list[int]:
    """What the model reads of a patch before it scores it. Raises BadDiff."""
    template = prompt_template.load(plan.prompt.template)
    return tokenization.prompt_ids(
        tokenizer, verifier_prompts.of_patches(template, issue, (patch,))
    )


def _rows(
    plan: TrainPlan, pairs: Sequence[Preference], tokenizer: Any, left_out: Counter[str]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for one in pairs:
        try:
            better, worse = (
                scored(plan, tokenizer, one.statement, patch) for patch in (one.better, one.worse)
            )
        except BadDiff:
            left_out[UNREADABLE] += 1
            continue
        if max(len(better), len(worse)) > plan.pairs.max_tokens:
            left_out[tokenization.TOO_LONG] += 1
            continue
        margin = {"margin": one.margin} if plan.pairs.margin else {}
        rows.append({"chosen_ids": better, "rejected_ids": worse, **margin})
    return rows
