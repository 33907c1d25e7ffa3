"""Supervised fine-tuning: the boxed answer as a warm-up before GRPO, or R2E-Gym's YES/NO verifier. Loads TRL."""

from collections.abc import Sequence
from pathlib import Path

from datasets import Dataset
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from model.prompts import prompt_template
from training.datasets import supervised_examples
from training.datasets.groups import TrainingGroup
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization
from training.trl import model_loading
from training.trl.checkpoints import Complete
from training.trl.training_arguments import common

_TASKS = {"boxed": supervised_examples.boxed, "yes-no": supervised_examples.yes_no}


class Trainer(Complete, SFTTrainer):
    """TRL's own, its examples in the order they were laid out in."""

    left_out: dict[str, int]
    """How many examples are not learnt from, by reason, over all epochs."""


def trainer(plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path) -> Trainer:
    """Ready to train; checkpoints go to `folder`. Raises BadPlan where nothing can be learnt by this plan."""
    drawn = _TASKS[plan.supervised.task](
        prompt_template.load(plan.prompt.template),
        groups,
        seed=plan.seed,
        epochs=plan.optimiser.epochs,
    )
    tokenizer = model_loading.tokenizer(plan)
    encoded = tokenization.supervised(tokenizer, drawn.shown, plan.supervised.max_tokens)
    left_out = dict(drawn.left_out + encoded.left_out)
    if not encoded.rows:
        raise BadPlan(
            f"none of {len(groups)} groups makes an example for supervised.task = {plan.supervised.task!r}; "
            f"left out: {left_out or 'nothing'}"
        )
    made = Trainer(
        **model_loading.trainable(plan),
        args=SFTConfig(
            **common(plan, folder),
            # all epochs are laid out in the rows
            num_train_epochs=1,
            train_sampling_strategy="sequential",
            max_length=None,
        ),
        train_dataset=Dataset.from_list(encoded.rows),
        processing_class=tokenizer,
    )
    made.left_out = left_out
    return made
