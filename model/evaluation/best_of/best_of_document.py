"""Compute Best@K from judged sets of K candidates, as an `r4p.best-of/1` document (pure).

`best_of.schema.json` is its schema. R4P (section 5.2, figure 4) judges all candidates of an issue anew for each number of
them. The paper says neither how it draws the candidates nor how often.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

import numpy as np
from pydantic import TypeAdapter

from model.domain import EngineInfo, Verdict
from model.evaluation.best_of.candidate_sets import CandidateSets
from model.evaluation.bootstrap import Estimate
from model.evaluation.judge_catalog import Judge
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.evaluation.judgement_columns import Floats, to_array
from model.evaluation.labelled_group import LabelledGroup
from model.evaluation.rate_intervals import estimate_rates
from model.evaluation.trivial_patches import LeftOut

SCHEMA: Final = "r4p.best-of/1"
_UNDEFINED = Estimate(None, None, None)


@dataclass(frozen=True, slots=True)
class BestOfPoint:
    """Best@K for one K. Each issue counts the same, with the mean over its sets."""

    k: int
    issues: int
    """Issues with a known choice. All estimates of this K are over these issues and sets."""
    too_few: int
    """Issues that are left out, because they have fewer than K candidates."""
    sets: int
    """Sets of K candidates with a known choice."""
    unknown: int
    """Sets without one; see `read_choice`. They count neither as resolved nor as not resolved."""
    resolved: Estimate
    """Share of issues whose chosen candidate is correct."""
    random: Estimate
    """The same for a random candidate of each set."""
    oracle: Estimate
    """Share with a correct candidate in the set, which is the most that any choice can reach."""
    gain: Estimate
    """`resolved` minus `random`."""


@dataclass(frozen=True, slots=True)
class BestOfDocument:
    """The content of an `r4p.best-of/1` document."""

    schema: Literal["r4p.best-of/1"]
    verifier: str
    engine: EngineInfo
    votes: int
    issues: int
    draws: int
    """Most sets that are drawn from one issue at one K."""
    points: tuple[BestOfPoint, ...]
    left_out: LeftOut | None = None
    """What `--skip-trivial` left out; None without the option."""
    caution: str | None = None


DOCUMENT_ADAPTER = TypeAdapter(BestOfDocument)
"""Parses and writes an `r4p.best-of/1` document."""


def build_best_of(
    drawn: CandidateSets,
    judged: Iterable[JudgedGroup],
    judge: Judge,
    *,
    left_out: LeftOut | None = None,
    caution: str | None = None,
) -> BestOfDocument:
    """Build the document of one judge. `judged` holds the judgement of each set in `drawn.to_judge`."""
    by_id = {group.key.group: group for group in judged}
    points = tuple(
        _build_point(size, sets, by_id, drawn.issues) for size, sets in drawn.sets.items()
    )
    return BestOfDocument(
        SCHEMA,
        judge.verifier,
        judge.engine,
        judge.votes,
        drawn.issues,
        drawn.draws,
        points,
        left_out,
        caution,
    )


def read_choice(judged: JudgedGroup) -> float | None:
    """Return the chance that the verifier's choice among the judged candidates is correct: 0, 1, or a mean over ties.

    The result is None, unknown, where an unread vote leaves the choice open:

    - no candidate has an opinion
    - some candidate was judged and has no opinion, because every request about it failed or could not be read
    - candidates with different edits tie for the first place, and a vote failed or could not be read
    """
    standings = [patch.standing for patch in judged.patches if patch.standing is not None]
    if not standings or any(map(_has_failed, judged.patches)):
        return None
    first = [patch for patch in judged.patches if patch.standing == max(standings)]
    if judged.valid < judged.asked and not _make_one_edit(first):
        return None
    return fmean(patch.resolved for patch in first)


def _has_failed(patch: JudgedPatch) -> bool:
    """Whether every request about a patch failed. A patch that was refused, such as a too long one, was not asked about."""
    return (
        patch.belief is None and not patch.votes.valid and patch.verdict is not Verdict.NOT_JUDGED
    )


def _make_one_edit(patches: Sequence[JudgedPatch]) -> bool:
    edits = {patch.edit for patch in patches}
    return len(patches) == 1 or (len(edits) == 1 and None not in edits)


def _build_point(
    size: int, sets: Sequence[LabelledGroup], judged: Mapping[str, JudgedGroup], issues: int
) -> BestOfPoint:
    by_issue: dict[str, list[tuple[float, float, float]]] = {}
    unknown = 0
    for group in sets:
        labels = [patch.resolved for patch in group.patches]
        rows = by_issue.setdefault(group.instance_id, [])
        choice = float(labels[0]) if size == 1 else read_choice(judged[group.id])
        if choice is None:
            unknown += 1
        else:
            rows.append((choice, fmean(labels), float(any(labels))))
    measured = [rows for rows in by_issue.values() if rows]
    return BestOfPoint(
        size,
        len(measured),
        issues - len(by_issue),
        len(sets) - unknown,
        unknown,
        *_estimate_shares(to_array([np.mean(rows, axis=0) for rows in measured])),
    )


def _estimate_shares(shares: Floats) -> list[Estimate]:
    """Estimate the means of (resolved, random, oracle) and the gain; `shares` has the shape (issues, 3)."""
    if not len(shares):
        return [_UNDEFINED] * 4
    issue = np.arange(len(shares), dtype=np.intp)
    estimates = estimate_rates(shares, np.ones_like(shares), issue)
    # (issues, 1): a difference within each issue, so its interval is a paired one
    gains = shares[:, :1] - shares[:, 1:2]
    estimates += estimate_rates(gains, np.ones_like(gains), issue, are_differences=True)
    return [_round(estimate) for estimate in estimates]


def _round(estimate: Estimate) -> Estimate:
    parts = (estimate.value, estimate.low, estimate.high)
    return Estimate(*(None if part is None else round(part, 6) for part in parts))
