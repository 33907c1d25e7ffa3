"""Estimate from hand-checked labels how often each label rule is right (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from training.labels.label_rule import LabelGrade
from training.labels.rules import RULES

PRIOR_WEIGHT = 10.0
"""The assumed probability of a rule weighs as much as this many checked labels."""

_SIDES = {
    name: rule.grade.is_positive
    for name, rule in RULES.items()
    if rule.grade is not LabelGrade.UNKNOWN
}

MIN_CHECKED = 20
"""Flip rates need this many checked patches of each truth."""


@dataclass(frozen=True, slots=True)
class CheckedLabel:
    """A label that a person compared with the truth."""

    rule: str
    """Name of the rule that gave the label."""
    is_correct: bool
    """The truth, from reading the issue and the patch."""


@dataclass(frozen=True, slots=True)
class FlipRates:
    """How often labels contradict the truth, as shares from 0 to 1."""

    wrong_to_right: float
    """r0: share of incorrect patches that are labelled correct."""
    right_to_wrong: float
    """r1: share of correct patches that are labelled incorrect."""


@dataclass(frozen=True, slots=True)
class LabelAudit:
    """Counts of hand-checked labels by rule."""

    checked: Mapping[str, int] = field(default_factory=dict)
    """Checked labels of each rule."""
    correct: Mapping[str, int] = field(default_factory=dict)
    """Checked labels of each rule whose patch is correct."""

    def estimate_probability(self, rule: str) -> float | None:
        """Return the probability that a patch labelled by the rule named `rule` is correct.

        Hand-checked labels correct the rule's assumed probability. The result is None if the rule's label is unknown.
        """
        unaudited = RULES[rule].probability
        if unaudited is None:
            return None
        correct = self.correct.get(rule, 0) + PRIOR_WEIGHT * unaudited
        return correct / (self.checked.get(rule, 0) + PRIOR_WEIGHT)

    def estimate_flip_rates(self, rule_counts: Mapping[str, int]) -> FlipRates | None:
        """Estimate how often labels contradict the truth, over all labelled patches.

        `rule_counts` is how many patches each rule labels. It weights the checks, because the sample takes the same
        number from every rule. Rules without a check are left out. The result is None unless MIN_CHECKED correct and
        MIN_CHECKED incorrect patches were checked.
        """
        rules = [rule for rule, count in self.checked.items() if count and rule in _SIDES]
        right = {rule: self.correct.get(rule, 0) for rule in rules}
        wrong = {rule: self.checked[rule] - right[rule] for rule in rules}
        if min(sum(right.values()), sum(wrong.values())) < MIN_CHECKED:
            return None
        weight = {rule: rule_counts.get(rule, 0) / self.checked[rule] for rule in rules}
        return FlipRates(
            _compute_share(wrong, weight, of_positive=True),
            _compute_share(right, weight, of_positive=False),
        )


def _compute_share(
    counts: Mapping[str, int], weight: Mapping[str, float], *, of_positive: bool
) -> float:
    """Return the weighted share of the counted patches whose rule labels them positive (or negative)."""
    every = {rule: count * weight[rule] for rule, count in counts.items()}
    whole = sum(every.values())
    part = sum(size for rule, size in every.items() if _SIDES[rule] is of_positive)
    return part / whole if whole else 0.0


def summarise_checks(checks: Iterable[CheckedLabel]) -> LabelAudit:
    """Count hand-checked labels by rule. Raises ValueError for an unknown rule."""
    checks = list(checks)
    if strange := sorted({check.rule for check in checks} - RULES.keys()):
        raise ValueError(f"{strange[0]!r} is no label rule; the rules are {', '.join(RULES)}")
    return LabelAudit(
        Counter(check.rule for check in checks),
        Counter(check.rule for check in checks if check.is_correct),
    )
