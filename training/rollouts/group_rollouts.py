"""Sample replies to groups of patches and reward them, with the bot's prompt and answer parser."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from model.errors import BadDiff, UnreadableAnswer
from model.prompts.special_tokens import read_special_tokens
from model.voting.boxed_answer import read_box
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup
from training.objective import rewards
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization

Row = dict[str, Any]
"""One prompt with the columns that its rewards need."""


class RolloutSource(Protocol):
    """A source of prompts, replies and rewards for a TRL trainer."""

    rows: list[Row]
    """One row for each prompt in order: a whole number of rounds."""
    left_out: Counter[str]
    """Counts of items that cannot be used, by reason."""

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[Any] | None]:
        """Return `prompt_ids`, `completion_ids` and `logprobs` (nats, or None), one entry for each prompt.

        Implements TRL's rollout function. Equal prompts are adjacent. An optional `env_mask` is 0 for tokens
        without a loss. Further keys are passed to `reward`.
        """
        ...

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """Return the reward of each reply. None: unknown.

        `columns` holds the row's columns and the further keys of `rollout`, one entry for each reply.
        """
        ...


@dataclass(slots=True)
class GroupRollouts:
    """Rollouts that judge groups of patches. The reward is the share of right judgements."""

    rows: list[Row]
    replies: int
    """Replies to each prompt."""
    tokenizer: Any
    left_out: Counter[str] = field(default_factory=Counter)
    """Counts of groups that cannot be used, by reason."""

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[Any] | None]:
        """Sample a reply to each prompt with the trainer's model, its vLLM or its server.

        Returns `prompt_ids`, `completion_ids` and `logprobs` (nats, or None), one entry for each prompt.
        """
        check_whole_groups(prompts, self.replies)
        ids = [tokenization.tokenize_text(self.tokenizer, text) for text in prompts]
        replies, logprobs = trainer.sample(ids)
        return {"prompt_ids": ids, "completion_ids": replies, "logprobs": logprobs}

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """Return each reply's expected share of right judgements, 0 to 1. An unreadable reply earns 0. None: unknown.

        Uses the row columns `targets` and `occupied`, and TRL's `log_metric`.
        """
        targets, occupied = columns["targets"], columns["occupied"]
        boxes = [
            read_boxed_seats(reply, seats)
            for reply, seats in zip(completions, occupied, strict=True)
        ]
        for box in boxes:
            columns["log_metric"]("format_valid", float(box is not None))
        return [
            rewards.reward_judgement(box, seat_targets)
            for box, seat_targets in zip(boxes, targets, strict=True)
        ]


def read_boxed_seats(reply: str, occupied: Sequence[int]) -> frozenset[int] | None:
    """Return the seats that a verifier's reply names as correct, or None if it is unreadable.

    `occupied` are the seats that hold a patch, counted from 1.
    """
    try:
        return read_box(reply, occupied)
    except UnreadableAnswer:
        return None


def build_group_rollouts(
    plan: TrainPlan, groups: Sequence[TrainingGroup], tokenizer: Any
) -> GroupRollouts:
    """Build the rollouts that judge `groups`, whose order is the order of training.

    Raises TemplateError for a template of the operator's that the judge cannot ask with.
    """
    template = verifier_prompts.load_template(plan.prompt.template, "r4p")
    tokens = read_special_tokens(tokenizer)
    return GroupRollouts(
        [
            _build_row(tokenizer, verifier_prompts.render_group(template, group, tokens), group)
            for group in groups
        ],
        plan.rollout.replies,
        tokenizer,
    )


def filter_askable(
    plan: TrainPlan, groups: Sequence[TrainingGroup], tokenizer: Any
) -> tuple[list[TrainingGroup], Counter[str]]:
    """Return the groups that the model can be asked about, and the numbers of dropped groups by reason.

    Such a group has readable patches, and its prompt is within the plan's token limit.
    """
    template = verifier_prompts.load_template(plan.prompt.template, "r4p")
    left_out, kept = Counter[str](), []
    tokens = read_special_tokens(tokenizer)
    for group in groups:
        try:
            ids = tokenization.tokenize_prompt(
                tokenizer, verifier_prompts.render_group(template, group, tokens)
            )
        except BadDiff:
            left_out["a patch that the bot could not judge"] += 1
            continue
        if len(ids) > plan.prompt.max_tokens:
            left_out[f"a prompt of more than {plan.prompt.max_tokens} tokens"] += 1
        else:
            kept.append(group)
    return kept, left_out


def check_whole_groups(prompts: Sequence[str], replies: int) -> None:
    """Raise BadPlan unless `prompts` holds `replies` adjacent copies of each prompt.

    A process must receive all replies to a prompt, because rewards compare them.
    """
    parts = [prompts[start : start + replies] for start in range(0, len(prompts), replies)]
    if any(len(part) < replies or len(set(part)) > 1 for part in parts):
        raise BadPlan(
            f"{len(prompts)} replies reached this process, not {replies} for each prompt: the plan's sizes "
            "split a group between processes"
        )


def _build_row(tokenizer: Any, messages: Any, group: TrainingGroup) -> Row:
    return {
        "prompt": tokenization.render_prompt(tokenizer, messages),
        "key": group.key,
        "targets": list(group.targets),
        "occupied": [seat for seat, patch in enumerate(group.patches, 1) if patch],
    }
