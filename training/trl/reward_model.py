"""Train a reward model on pairs of a correct and an incorrect patch (Agent-RLVR, section 3.1).

The model reads an issue and one patch and gives one score s, as the paper's does. TRL's loss of a pair is
-log sigmoid(s_better - s_worse - margin): with margin 0 the likelihood of Bradley and Terry (1952). The paper says
"pairwise loss" and gives no formula. Only score differences within one issue have a meaning, because the loss reads
nothing else. Differences from the paper: the pairs come from labelled groups, not from tests of attempts, and the
prompt's words are ours. Loads TRL.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl.trainer.reward_config import RewardConfig
from trl.trainer.reward_trainer import RewardTrainer

from model.errors import BadDiff
from model.prompts.special_tokens import read_special_tokens
from training.datasets import pairs, verifier_prompts
from training.datasets.groups import TrainingGroup
from training.datasets.pairs import PreferencePair
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization
from training.trl import model_loading
from training.trl.checkpoints import CheckpointingTrainer
from training.trl.training_arguments import build_common_arguments

UNREADABLE = "a patch that the bot could not judge"


class PatchRewardTrainer(CheckpointingTrainer, RewardTrainer):
    """TRL's reward trainer, on pairs of a correct and an incorrect patch of one issue."""

    left_out: dict[str, int]
    """Unused pairs by reason."""


def build_trainer(
    plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path
) -> PatchRewardTrainer:
    """Build the reward model's trainer, with checkpoints in `folder`. Raises BadPlan if nothing is left to learn."""
    tokenizer = model_loading.load_tokenizer(plan)
    left_out: Counter[str] = Counter()
    rows = _build_rows(plan, pairs.build_preferences(groups), tokenizer, left_out)
    if not rows:
        raise BadPlan(
            f"none of {len(groups)} groups has a correct and an incorrect patch; "
            f"left out: {dict(left_out) or 'nothing'}"
        )
    trainer = PatchRewardTrainer(
        model=model_loading.load_scoring_model(plan, tokenizer.pad_token_id),
        args=RewardConfig(
            **build_common_arguments(plan, folder),
            num_train_epochs=plan.optimiser.epochs,
            max_length=None,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=model_loading.build_lora_config(plan.adapter, for_scoring=True),
    )
    trainer.left_out = dict(left_out)
    return trainer


def tokenize_scored_patch(plan: TrainPlan, tokenizer: Any, issue: str, patch: str) -> list[int]:
    """Return the token ids of the prompt with an issue and a patch, as the reward model reads it.

    `issue` is the issue's text, and `patch` a diff. Raises BadDiff if the diff cannot be read.
    """
    template = verifier_prompts.load_template(plan.prompt.template, "reward-model")
    tokens = read_special_tokens(tokenizer)
    return tokenization.tokenize_prompt(
        tokenizer, verifier_prompts.render_patches(template, issue, (patch,), tokens)
    )


def _build_rows(
    plan: TrainPlan, pairs: Sequence[PreferencePair], tokenizer: Any, left_out: Counter[str]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        try:
            better, worse = (
                tokenize_scored_patch(plan, tokenizer, pair.statement, patch)
                for patch in (pair.better, pair.worse)
            )
        except BadDiff:
            left_out[UNREADABLE] += 1
            continue
        if max(len(better), len(worse)) > plan.pairs.max_tokens:
            left_out[tokenization.TOO_LONG] += 1
            continue
        # TRL subtracts the margin from the score difference inside the log-sigmoid.
        margin = {"margin": pair.margin} if plan.pairs.margin else {}
        rows.append({"chosen_ids": better, "rejected_ids": worse, **margin})
    return rows
