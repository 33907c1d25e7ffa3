"""Whether a submitted patch was correct, as far as what became of it tells (pure). Unknown is not incorrect.

A label is about one patch, not about a pull request: what was merged may differ from what was submitted first. It is
derived from raw history whenever it is needed and never stored; `now` in the past gives what could be known then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from app.outcomes import APP
from app.outcomes.judgement import Fate, LabelCheck, PatchKey, PullRecord
from app.values.identifiers import IssueRef, PullNumber
from model.domain import Verdict
from training.labels.audit import Audit, Checked, audit
from training.labels.decisions import decide
from training.labels.rules import CHECKED, RULE_VERSION, RULES, Grade, graded
from training.labels.weight_caps import CAPS, Caps, capped

ECHO = 0.5
"""What a deed or word counts that came when our verdict could be read, which may have led it.

Whether it agrees makes no difference: to discount agreement alone would teach that verdicts are wrong.
"""

_CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})


@dataclass(frozen=True, slots=True)
class LabelledPatch:
    """What is known of the truth about one patch."""

    group: int
    """The issue, by our number."""
    issue: IssueRef
    pull: PullNumber
    patch: str
    """SHA-256 of the diff, as in `Submission`."""
    submitted_at: datetime
    is_first: bool
    """The pull request's first patch that could be read."""
    why: str
    """The rule that labelled it, by name."""
    label: Grade
    probability: float | None
    """That it is correct; None: unknown."""
    evidence: tuple[str, ...]
    """What the label rests on; names nobody."""
    weight: float
    """How much it counts, 0 to 1; of an unknown one nothing."""
    is_echo: bool
    """A person decided it who could read our claim about this pull request before."""
    outcome_at: datetime | None
    """When it could be known; None: unknown."""
    settles_at: datetime | None
    """When its window will have passed; None: it waits for no window."""
    decided_by: str | None
    """Whose deed or word it is, for caps; never written into a dataset."""
    rule: int = RULE_VERSION

    @property
    def key(self) -> PatchKey:
        """What it is about."""
        return self.group, self.pull, self.patch

    @property
    def confidence(self) -> float | None:
        """The probability that the label is right; None: there is none."""
        return None if self.probability is None else max(self.probability, 1 - self.probability)


NOTHING_CHECKED: Mapping[PatchKey, LabelCheck] = MappingProxyType({})


def all_of(
    records: Sequence[PullRecord],
    now: datetime,
    checks: Mapping[PatchKey, LabelCheck] = NOTHING_CHECKED,
    caps: Caps = CAPS,
) -> list[LabelledPatch]:
    """Every patch that could be read of every pull request, with weights capped over all of them.

    What people have checked by then is labelled so, and tells what the rules of all others are worth.
    """
    records = [one.by(now) for one in records]
    checks = {key: one for key, one in checks.items() if one.checked_at <= now}
    issues: dict[int, list[PullRecord]] = {}
    for record in records:
        issues.setdefault(record.group, []).append(record)
    derived = [
        of(record, patch, now, issues[record.group])
        for record in records
        for patch in patches(record)
    ]
    worth = audited(derived, {key: one.is_correct for key, one in checks.items()})
    found = [_believed(one, worth, checks.get(one.key)) for one in derived]
    weights = capped([(one.weight, one.decided_by, one.issue.repository.id) for one in found], caps)
    return [replace(one, weight=weight) for one, weight in zip(found, weights, strict=True)]


def audited(derived: Iterable[LabelledPatch], truth: Mapping[PatchKey, bool]) -> Audit:
    """What rules are worth, by labels as they are derived and the truth where it is known."""
    return audit(Checked(one.why, truth[one.key]) for one in derived if one.key in truth)


def _believed(one: LabelledPatch, worth: Audit, check: LabelCheck | None) -> LabelledPatch:
    if check is not None:
        return _checked(one, check)
    belief = worth.belief(one.why)
    if belief is None or not worth.checked.get(one.why):
        return one
    return replace(one, probability=belief, label=_side(one.label, belief))


def _side(grade: Grade, belief: float) -> Grade:
    """The grade, unless what was found leans to the other side."""
    if (belief >= 0.5) is grade.is_positive:
        return grade
    return Grade.WEAKLY_CORRECT if belief >= 0.5 else Grade.WEAKLY_INCORRECT


def _checked(one: LabelledPatch, check: LabelCheck) -> LabelledPatch:
    rule = RULES[CHECKED[check.is_correct]]
    return replace(
        one,
        why=rule.name,
        label=rule.grade,
        probability=rule.probability,
        evidence=(*one.evidence, f"looked at on {check.checked_at:%Y-%m-%d}"),
        weight=1.0,
        is_echo=False,
        outcome_at=check.checked_at,
        settles_at=None,
        decided_by=None,
    )


def patches(record: PullRecord) -> tuple[str, ...]:
    """The pull request's patches that could be read, by content, oldest first."""
    return tuple(dict.fromkeys(one.patch for one in record.submissions if one.patch))


def of(
    record: PullRecord,
    patch: str,
    now: datetime,
    rivals: Sequence[PullRecord] = (),
) -> LabelledPatch:
    """The label of one patch that was submitted by then, unaudited, its weight not yet capped.

    `rivals`: the records of the same issue, this one may be among them.
    """
    record, rivals = record.by(now), [one.by(now) for one in rivals if one.pull != record.pull]
    decision = decide(record, patch, rivals, now)
    rule, grade = RULES[decision.rule], RULES[decision.rule].grade
    is_echo = _is_echo(record, decision.by)
    known = patches(record)
    return LabelledPatch(
        group=record.group,
        issue=record.issue,
        pull=record.pull,
        patch=patch,
        submitted_at=next(one.submitted_at for one in record.submissions if one.patch == patch),
        is_first=known[0] == patch,
        why=decision.rule,
        label=grade,
        probability=rule.probability if decision.share is None else graded(decision.share),
        evidence=decision.evidence,
        weight=0.0 if grade is Grade.UNKNOWN else ECHO if is_echo else 1.0,
        is_echo=is_echo and grade is not Grade.UNKNOWN,
        outcome_at=None if grade is Grade.UNKNOWN else decision.known_at,
        settles_at=decision.known_at if decision.rule == "lately" else None,
        decided_by=decision.by.actor if decision.by else None,
    )


def _is_echo(record: PullRecord, decided: Fate | None) -> bool:
    """Whether a claim of ours could be read when a person decided."""
    if decided is None or decided.evaluation is None or decided.permission == APP:
        return False
    said = [one.verdict for one in record.judgements if one.evaluation == decided.evaluation]
    return bool(said) and said[-1] in _CLAIMS


__all__ = [
    "ECHO",
    "RULE_VERSION",
    "Grade",
    "LabelledPatch",
    "all_of",
    "audited",
    "of",
    "patches",
]
