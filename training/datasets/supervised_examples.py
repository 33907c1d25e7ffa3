"""Given replies to learn from: the boxed answer to a group, or YES and NO about one patch (pure).

All epochs are laid out one after the other, each drawn anew: groups in another order of seats, YES and NO in equal
numbers, patches of uncertain label as YES as often as they are believed to be.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from model.errors import BadDiff
from model.prompts.prompt_template import Template
from model.protocols import Message
from training.datasets import verifier_prompts
from training.datasets.epochs import drawn
from training.datasets.groups import TrainingGroup

UNKNOWN = "a patch of unknown truth"
UNREADABLE = "a patch that the bot could not judge"
NO_COUNTERPART = "no patch of the other answer to pair it with"


@dataclass(frozen=True, slots=True)
class Example:
    """A question and the reply that is learnt."""

    key: str
    messages: tuple[Message, ...]
    reply: str


@dataclass(slots=True)
class Examples:
    """What is shown, epoch after epoch, and why something is not."""

    shown: list[Example] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Groups or patches by reason, counted once for each epoch."""

    def add(self, key: str, ask: Callable[[], tuple[Message, ...]], reply: str) -> None:
        """One more, unless its question can't be asked."""
        try:
            self.shown.append(Example(key, ask(), reply))
        except BadDiff:
            self.left_out[UNREADABLE] += 1


def boxed(
    template: Template, groups: Sequence[TrainingGroup], *, seed: int, epochs: int
) -> Examples:
    """The right answer to each group, and no reasoning, since none is known. Groups with an unknown truth are left out."""
    found = Examples()
    for epoch in range(epochs):
        for group in drawn(groups, seed, epoch):
            if _is_known(group):
                found.add(
                    group.key, partial(verifier_prompts.of_group, template, group), answer(group)
                )
            else:
                found.left_out[UNKNOWN] += 1
    return found


def answer(group: TrainingGroup) -> str:
    """The box that names the patches which are rather correct than not."""
    seats = [
        str(seat) for seat, one in enumerate(group.targets, 1) if one is not None and one >= 0.5
    ]
    return f"\\boxed{{{', '.join(seats)}}}"


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A patch, once however many groups it is in."""

    issue: str
    statement: str
    patch: str
    target: float
    weight: float


def yes_no(
    template: Template, groups: Sequence[TrainingGroup], *, seed: int, epochs: int
) -> Examples:
    """YES or NO about each labelled patch, as many of one as of the other in each epoch (R2E-Gym, section 4)."""
    found = Examples()
    patches = _labelled(groups)
    found.left_out[UNKNOWN] += epochs * len(_unknown(groups))
    for epoch in range(epochs):
        rng = random.Random(f"{seed} {epoch}")
        said: dict[str, list[_Labelled]] = {"YES": [], "NO": []}
        for one in patches:
            times = int(one.weight) + (rng.random() < one.weight % 1)
            said["YES" if rng.random() < one.target else "NO"] += [one] * times
        fewest = min(map(len, said.values()))
        found.left_out[NO_COUNTERPART] += sum(map(len, said.values())) - 2 * fewest
        chosen = [(word, one) for word, all_ in said.items() for one in rng.sample(all_, fewest)]
        rng.shuffle(chosen)
        for word, one in chosen:
            ask = partial(verifier_prompts.of_patches, template, one.statement, (one.patch,))
            found.add(one.issue, ask, word)
    found.left_out += Counter()  # takes out what was counted zero times
    return found


def _is_known(group: TrainingGroup) -> bool:
    """Whether the truth of every patch is known; padding has none to know."""
    pairs = zip(group.patches, group.targets, strict=True)
    return all(target is not None for patch, target in pairs if patch)


def _labelled(groups: Iterable[TrainingGroup]) -> list[_Labelled]:
    """Each labelled patch of an issue, with what was said of it first."""
    found: dict[tuple[str, str], _Labelled] = {}
    for group in groups:
        for patch, target in zip(group.patches, group.targets, strict=True):
            if patch and target is not None:
                one = _Labelled(group.issue, group.problem_statement, patch, target, group.weight)
                found.setdefault((group.issue, patch), one)
    return list(found.values())


def _unknown(groups: Iterable[TrainingGroup]) -> set[tuple[str, str]]:
    return {
        (group.issue, patch)
        for group in groups
        for patch, target in zip(group.patches, group.targets, strict=True)
        if patch and target is None
    }
