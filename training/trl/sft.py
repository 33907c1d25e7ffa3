"""Train with supervised examples: boxed answers, R2E-Gym's YES/NO verifier, or an agent's attempts. Loads TRL."""

import math
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from model import catalog
from model.agents.trajectories.trajectory import Trajectory
from training.datasets import attempt_pairs, supervised_examples, verifier_prompts
from training.datasets.groups import TrainingGroup
from training.datasets.pairs import JudgedAttempt
from training.datasets.supervised_examples import SupervisedExamples
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import chat_encoding, tokenization
from training.rollouts.chat_encoding import EncodedChat, SampledReply
from training.rollouts.tokenization import TOO_LONG, TokenizedRows
from training.trl import model_loading
from training.trl.checkpoints import CheckpointingTrainer
from training.trl.training_arguments import build_common_arguments


class OrderedSFTTrainer(CheckpointingTrainer, SFTTrainer):
    """TRL's SFT trainer with examples in their given order."""

    left_out: dict[str, int]
    """Unused examples by reason, over all epochs."""


def build_trainer(
    plan: TrainPlan, groups: Sequence[TrainingGroup], folder: Path
) -> OrderedSFTTrainer:
    """Build the SFT trainer on groups, with checkpoints in `folder`. Raises BadPlan if nothing is left to learn."""
    if plan.supervised.trajectories and not any(group.trajectories for group in groups):
        raise BadPlan(
            f"supervised.trajectories = true, and no patch of {len(groups)} groups has a trajectory; build the dataset from "
            "patches with one, or set it to false"
        )
    tokenizer = model_loading.load_tokenizer(plan)
    examples = _build_examples(plan, groups, tokenizer)
    encoded = tokenization.tokenize_examples(tokenizer, examples.shown, plan.supervised.max_tokens)
    encoded.left_out += examples.left_out
    return _build_on_rows(plan, encoded, f"{len(groups)} groups", folder)


def _build_examples(
    plan: TrainPlan, groups: Sequence[TrainingGroup], tokenizer: Any
) -> SupervisedExamples:
    # The longest example stands for an engine's context, so that both shorten trajectories alike.
    reader = tokenization.build_reader(tokenizer, plan.supervised.max_tokens)
    options: dict[str, Any] = {
        "seed": plan.seed,
        "epochs": plan.optimiser.epochs,
        "tokens": reader.special_tokens,
    }
    load = partial(verifier_prompts.load_template, plan.prompt.template)
    if plan.supervised.task == "boxed":
        return supervised_examples.build_boxed(load("r4p"), groups, **options)
    if plan.supervised.trajectories:
        template = load(catalog.TRAJECTORY_VERIFIER)
        return supervised_examples.build_yes_no(template, groups, reader=reader, **options)
    return supervised_examples.build_yes_no(load("yes-no"), groups, **options)


def build_attempt_trainer(
    plan: TrainPlan, attempts: Sequence[JudgedAttempt], held_out: set[str], folder: Path
) -> OrderedSFTTrainer:
    """Build the SFT trainer on a share of the correct attempts without a hint (Agent-RLVR, section 2.2.4).

    Attempts at the issues in `held_out` are not used. Raises BadPlan if nothing is left to learn.
    """
    draw = random.Random(plan.seed)
    positives = attempt_pairs.list_positives(attempts, held_out)
    some = draw.sample(positives, math.ceil(len(positives) * plan.supervised.share))
    tokenizer = model_loading.load_tokenizer(plan)
    encoded = TokenizedRows()
    rows = [row for attempt in some for row in _encode_attempt(tokenizer, attempt.trajectory)]
    kept = [row for row in rows if len(row["input_ids"]) <= plan.supervised.max_tokens]
    encoded.left_out[TOO_LONG] = len(rows) - len(kept)
    # Every epoch shows all rows once, in a new order.
    for _ in range(plan.optimiser.epochs):
        encoded.rows += draw.sample(kept, len(kept))
    return _build_on_rows(plan, encoded, f"{len(attempts)} attempts", folder)


def _encode_attempt(tokenizer: Any, trajectory: Trajectory) -> list[dict[str, list[int]]]:
    """Return one row of a conversation, or a row of each stage of a pipeline. Only the model's tokens have labels."""
    stages = attempt_pairs.list_stage_replies(trajectory).values()
    chats = [EncodedChat(tokenization.tokenize_prompt(tokenizer, stage.prompt)) for stage in stages]
    for chat, stage in zip(chats, stages, strict=True):
        chat.add_reply(SampledReply(tokenization.tokenize_reply(tokenizer, stage.reply)))
    if trajectory.opening:
        chats = [chat_encoding.encode_attempt(tokenizer, trajectory)]
    return [chat.build_labelled_row() for chat in chats]


def _build_on_rows(
    plan: TrainPlan, encoded: TokenizedRows, source: str, folder: Path
) -> OrderedSFTTrainer:
    # Unary plus drops the reasons with a count of 0.
    left_out = dict(+encoded.left_out)
    if not encoded.rows:
        raise BadPlan(
            f"none of {source} makes an example for supervised.task = {plan.supervised.task!r}; "
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
        processing_class=model_loading.load_tokenizer(plan),
    )
    trainer.left_out = left_out
    return trainer
