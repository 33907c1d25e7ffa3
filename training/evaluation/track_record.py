"""What a model's verdicts turned out to be worth: held against labels, beside who judged the same patches (pure).

A patch counts once, by the last verdict on it, and weighs what its label weighs; where that only leans, half of it.
What nobody knows, or nothing was claimed of, is counted apart and never as wrong.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.learning.gate_rules import Rules
from app.outcomes.judgement import PatchKey, PullRecord
from app.values.identifiers import EvaluationId, PullNumber
from model.domain import Verdict
from model.evaluation.bootstrap import Estimate, Issues
from model.evaluation.judgement_columns import Floats, Indices, array
from training.evaluation.metrics import SHARES
from training.evaluation.significance import Statistic, differences, discordant, estimates, mcnemar
from training.labels.labels import LabelledPatch
from training.labels.rules import WEAK

LEAST_ISSUES = Rules().least_issues
"""Below it no share is told, as the gate decides nothing."""
ACCURACY, FALSE_ACCEPTS = "accuracy", "false_accepts"
"""Names of `training.evaluation.metrics`: how often it is right, and how often it calls correct what is incorrect."""
_CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of a patch last."""

    verdicts: tuple[Verdict, ...]
    """The model's; where it was the shadow, then that of who judged, both of the same evaluation."""
    judge: str
    """Served name of who judged."""


@dataclass(frozen=True, slots=True)
class Voice:
    """One of those who spoke, in patches that have a label."""

    rightly: int
    """Of the compared ones, those that it called what their label leans to."""
    unsure: int
    not_judged: int


@dataclass(frozen=True, slots=True)
class Paired:
    """The model less who judged: the same issues in every draw."""

    difference: Mapping[str, Estimate]
    only_model: int
    """Issues of which it alone called every compared patch rightly."""
    only_judge: int
    p_differs: float
    """McNemar's exact two-sided test on these."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Weighted shares of the compared patches, by issue."""

    shares: tuple[Mapping[str, Estimate], ...]
    """ACCURACY and FALSE_ACCEPTS of each voice."""
    all_correct: float
    """The accuracy of whoever calls every patch correct."""
    paired: Paired | None
    """None: nobody judged beside it."""


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """What was said, held against what is known."""

    judges: tuple[str, ...]
    patches: int
    """All that were judged; the next four add up to them."""
    compared: int
    """Those with a label that everybody here called correct or incorrect."""
    unclaimed: int
    """Those with a label of which somebody here claimed nothing."""
    learnt: int
    """Those of issues of which a label was known when the model was made: it may have learnt from them."""
    unknown: Mapping[str, int]
    """Those without a label, by rule."""
    issues: int
    """Of the compared ones."""
    echoes: int
    """Compared ones that somebody decided who could read the judge's claim."""
    voices: tuple[Voice, ...]
    """In the order of `Said.verdicts`."""
    measured: Measured | None
    """None: too few issues."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A patch with a label."""

    label: LabelledPatch
    verdicts: tuple[Verdict, ...]

    @property
    def is_compared(self) -> bool:
        """Everybody claimed something of it."""
        return _CLAIMS.issuperset(self.verdicts)

    @property
    def weight(self) -> float:
        """How much it counts."""
        return self.label.weight * (WEAK if self.label.label.is_weak else 1.0)

    def is_accepted(self, speaker: int) -> bool:
        """Whether it was called correct."""
        return self.verdicts[speaker] is Verdict.CORRECT

    def is_right(self, speaker: int) -> bool:
        """Whether the label leans to what was said."""
        return self.label.label.is_positive is self.is_accepted(speaker)


def as_judge(records: Iterable[PullRecord], model: str) -> dict[PatchKey, Said]:
    """What a model said last of each patch that it judged."""
    return {
        (record.group, record.pull, one.patch): Said((one.verdict,), model)
        for record in records
        for one in record.judgements
        if one.patch and one.judge.engine.model == model
    }


def as_shadow(
    records: Iterable[PullRecord], said: Mapping[EvaluationId, Mapping[PullNumber, Verdict]]
) -> dict[PatchKey, Said]:
    """What a shadow said last of each patch, with what was said by who judged."""
    return {
        (record.group, record.pull, one.patch): Said(
            (said[one.evaluation][record.pull], one.verdict), one.judge.engine.model
        )
        for record in records
        for one in record.judgements
        if one.patch and record.pull in said.get(one.evaluation, {})
    }


def held_against(
    labels: Iterable[LabelledPatch],
    before: Iterable[LabelledPatch],
    said: Mapping[PatchKey, Said],
    least_issues: int = LEAST_ISSUES,
) -> TrackRecord | None:
    """What was said, by labels of today; None: nothing was. `before`: labels as of when the model was made."""
    judged = [one for one in labels if one.key in said]
    if not judged:
        return None
    learnt = {one.group for one in before if one.probability is not None}
    fresh = [one for one in judged if one.group not in learnt]
    known = [_Row(one, said[one.key].verdicts) for one in fresh if one.probability is not None]
    rows = [one for one in known if one.is_compared]
    issues, speakers = _by_issue(rows), range(len(said[judged[0].key].verdicts))
    return TrackRecord(
        judges=tuple(sorted({said[one.key].judge for one in judged})),
        patches=len(judged),
        compared=len(rows),
        unclaimed=len(known) - len(rows),
        learnt=len(judged) - len(fresh),
        unknown=dict(Counter(one.why for one in fresh if one.probability is None)),
        issues=len(issues),
        echoes=sum(one.label.is_echo for one in rows),
        voices=tuple(_voice(known, at) for at in speakers),
        measured=_measured(rows, issues, speakers) if len(issues) >= least_issues else None,
    )


def _by_issue(rows: Sequence[_Row]) -> list[list[int]]:
    """The places of each issue's rows."""
    found: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        found.setdefault(row.label.group, []).append(at)
    return list(found.values())


def _voice(known: Sequence[_Row], speaker: int) -> Voice:
    verdicts = Counter(one.verdicts[speaker] for one in known)
    return Voice(
        rightly=sum(one.is_right(speaker) for one in known if one.is_compared),
        unsure=verdicts[Verdict.UNSURE],
        not_judged=verdicts[Verdict.NOT_JUDGED],
    )


def _measured(rows: Sequence[_Row], issues: Sequence[Sequence[int]], speakers: range) -> Measured:
    by = Issues(
        tuple(np.asarray(one, dtype=np.intp) for one in issues),
        tuple(np.asarray([at], dtype=np.intp) for at in range(len(issues))),
    )
    numbers = [_statistics(rows, at) for at in speakers]
    right = [[all(rows[row].is_right(at) for row in one) for one in issues] for at in speakers]
    correct = [one.weight for one in rows if one.label.label.is_positive]
    return Measured(
        shares=tuple(estimates(one, by, shares=SHARES) for one in numbers),
        all_correct=sum(correct) / sum(one.weight for one in rows),
        paired=_paired(numbers, right, by) if len(speakers) > 1 else None,
    )


def _paired(
    numbers: Sequence[Mapping[str, Statistic]], right: Sequence[Sequence[bool]], by: Issues
) -> Paired:
    model, judge = numbers
    only = discordant(*right)
    return Paired(differences(model, judge, by), *only, mcnemar(*only))


def _statistics(rows: Sequence[_Row], speaker: int) -> dict[str, Statistic]:
    weights = array([one.weight for one in rows])
    incorrect = array([not one.label.label.is_positive for one in rows])
    return {
        ACCURACY: _share([one.is_right(speaker) for one in rows], weights),
        FALSE_ACCEPTS: _share([one.is_accepted(speaker) for one in rows], weights * incorrect),
    }


def _share(so: Sequence[bool], weights: Floats) -> Statistic:
    """How much of the weight is so; NaN where there is none."""
    counted = weights * array(so)

    def share(patches: Indices, _issues: Indices) -> float:
        whole = weights[patches].sum()
        return float(counted[patches].sum() / whole) if whole else np.nan

    return share
