"""Build supervised examples: the boxed answer to a group, or YES and NO about one patch (pure).

Every epoch is sampled anew, and all epochs follow one another in one list. Seat orders change, YES and NO occur
equally often, and an uncertain patch is YES with the probability of its target.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from model.errors import BadDiff
from model.prompts.prompt_template import Template
from model.prompts.special_tokens import SpecialTokens
from model.protocols import Message, PromptReader
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup
from training.datasets.schedule import sample_epoch

UNKNOWN = "a patch of unknown truth"
UNREADABLE = "a patch that the bot could not judge"
NO_COUNTERPART = "no patch of the other answer to pair it with"


@dataclass(frozen=True, slots=True)
class SupervisedExample:
    """A prompt and the reply to learn. `key` names the group or the issue of the prompt."""

    key: str
    messages: tuple[Message, ...]
    reply: str


@dataclass(slots=True)
class SupervisedExamples:
    """The supervised examples of all epochs, and counts of what was left out."""

    shown: list[SupervisedExample] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Groups or patches by reason, counted in each epoch."""

    def add(self, key: str, ask: Callable[[], tuple[Message, ...]], reply: str) -> None:
        """Add the example of a prompt and its `reply`, or count it as unreadable if a patch in it cannot be read.

        `ask` builds the prompt. `key` names the group or the issue.
        """
        try:
            self.shown.append(SupervisedExample(key, ask(), reply))
        except BadDiff:
            self.left_out[UNREADABLE] += 1


def build_boxed(
    template: Template,
    groups: Sequence[TrainingGroup],
    *,
    seed: int,
    epochs: int,
    tokens: SpecialTokens = None,
) -> SupervisedExamples:
    """Build an example of each group in each epoch, whose reply is the boxed answer without reasoning.

    Groups with an unknown label are left out. `tokens` are the special tokens of the model's tokenizer.
    """
    examples = SupervisedExamples()
    for epoch in range(epochs):
        for group in sample_epoch(groups, seed, epoch):
            if _has_all_labels(group):
                examples.add(
                    group.key,
                    partial(verifier_prompts.render_group, template, group, tokens),
                    format_answer(group),
                )
            else:
                examples.left_out[UNKNOWN] += 1
    return examples


def format_answer(group: TrainingGroup) -> str:
    r"""Return the boxed answer to a group as text, such as `\boxed{1, 3}`: the seats with a target of at least 0.5."""
    seats = [
        str(seat)
        for seat, target in enumerate(group.targets, 1)
        if target is not None and target >= 0.5
    ]
    return f"\\boxed{{{', '.join(seats)}}}"


@dataclass(frozen=True, slots=True)
class _LabelledPatch:
    """A labelled patch of an issue, independent of groups."""

    issue: str
    statement: str
    patch: str
    target: float
    weight: float
    trajectory: str | None = None


def build_yes_no(
    template: Template,
    groups: Sequence[TrainingGroup],
    *,
    seed: int,
    epochs: int,
    tokens: SpecialTokens = None,
    reader: PromptReader | None = None,
) -> SupervisedExamples:
    """Build as many examples with the reply YES as with NO in each epoch, of one patch each (R2E-Gym, section 4).

    Patches without a label are left out. `tokens` are the special tokens of the model's tokenizer. `reader` is that
    tokenizer with the longest prompt, to show the trajectory of a patch where it is known; None shows none.
    """
    examples = SupervisedExamples()
    patches = _list_labelled(groups)
    examples.left_out[UNKNOWN] += epochs * len(_find_unlabelled(groups))
    for epoch in range(epochs):
        rng = random.Random(f"{seed} {epoch}")
        by_answer: dict[str, list[_LabelledPatch]] = {"YES": [], "NO": []}
        for patch in patches:
            times = int(patch.weight) + (rng.random() < patch.weight % 1)
            by_answer["YES" if rng.random() < patch.target else "NO"] += [patch] * times
        fewest = min(map(len, by_answer.values()))
        examples.left_out[NO_COUNTERPART] += sum(map(len, by_answer.values())) - 2 * fewest
        chosen = [
            (word, patch)
            for word, labelled in by_answer.items()
            for patch in rng.sample(labelled, fewest)
        ]
        rng.shuffle(chosen)
        for word, patch in chosen:
            examples.add(patch.issue, _build_question(template, patch, tokens, reader), word)
    examples.left_out += Counter()  # takes out what was counted zero times
    return examples


def _build_question(
    template: Template, patch: _LabelledPatch, tokens: SpecialTokens, reader: PromptReader | None
) -> Callable[[], tuple[Message, ...]]:
    if reader is None:
        return partial(
            verifier_prompts.render_patches, template, patch.statement, (patch.patch,), tokens
        )
    return partial(
        verifier_prompts.render_patch_with_trajectory,
        template,
        patch.statement,
        patch.patch,
        patch.trajectory,
        reader,
    )


def _has_all_labels(group: TrainingGroup) -> bool:
    """Tell whether every patch of the group has a label. Padding does not count."""
    pairs = zip(group.patches, group.targets, strict=True)
    return all(target is not None for patch, target in pairs if patch)


def _list_labelled(groups: Iterable[TrainingGroup]) -> list[_LabelledPatch]:
    """Return each labelled patch of an issue once, with its first label."""
    labelled: dict[tuple[str, str], _LabelledPatch] = {}
    for group in groups:
        trajectories = group.trajectories or (None,) * len(group.patches)
        for patch, target, trajectory in zip(
            group.patches, group.targets, trajectories, strict=True
        ):
            if patch and target is not None:
                entry = _LabelledPatch(
                    group.issue, group.problem_statement, patch, target, group.weight, trajectory
                )
                labelled.setdefault((group.issue, patch), entry)
    return list(labelled.values())


def _find_unlabelled(groups: Iterable[TrainingGroup]) -> set[tuple[str, str]]:
    return {
        (group.issue, patch)
        for group in groups
        for patch, target in zip(group.patches, group.targets, strict=True)
        if patch and target is None
    }
