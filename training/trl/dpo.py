"""DPO from guided pairs (Agent-RLVR; Rafailov et al., 2023): the model's own words alone, never what a tool said.

Loads TRL, whose own loss would learn the observations as well.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DataCollatorForPreference, DPOTrainer

from training.datasets import guided_pairs
from training.datasets.guided_pairs import JudgedAttempt, Pair
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import chat_encoding
from training.rollouts.tokenization import TOO_LONG
from training.trl import model_loading
from training.trl.checkpoints import Complete
from training.trl.training_arguments import common

_COLUMNS = ["prompt_ids", "chosen_ids", "rejected_ids", "chosen_own", "rejected_own"]


class Trainer(Complete, DPOTrainer):
    """TRL's trainer on conversations that are token ids already."""

    left_out: dict[str, int]
    """How many guided attempts are not learnt from, by reason."""
    _signature_columns: Any

    def _prepare_dataset(self, dataset: Dataset, *_args: Any, **_named: Any) -> Dataset:
        return dataset

    def _set_signature_columns_if_needed(self) -> None:
        self._signature_columns = _COLUMNS


class OwnWords(DataCollatorForPreference):
    """TRL's batches, in which only what the model wrote counts as the completion."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """Chosen conversations first, then the rejected ones."""
        batch: dict[str, Any] = super().torch_call(examples)
        mask = torch.zeros_like(batch["completion_mask"])
        own = [(one, one["chosen_own"]) for one in examples]
        own += [(one, one["rejected_own"]) for one in examples]
        for row, (example, words) in enumerate(own):
            start = len(example["prompt_ids"])
            mask[row, start : start + len(words)] = torch.tensor(words)
        batch["completion_mask"] = mask
        return batch


def trainer(
    plan: TrainPlan, attempts: Sequence[JudgedAttempt], held_out: set[str], folder: Path
) -> Trainer:
    """Ready to train; checkpoints go to `folder`. Raises BadPlan where nothing can be learnt by this plan.

    `held_out`: issues that an evaluation asks about; no attempt at them is learnt from.
    """
    found = guided_pairs.guided(attempts, held_out)
    tokenizer = model_loading.tokenizer(plan)
    every = [_row(tokenizer, one) for one in found.pairs]
    rows = [one for one in every if _longest(one) <= plan.pairs.max_tokens]
    found.left_out[TOO_LONG] += len(every) - len(rows)
    left_out = dict(+found.left_out)
    if not rows:
        raise BadPlan(
            f"none of {len(attempts)} attempts makes a pair of a guided one and the one before it; "
            f"left out: {left_out or 'nothing, none was guided'}"
        )
    made = Trainer(
        **model_loading.trainable(plan),
        args=DPOConfig(
            **common(plan, folder),
            num_train_epochs=plan.optimiser.epochs,
            beta=plan.pairs.beta,
            loss_type=["robust"] if plan.pairs.flip_rate else ["sigmoid"],
            label_smoothing=plan.pairs.flip_rate,
            max_length=None,
        ),
        data_collator=OwnWords(pad_token_id=tokenizer.pad_token_id),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    made.left_out = left_out
    return made


def _row(tokenizer: Any, pair: Pair) -> dict[str, list[int]]:
    chosen, rejected = (
        chat_encoding.of_attempt(tokenizer, one) for one in (pair.chosen, pair.rejected)
    )
    return {
        "prompt_ids": chosen.prompt,
        "chosen_ids": chosen.rest,
        "rejected_ids": rejected.rest,
        "chosen_own": chosen.own,
        "rejected_own": rejected.own,
    }


def _longest(row: dict[str, list[int]]) -> int:
    return len(row["prompt_ids"]) + max(len(row["chosen_ids"]), len(row["rejected_ids"]))
