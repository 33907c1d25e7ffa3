"""Train with supervised examples: boxed answers as a warm-up, or R2E-Gym's YES/NO verifier. Loads TRL."""

from collections.abc import Sequence
from pathlib import Path

from datasets import Dataset
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from model.prompts import prompt_template
from model.prompts.special_tokens import read_special_tokens
from training.datasets import supervised_examples
from training.datasets.groups import TrainingGroup
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization
from training.trl import model_loading
from training.trl.checkpoints import CheckpointingTrainer
from training.trl.training_arguments import build_common_arguments

_TASKS = {"boxed": supervised_examples.build_boxed, "yes-no": supervised_examples.build_yes_no}


class OrderedSFTTrainer(CheckpointingTrainer, SFTTrainer):
    """TRL's SFT trainer with examples in their given order."""

    left_out: dict[str, int]
    """Unused examples by reason, over all epochs."""


def build_trainer(
    plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path
) -> OrderedSFTTrainer:
    """Build the SFT trainer, with checkpoints in `folder`. Raises BadPlan if nothing is left to learn."""
    tokenizer = model_loading.load_tokenizer(plan)
    examples = _TASKS[plan.supervised.task](
        prompt_template.load(plan.prompt.template),
        groups,
        seed=plan.seed,
        epochs=plan.optimiser.epochs,
        tokens=read_special_tokens(tokenizer),
    )
    encoded = tokenization.tokenize_examples(tokenizer, examples.shown, plan.supervised.max_tokens)
    left_out = dict(examples.left_out + encoded.left_out)
    if not encoded.rows:
        raise BadPlan(
            f"none of {len(groups)} groups makes an example for supervised.task = {plan.supervised.task!r}; "
            f"left out: {left_out or 'nothing'}"
        )
    trainer = OrderedSFTTrainer(
        **model_loading.load_trainable_model(plan),
        args=SFTConfig(
            **build_common_arguments(plan, folder),
            # all epochs are laid out in the rows
            num_train_epochs=1,
            # examples are in the order of their epochs, each with its own seats
            train_sampling_strategy="sequential",
            max_length=None,
        ),
        train_dataset=Dataset.from_list(encoded.rows),
        processing_class=tokenizer,
    )
    trainer.left_out = left_out
    return trainer
