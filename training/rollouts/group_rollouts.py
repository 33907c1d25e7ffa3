"""Replies to groups of patches, and what each is worth: the bot's own prompt, the bot's own reader of answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from model.errors import BadDiff, UnreadableAnswer
from model.prompts import prompt_template
from model.voting.boxed_answer import read_box
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup
from training.objective import rewards
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization

Row = dict[str, Any]
"""One prompt with what its replies are rewarded by."""


class Source(Protocol):
    """Where a trainer's prompts, replies and rewards come from."""

    rows: list[Row]
    """One for each prompt, in the order they are asked; a whole number of rounds."""
    left_out: Counter[str]

    def rollout(self, asked: list[str], trainer: Any) -> dict[str, list[Any] | None]:
        """TRL's rollout function: `prompt_ids`, `completion_ids`, `logprobs` (natural, or None), one for each asked.

        Prompts come repeated, the replies to one beside each other. `env_mask` (0: nothing is learnt from a token) and
        any further key goes to `reward`.
        """
        ...

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """What each reply is worth; None: nobody knows."""
        ...


@dataclass(slots=True)
class Judgements:
    """Groups of patches, asked with the verifier's prompt; a reply is worth its share of right judgements."""

    rows: list[Row]
    replies: int
    """To each prompt."""
    tokenizer: Any
    left_out: Counter[str] = field(default_factory=Counter)

    def rollout(self, asked: list[str], trainer: Any) -> dict[str, list[Any] | None]:
        """Replies by the trainer's own model, or by the vLLM beside it, as its settings say."""
        whole_groups(asked, self.replies)
        ids = [tokenization.text_ids(self.tokenizer, text) for text in asked]
        replies, logprobs = trainer.sampled(ids)
        return {"prompt_ids": ids, "completion_ids": replies, "logprobs": logprobs}

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """The expected share of right judgements; a reply that can't be read earns 0.

        Of the columns of a row, `targets` and `occupied`; `log_metric` is TRL's.
        """
        targets, occupied = columns["targets"], columns["occupied"]
        boxes = [boxed(reply, seats) for reply, seats in zip(completions, occupied, strict=True)]
        for box in boxes:
            columns["log_metric"]("format_valid", float(box is not None))
        return [rewards.judgement(box, of) for box, of in zip(boxes, targets, strict=True)]


def boxed(reply: str, occupied: Sequence[int]) -> frozenset[int] | None:
    """The seats that a reply names; None when it can't be read."""
    try:
        return read_box(reply, occupied)
    except UnreadableAnswer:
        return None


def judgements(plan: TrainPlan, groups: Sequence[TrainingGroup], tokenizer: Any) -> Judgements:
    """What a plan asks about groups that `rounds.laid_out` put in order. Raises BadPlan for a prompt without a place."""
    template = prompt_template.load(plan.prompt.template)
    return Judgements(
        [_row(tokenizer, verifier_prompts.of_group(template, one), one) for one in groups],
        plan.rollout.replies,
        tokenizer,
    )


def askable(
    plan: TrainPlan, groups: Sequence[TrainingGroup], tokenizer: Any
) -> tuple[list[TrainingGroup], Counter[str]]:
    """Those groups whose prompt is short enough and whose patches the bot would judge, and why others are not."""
    template, left_out, kept = prompt_template.load(plan.prompt.template), Counter[str](), []
    for group in groups:
        try:
            ids = tokenization.prompt_ids(tokenizer, verifier_prompts.of_group(template, group))
        except BadDiff:
            left_out["a patch that the bot could not judge"] += 1
            continue
        if len(ids) > plan.prompt.max_tokens:
            left_out[f"a prompt of more than {plan.prompt.max_tokens} tokens"] += 1
        else:
            kept.append(group)
    return kept, left_out


def whole_groups(asked: Sequence[str], replies: int) -> None:
    """Raises BadPlan unless the replies to one prompt were all asked of this process."""
    parts = [asked[at : at + replies] for at in range(0, len(asked), replies)]
    if any(len(part) < replies or len(set(part)) > 1 for part in parts):
        raise BadPlan(
            f"{len(asked)} replies were asked of this process, and not {replies} to each prompt: the plan's sizes "
            "split a group between processes"
        )


def _row(tokenizer: Any, messages: Any, group: TrainingGroup) -> Row:
    return {
        "prompt": tokenization.prompt_text(tokenizer, messages),
        "key": group.key,
        "targets": list(group.targets),
        "occupied": [seat for seat, patch in enumerate(group.patches, 1) if patch],
    }
