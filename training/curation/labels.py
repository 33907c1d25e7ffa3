"""Whether a judged patch was correct, as far as what became of it tells (pure). Unknown is not incorrect.

Rule 1. A merge of exactly the judged patch that nobody took back for a while says correct; a revert says incorrect;
so does, weakly, an explicit word of somebody with write permission about the verdict. A closed pull request says
nothing: a third of those are no failure of the patch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.judgements import Fate, Judge, Judgement, PullRecord
from app.outcomes import CAN_WRITE, OutcomeKind
from model.domain import Label, Verdict

RULE_VERSION = 1
"""Raised with every change of meaning."""

HELD_FOR = timedelta(days=14)
"""A merge that nobody reverted for so long holds."""

_OPPOSITE = {Label.CORRECT: Label.INCORRECT, Label.INCORRECT: Label.CORRECT}
_CLAIMED = {Verdict.CORRECT: Label.CORRECT, Verdict.INCORRECT: Label.INCORRECT}


@dataclass(frozen=True, slots=True)
class Labelled:
    """What is known of the truth about one judged patch."""

    label: Label | None
    """None: unknown."""
    why: str
    judgement: Judgement | None = None
    """The judgement that the label is about; there is one where there is a label."""
    is_weak: bool = False
    """Somebody said so who had read the verdict; nothing was done."""


def label(record: PullRecord, judge: Judge, now: datetime) -> Labelled:
    """The truth about the patch that this judge has judged, as far as it is known by now."""
    merge = _last(record, OutcomeKind.MERGED)
    opinion = _opinion(record, judge)
    if merge is None:
        return opinion or Labelled(None, _unknown(record))
    judgement = _at(record, judge, merge.occurred_at)
    if judgement is None:
        return Labelled(None, "merged, and not judged as it was merged")
    if _last(record, OutcomeKind.REVERTED):
        return Labelled(Label.INCORRECT, "reverted", judgement)
    if reason := _doubt(record, opinion, merge, now):
        return Labelled(None, reason)
    return Labelled(Label.CORRECT, "merged as it was judged, and not reverted", judgement)


def _unknown(record: PullRecord) -> str:
    if _last(record, OutcomeKind.MERGED_AFTER_CHANGES):
        return "merged after changes"
    return "closed" if _last(record, OutcomeKind.CLOSED) else "open"


def _doubt(record: PullRecord, opinion: Labelled | None, merge: Fate, now: datetime) -> str | None:
    """Why a merge proves nothing; None when it holds."""
    reopened = any(
        one.kind is OutcomeKind.REOPENED and one.reason == "issue" for one in record.fates
    )
    if reopened:
        return "merged, and its issue was opened again"
    if opinion is not None and opinion.label is not Label.CORRECT:
        return "merged, and a maintainer holds it incorrect"
    return "merged too lately" if now - merge.occurred_at < HELD_FOR else None


def _at(record: PullRecord, judge: Judge, moment: datetime) -> Judgement | None:
    """The judge's last judgement of the patch that everybody had judged last by then."""
    # GitHub's times are whole seconds.
    before = [one for one in record.judgements if one.judged_at.replace(microsecond=0) <= moment]
    if not before or before[-1].patch is None:
        return None
    own = [one for one in before if one.judge == judge and one.patch == before[-1].patch]
    return own[-1] if own else None


def _opinion(record: PullRecord, judge: Judge) -> Labelled | None:
    """What those who may write said of this judge's verdicts, if they say one thing."""
    said = [found for one in record.fates if (found := _said(record.judgements, one, judge))]
    if len({one.label for one in said}) > 1:
        return Labelled(None, "maintainers disagree with each other")
    return said[-1] if said else None


def _said(judgements: Sequence[Judgement], fate: Fate, judge: Judge) -> Labelled | None:
    if fate.kind not in {OutcomeKind.AGREE, OutcomeKind.DISAGREE}:
        return None
    about = [one for one in judgements if one.evaluation == fate.evaluation and one.judge == judge]
    if fate.permission not in CAN_WRITE or not about or about[-1].verdict not in _CLAIMED:
        return None
    claimed = _CLAIMED[about[-1].verdict]
    agreed = fate.kind is OutcomeKind.AGREE
    label = claimed if agreed else _OPPOSITE[claimed]
    why = f"a maintainer {'agrees' if agreed else 'disagrees'}"
    return Labelled(label, why, about[-1], is_weak=True)


def _last(record: PullRecord, kind: OutcomeKind) -> Fate | None:
    return next((one for one in reversed(record.fates) if one.kind is kind), None)
