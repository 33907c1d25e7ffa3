"""Label submitted patches as correct, incorrect or unknown, from the outcomes of their pull requests (pure).

A label belongs to one patch: a merge may contain a later patch than the first one. Labels are derived from
history on every use and never stored. A `now` in the past gives the labels that could be known then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from app.outcomes import APP
from app.outcomes.judgement import LabelCheck, PatchKey, PullOutcome, PullRecord
from app.values.identifiers import IssueRef, PullNumber
from model.domain import Verdict
from training.labels.audit import CheckedLabel, LabelAudit, summarise_checks
from training.labels.decisions import choose_label_rule
from training.labels.label_rule import LabelGrade
from training.labels.rules import (
    CHECKED_RULES,
    RULE_VERSION,
    RULES,
    estimate_from_survival,
)
from training.labels.weight_caps import LabelOrigin, cap_dataset_weights

ECHO_WEIGHT = 0.5
"""Weight of an outcome that came while our verdict was visible and may have caused it.

The weight does not depend on agreement. A discount for agreement alone would teach that verdicts are wrong.
"""

_CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})


@dataclass(frozen=True, slots=True)
class LabelledPatch:
    """The label of one patch, with its evidence and weight."""

    group: int
    """The bot's own id of the issue."""
    issue: IssueRef
    pull: PullNumber
    patch: str
    """SHA-256 of the diff, as in `Submission`."""
    submitted_at: datetime
    is_first: bool
    """True for the first readable patch of the pull request."""
    rule_name: str
    """Name of the rule that gave the label."""
    label: LabelGrade
    probability: float | None
    """Probability that the patch is correct. None: unknown."""
    evidence: tuple[str, ...]
    """Sentences that support the label. They name nobody."""
    weight: float
    """Weight in training, 0 to 1. Unknown labels weigh 0."""
    is_echo: bool
    """True if a person decided while the bot's claim about this pull request was visible."""
    outcome_at: datetime | None
    """Time at which the label could be known. None: unknown."""
    settles_at: datetime | None
    """End of the waiting period. None: the label waits for none."""
    decider: str | None = None
    """GitHub's id of the person who decided, else a name in this repository; None: nobody, or checked by hand.

    Only the caps use it, and no dataset stores it."""
    rule_version: int = RULE_VERSION

    @property
    def key(self) -> PatchKey:
        """Identity of the patch: (the bot's own issue id, pull request, SHA-256 of the diff)."""
        return self.group, self.pull, self.patch

    @property
    def confidence(self) -> float | None:
        """Probability that the label is right. None: unknown."""
        return None if self.probability is None else max(self.probability, 1 - self.probability)


NO_CHECKS: Mapping[PatchKey, LabelCheck] = MappingProxyType({})


def label_patches(
    records: Sequence[PullRecord],
    now: datetime,
    checks: Mapping[PatchKey, LabelCheck] = NO_CHECKS,
) -> list[LabelledPatch]:
    """Label every readable patch of every pull request, with audited probabilities and capped weights.

    A label that a person checked by `now` replaces the derived label. The hand-checked labels in `checks` also correct
    the probabilities of all other labels of the same rule.
    """
    records = [record.limit_to(now) for record in records]
    checks = {key: check for key, check in checks.items() if check.checked_at <= now}
    issues: dict[int, list[PullRecord]] = {}
    for record in records:
        issues.setdefault(record.group, []).append(record)
    derived = [
        label_patch(record, patch, now, issues[record.group])
        for record in records
        for patch in list_submitted_patches(record)
    ]
    rule_audit = audit_labels(derived, {key: check.is_correct for key, check in checks.items()})
    return cap_labels([_apply_audit(label, rule_audit, checks.get(label.key)) for label in derived])


def cap_labels(labels: Sequence[LabelledPatch]) -> list[LabelledPatch]:
    """Return the labels with weights in which no person, repository or owner has more than its share of them."""
    sources = [
        LabelOrigin(label.decider, label.issue.repository.id, label.issue.repository.installation)
        for label in labels
    ]
    weights = cap_dataset_weights([label.weight for label in labels], sources)
    return [replace(label, weight=weight) for label, weight in zip(labels, weights, strict=True)]


def audit_labels(labels: Iterable[LabelledPatch], truth: Mapping[PatchKey, bool]) -> LabelAudit:
    """Count by rule how often derived labels agree with hand-checked ones.

    `truth` says for each hand-checked patch whether it is correct.
    """
    return summarise_checks(
        CheckedLabel(label.rule_name, truth[label.key]) for label in labels if label.key in truth
    )


def _apply_audit(
    label: LabelledPatch, rule_audit: LabelAudit, check: LabelCheck | None
) -> LabelledPatch:
    if check is not None:
        return _apply_check(label, check)
    belief = rule_audit.estimate_probability(label.rule_name)
    if belief is None or not rule_audit.checked.get(label.rule_name):
        return label
    return replace(label, probability=belief, label=_choose_grade(label.label, belief))


def _choose_grade(grade: LabelGrade, belief: float) -> LabelGrade:
    """Return the grade, or a weak grade of the other side if the audited belief contradicts it."""
    if (belief >= 0.5) is grade.is_positive:
        return grade
    return LabelGrade.WEAKLY_CORRECT if belief >= 0.5 else LabelGrade.WEAKLY_INCORRECT


def _apply_check(label: LabelledPatch, check: LabelCheck) -> LabelledPatch:
    rule = RULES[CHECKED_RULES[check.is_correct]]
    return replace(
        label,
        rule_name=rule.name,
        label=rule.grade,
        probability=rule.probability,
        evidence=(*label.evidence, f"looked at on {check.checked_at:%Y-%m-%d}"),
        weight=1.0,
        is_echo=False,
        outcome_at=check.checked_at,
        settles_at=None,
        decider=None,
    )


def list_submitted_patches(record: PullRecord) -> tuple[str, ...]:
    """Return the SHA-256 of each readable diff of a pull request, without repetition, oldest first."""
    return tuple(
        dict.fromkeys(submission.patch for submission in record.submissions if submission.patch)
    )


def label_patch(
    record: PullRecord,
    patch: str,
    now: datetime,
    rivals: Sequence[PullRecord] = (),
) -> LabelledPatch:
    """Label one submitted patch of the pull request `record` as of `now`, without audit and without weight caps.

    `patch` is the SHA-256 of its diff. `rivals` are the records of the same issue. They may include `record` itself.
    """
    record, rivals = (
        record.limit_to(now),
        [rival.limit_to(now) for rival in rivals if rival.pull != record.pull],
    )
    decision = choose_label_rule(record, patch, rivals, now)
    rule, grade = RULES[decision.rule], RULES[decision.rule].grade
    is_echo = _is_echo(record, decision.outcome)
    submitted = list_submitted_patches(record)
    return LabelledPatch(
        group=record.group,
        issue=record.issue,
        pull=record.pull,
        patch=patch,
        submitted_at=next(
            submission.submitted_at
            for submission in record.submissions
            if submission.patch == patch
        ),
        is_first=submitted[0] == patch,
        rule_name=decision.rule,
        label=grade,
        probability=rule.probability
        if decision.surviving_share is None
        else estimate_from_survival(decision.surviving_share),
        evidence=decision.evidence,
        weight=0.0 if grade is LabelGrade.UNKNOWN else ECHO_WEIGHT if is_echo else 1.0,
        is_echo=is_echo and grade is not LabelGrade.UNKNOWN,
        outcome_at=None if grade is LabelGrade.UNKNOWN else decision.known_at,
        settles_at=decision.known_at if decision.rule == "lately" else None,
        decider=_identify_decider(record, decision.outcome),
    )


def _identify_decider(record: PullRecord, outcome: PullOutcome | None) -> str | None:
    """Identify the person behind an outcome. Actors without an id, such as a CI, count apart in each repository."""
    if outcome is None:
        return None
    if outcome.actor_id is not None:
        return str(outcome.actor_id)
    return f"{record.issue.repository.id}:{outcome.actor or ''}"


def _is_echo(record: PullRecord, decided: PullOutcome | None) -> bool:
    """Tell whether a claim of ours was visible when a person decided."""
    if decided is None or decided.evaluation is None or decided.permission == APP:
        return False
    verdicts = [
        judgement.verdict
        for judgement in record.judgements
        if judgement.evaluation == decided.evaluation
    ]
    return bool(verdicts) and verdicts[-1] in _CLAIMS


__all__ = [
    "ECHO_WEIGHT",
    "RULE_VERSION",
    "LabelGrade",
    "LabelledPatch",
    "audit_labels",
    "cap_labels",
    "label_patch",
    "label_patches",
    "list_submitted_patches",
]
