"""What labels are worth, by those that somebody checked by hand: what each rule is believed, how often labels flip (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from training.labels.rules import RULES, Grade

PRIOR = 10.0
"""As many checked labels as the unaudited belief of a rule weighs."""

_SIDES = {
    name: rule.grade.is_positive for name, rule in RULES.items() if rule.grade is not Grade.UNKNOWN
}

LEAST = 20
"""Checked patches of each truth, below which no flip rate is told."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One label that somebody checked."""

    rule: str
    is_correct: bool
    """The truth, found by reading the issue and the patch."""


@dataclass(frozen=True, slots=True)
class FlipRates:
    """How often a label says the opposite of the truth."""

    wrong_to_right: float
    """Of incorrect patches with a label, the share labelled as correct: r0."""
    right_to_wrong: float
    """Of correct ones, the share labelled as incorrect: r1."""

    def corrected(self, is_positive: bool) -> float:
        """A target that is right on average, (y - r0) / (1 - r0 - r1): it may lie beyond 0 and 1, and varies the more
        the closer the rates add up to 1. For averages, never as a probability. Idea: arXiv 2510.00915.

        Raises ValueError when labels say nothing.
        """
        told = 1 - self.wrong_to_right - self.right_to_wrong
        if told <= 0:
            raise ValueError(
                f"flip rates {self.wrong_to_right:.2f} and {self.right_to_wrong:.2f} add up to 1 or more:"
                " such labels say nothing; mend the rules first"
            )
        return (is_positive - self.wrong_to_right) / told


@dataclass(frozen=True, slots=True)
class Audit:
    """Labels that were checked by hand, counted."""

    checked: Mapping[str, int] = field(default_factory=dict)
    """By rule."""
    correct: Mapping[str, int] = field(default_factory=dict)
    """Of these, patches that are correct in truth."""

    def belief(self, rule: str) -> float | None:
        """The probability that a patch with this label is correct; None: the rule says unknown."""
        unaudited = RULES[rule].probability
        if unaudited is None:
            return None
        found = self.correct.get(rule, 0) + PRIOR * unaudited
        return found / (self.checked.get(rule, 0) + PRIOR)

    def flip_rates(self, patches: Mapping[str, int]) -> FlipRates | None:
        """By how many patches each rule labels: a sample takes rules evenly, life does not.

        None: too few were checked of one truth. Rules of which nothing was checked say nothing.
        """
        told = [rule for rule, count in self.checked.items() if count and rule in _SIDES]
        right = {rule: self.correct.get(rule, 0) for rule in told}
        wrong = {rule: self.checked[rule] - right[rule] for rule in told}
        if min(sum(right.values()), sum(wrong.values())) < LEAST:
            return None
        weight = {rule: patches.get(rule, 0) / self.checked[rule] for rule in told}
        return FlipRates(
            _share(wrong, weight, of_positive=True), _share(right, weight, of_positive=False)
        )


def _share(counts: Mapping[str, int], weight: Mapping[str, float], *, of_positive: bool) -> float:
    """Of all these, the share that rules of one side labelled."""
    every = {rule: count * weight[rule] for rule, count in counts.items()}
    whole = sum(every.values())
    part = sum(size for rule, size in every.items() if _SIDES[rule] is of_positive)
    return part / whole if whole else 0.0


UNAUDITED = Audit()


def audit(checked: Iterable[Checked]) -> Audit:
    """Count them. Raises ValueError for a rule that is none."""
    checked = list(checked)
    if strange := sorted({one.rule for one in checked} - RULES.keys()):
        raise ValueError(f"{strange[0]!r} is no rule of labels; there are {', '.join(RULES)}")
    return Audit(
        Counter(one.rule for one in checked),
        Counter(one.rule for one in checked if one.is_correct),
    )
