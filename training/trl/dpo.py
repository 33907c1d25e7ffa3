"""Train with DPO on pairs of attempts (Agent-RLVR; Rafailov et al., 2023). Loads TRL.

Only the model's own tokens count. TRL's own collator would train on tool outputs too. The reference model is the
model at the start: with `model.adapter`, TRL keeps a frozen copy of that adapter (Algorithm 1, line 27).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DataCollatorForPreference, DPOTrainer

from training.datasets import attempt_pairs
from training.datasets.attempt_pairs import AttemptPair, StagePair
from training.datasets.pairs import JudgedAttempt
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import chat_encoding, tokenization
from training.rollouts.tokenization import TOO_LONG
from training.trl import model_loading
from training.trl.checkpoints import CheckpointingTrainer
from training.trl.training_arguments import build_common_arguments

_COLUMNS = ["prompt_ids", "chosen_ids", "rejected_ids", "chosen_own", "rejected_own"]


class MaskedDPOTrainer(CheckpointingTrainer, DPOTrainer):
    """TRL's DPO trainer, changed to take conversations as token ids."""

    left_out: dict[str, int]
    """Unused guided attempts by reason."""
    _signature_columns: Any

    def _prepare_dataset(self, dataset: Dataset, *_args: Any, **_named: Any) -> Dataset:
        # TRL tokenizes texts here. Our rows are token ids already, and encoding them twice would change them.
        return dataset

    def _set_signature_columns_if_needed(self) -> None:
        # TRL's list lacks our two masks, and the trainer drops every column that is not listed.
        self._signature_columns = _COLUMNS


class CompletionMaskCollator(DataCollatorForPreference):
    """TRL's preference collator, with a mask that covers only the tokens that the model itself wrote."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the tensors of a batch of examples: all chosen conversations first, then all rejected ones."""
        # input_ids and completion_mask have shape (2 x batch, tokens): row i is chosen, row batch + i is rejected.
        batch: dict[str, Any] = super().torch_call(examples)
        # TRL marks the whole completion. Tool outputs inside it must not count, so the mask starts at 0.
        mask = torch.zeros_like(batch["completion_mask"])
        own = [(example, example["chosen_own"]) for example in examples]
        own += [(example, example["rejected_own"]) for example in examples]
        for row, (example, words) in enumerate(own):
            # TRL pads on the right, so a row is the prompt, then the completion, then padding.
            start = len(example["prompt_ids"])
            mask[row, start : start + len(words)] = torch.tensor(words)
        batch["completion_mask"] = mask
        return batch


def build_trainer(
    plan: TrainPlan, attempts: Sequence[JudgedAttempt], held_out: set[str], folder: Path
) -> MaskedDPOTrainer:
    """Build the DPO trainer on pairs of a correct and an incorrect attempt, with checkpoints in `folder`.

    Attempts at the issues in `held_out` are not used. Raises BadPlan if nothing is left to learn.
    """
    paired = attempt_pairs.pair_attempts(attempts, held_out)
    tokenizer = model_loading.load_tokenizer(plan)
    every = [_build_row(tokenizer, pair) for pair in paired.pairs]
    rows = [row for row in every if _count_longest(row) <= plan.pairs.max_tokens]
    paired.left_out[TOO_LONG] += len(every) - len(rows)
    # Unary plus drops the reasons with a count of 0.
    left_out = dict(+paired.left_out)
    if not rows:
        raise BadPlan(
            f"none of {len(attempts)} attempts forms a pair of a correct and an incorrect one; "
            f"left out: {left_out or 'nothing'}"
        )
    trainer = MaskedDPOTrainer(
        **model_loading.load_trainable_model(plan),
        args=DPOConfig(
            **build_common_arguments(plan, folder),
            num_train_epochs=plan.optimiser.epochs,
            beta=plan.pairs.beta,
            # "robust" corrects the expected loss for pairs in the wrong order (Chowdhury et al., 2024).
            loss_type=["robust"] if plan.pairs.flip_rate else ["sigmoid"],
            label_smoothing=plan.pairs.flip_rate,
            # TRL would cut long pairs silently. They were left out and counted above.
            max_length=None,
        ),
        data_collator=CompletionMaskCollator(pad_token_id=tokenizer.pad_token_id),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.left_out = left_out
    return trainer


def _build_row(tokenizer: Any, pair: AttemptPair | StagePair) -> dict[str, list[int]]:
    if isinstance(pair, StagePair):
        replies = [
            tokenization.tokenize_reply(tokenizer, text) for text in (pair.chosen, pair.rejected)
        ]
        return {
            "prompt_ids": tokenization.tokenize_prompt(tokenizer, pair.prompt),
            "chosen_ids": replies[0],
            "rejected_ids": replies[1],
            # A stage has no tool outputs: the model wrote every token.
            "chosen_own": [1] * len(replies[0]),
            "rejected_own": [1] * len(replies[1]),
        }
    chosen, rejected = (
        chat_encoding.encode_attempt(tokenizer, attempt) for attempt in (pair.chosen, pair.rejected)
    )
    return {
        # Both attempts have the same opening and tools, so the chosen prompt is also the rejected prompt.
        "prompt_ids": chosen.prompt,
        "chosen_ids": chosen.completion,
        "rejected_ids": rejected.completion,
        "chosen_own": chosen.own_mask,
        "rejected_own": rejected.own_mask,
    }


def _count_longest(row: dict[str, list[int]]) -> int:
    return len(row["prompt_ids"]) + max(len(row["chosen_ids"]), len(row["rejected_ids"]))
