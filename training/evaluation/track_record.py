"""Compare a trained model's verdicts with labels and with the judge of the same patches (pure).

A patch counts once, by its last verdict, with the weight of its label; weak labels weigh half. Patches
without a label or without a claim are counted separately and never as wrong.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.learning.gate_rules import Rules
from app.outcomes.judgement import PatchKey, PullRecord
from app.values.identifiers import EvaluationId, PullNumber
from model.domain import Verdict
from model.evaluation.bootstrap import Estimate, IssueRows
from model.evaluation.judgement_columns import Floats, Indices, to_array
from training.evaluation.metrics import SHARES
from training.evaluation.significance import (
    Statistic,
    bootstrap_differences,
    bootstrap_estimates,
    compute_mcnemar_p,
    count_discordant,
)
from training.labels.labels import LabelledPatch
from training.labels.rules import WEAK_WEIGHT

LEAST_ISSUES = Rules().least_issues
"""Fewest issues for which shares are reported, as in the gate."""
ACCURACY, FALSE_ACCEPTS = "accuracy", "false_accepts"
"""Metric names of `training.evaluation.metrics`."""
_CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """A trained model's last verdict on a patch; for a shadow, together with the judge's verdict."""

    verdicts: tuple[Verdict, ...]
    """The model's verdict; for a shadow, followed by the judge's verdict of the same evaluation."""
    judge: str
    """Name of the judge's model on the engine. A model that is no shadow is itself the judge."""


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """Counts of one speaker's verdicts on labelled patches. A speaker is the trained model or the judge."""

    rightly: int
    """Patches whose verdict agrees with the label, among those that every speaker claims about."""
    unsure: int
    """Labelled patches with a verdict of unsure."""
    not_judged: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The difference in metrics between a trained model and the judge of the same patches."""

    difference: Mapping[str, Estimate]
    """ACCURACY and FALSE_ACCEPTS of the model minus those of the judge, in the same draws of issues."""
    only_model: int
    """Issues on which only the model calls every compared patch rightly."""
    only_judge: int
    """Issues on which only the judge calls every compared patch rightly."""
    p_differs: float
    """Two-sided p-value of McNemar's exact test on the two counts."""


@dataclass(frozen=True, slots=True)
class WeightedShares:
    """Accuracy and false accepts of the model, and of the judge if there is one, on the compared patches."""

    shares: tuple[Mapping[str, Estimate], ...]
    """ACCURACY and FALSE_ACCEPTS of each speaker, in the order of `RecordedVerdict.verdicts`."""
    all_correct: float
    """Accuracy of calling every patch correct."""
    paired: PairedDifference | None
    """None without a judge beside the model."""


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """The comparison of a trained model's verdicts with the labels of the judged patches."""

    judges: tuple[str, ...]
    """Names of the judges' models, sorted."""
    patches: int
    """All judged patches: the sum of `compared`, `unclaimed`, `learnt` and `unknown`."""
    compared: int
    """Labelled patches that every speaker (the model, and the judge beside a shadow) calls correct or incorrect."""
    unclaimed: int
    """Labelled patches that at least one speaker does not call correct or incorrect."""
    learnt: int
    """Patches of issues whose label was known when the model was trained."""
    unknown: Mapping[str, int]
    """Number of patches without a label, by the name of the rule that left them without one."""
    issues: int
    """Number of issues of the compared patches."""
    echoes: int
    """Compared patches whose outcome may follow from a visible claim."""
    voices: tuple[VerdictCounts, ...]
    """Counts of each speaker, in the order of `RecordedVerdict.verdicts`."""
    measured: WeightedShares | None
    """Weighted accuracy and false accepts; None with fewer issues than required."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A labelled patch with its verdicts."""

    label: LabelledPatch
    verdicts: tuple[Verdict, ...]

    @property
    def is_compared(self) -> bool:
        """Whether every verdict on the patch is a claim."""
        return _CLAIMS.issuperset(self.verdicts)

    @property
    def weight(self) -> float:
        """The weight of the label; half for a weak one."""
        return self.label.weight * (WEAK_WEIGHT if self.label.label.is_weak else 1.0)

    def is_accepted(self, speaker: int) -> bool:
        """Whether this speaker, an index of `verdicts`, called the patch correct."""
        return self.verdicts[speaker] is Verdict.CORRECT

    def is_right(self, speaker: int) -> bool:
        """Whether this speaker's decision agrees with the label."""
        return self.label.label.is_positive is self.is_accepted(speaker)


def list_judge_verdicts(
    records: Iterable[PullRecord], model: str
) -> dict[PatchKey, RecordedVerdict]:
    """Return the last verdict of the served model `model` on each patch that it judged, by patch key.

    A patch key has the bot's id of the issue, the number of the pull request and the SHA-256 of the diff.
    """
    return {
        (record.group, record.pull, judgement.patch): RecordedVerdict((judgement.verdict,), model)
        for record in records
        for judgement in record.judgements
        if judgement.patch and judgement.judge.engine.model == model
    }


def list_shadow_verdicts(
    records: Iterable[PullRecord],
    shadow_verdicts: Mapping[EvaluationId, Mapping[PullNumber, Verdict]],
) -> dict[PatchKey, RecordedVerdict]:
    """Return a shadow's last verdict on each patch, with the judge's verdict of the same evaluation.

    `shadow_verdicts` has the shadow's verdicts by evaluation and pull request. The result is by patch key: the bot's id
    of the issue, the number of the pull request and the SHA-256 of the diff.
    """
    return {
        (record.group, record.pull, judgement.patch): RecordedVerdict(
            (shadow_verdicts[judgement.evaluation][record.pull], judgement.verdict),
            judgement.judge.engine.model,
        )
        for record in records
        for judgement in record.judgements
        if judgement.patch and record.pull in shadow_verdicts.get(judgement.evaluation, {})
    }


def compare_with_labels(
    labels: Iterable[LabelledPatch],
    before: Iterable[LabelledPatch],
    verdicts: Mapping[PatchKey, RecordedVerdict],
    least_issues: int = LEAST_ISSUES,
) -> TrackRecord | None:
    """Compare a trained model's last verdicts with today's labels; None if no patch of `labels` has a verdict.

    `before` has the labels when the model was trained: issues with a known label then are not compared. Shares are
    measured only if at least `least_issues` issues are compared.
    """
    judged = [patch for patch in labels if patch.key in verdicts]
    if not judged:
        return None
    learnt = {patch.group for patch in before if patch.probability is not None}
    fresh = [group for group in judged if group.group not in learnt]
    labelled_rows = [
        _Row(label, verdicts[label.key].verdicts)
        for label in fresh
        if label.probability is not None
    ]
    rows = [patch for patch in labelled_rows if patch.is_compared]
    issues, speakers = _index_by_issue(rows), range(len(verdicts[judged[0].key].verdicts))
    return TrackRecord(
        judges=tuple(sorted({verdicts[group.key].judge for group in judged})),
        patches=len(judged),
        compared=len(rows),
        unclaimed=len(labelled_rows) - len(rows),
        learnt=len(judged) - len(fresh),
        unknown=dict(Counter(label.rule_name for label in fresh if label.probability is None)),
        issues=len(issues),
        echoes=sum(row.label.is_echo for row in rows),
        voices=tuple(_count_verdicts(labelled_rows, index) for index in speakers),
        measured=_measure_shares(rows, issues, speakers) if len(issues) >= least_issues else None,
    )


def _index_by_issue(rows: Sequence[_Row]) -> list[list[int]]:
    """The places of each issue's rows."""
    places: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        places.setdefault(row.label.group, []).append(index)
    return list(places.values())


def _count_verdicts(rows: Sequence[_Row], speaker: int) -> VerdictCounts:
    verdicts = Counter(row.verdicts[speaker] for row in rows)
    return VerdictCounts(
        rightly=sum(row.is_right(speaker) for row in rows if row.is_compared),
        unsure=verdicts[Verdict.UNSURE],
        not_judged=verdicts[Verdict.NOT_JUDGED],
    )


def _measure_shares(
    rows: Sequence[_Row], issues: Sequence[Sequence[int]], speakers: range
) -> WeightedShares:
    issue_rows = IssueRows(
        tuple(np.asarray(issue, dtype=np.intp) for issue in issues),
        tuple(np.asarray([index], dtype=np.intp) for index in range(len(issues))),
    )
    numbers = [_build_statistics(rows, index) for index in speakers]
    right = [
        [all(rows[row].is_right(index) for row in issue) for issue in issues] for index in speakers
    ]
    correct = [row.weight for row in rows if row.label.label.is_positive]
    return WeightedShares(
        shares=tuple(
            bootstrap_estimates(statistics, issue_rows, shares=SHARES) for statistics in numbers
        ),
        all_correct=sum(correct) / sum(row.weight for row in rows),
        paired=_compare_pair(numbers, right, issue_rows) if len(speakers) > 1 else None,
    )


def _compare_pair(
    numbers: Sequence[Mapping[str, Statistic]],
    right: Sequence[Sequence[bool]],
    issue_rows: IssueRows,
) -> PairedDifference:
    model, judge = numbers
    only = count_discordant(*right)
    return PairedDifference(
        bootstrap_differences(model, judge, issue_rows), *only, compute_mcnemar_p(*only)
    )


def _build_statistics(rows: Sequence[_Row], speaker: int) -> dict[str, Statistic]:
    weights = to_array([row.weight for row in rows])
    incorrect = to_array([not row.label.label.is_positive for row in rows])
    return {
        ACCURACY: _build_share([row.is_right(speaker) for row in rows], weights),
        FALSE_ACCEPTS: _build_share(
            [row.is_accepted(speaker) for row in rows], weights * incorrect
        ),
    }


def _build_share(so: Sequence[bool], weights: Floats) -> Statistic:
    """Build the weighted share of true rows as a statistic; NaN without weight."""
    counted = weights * to_array(so)

    def share(patches: Indices, _issues: Indices) -> float:
        whole = weights[patches].sum()
        return float(counted[patches].sum() / whole) if whole else np.nan

    return share
