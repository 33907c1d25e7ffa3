"""Why each patch of an issue has its label, for people (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.outcomes import OutcomeKind
from app.outcomes.judgement import Fate, Judgement, PullRecord
from model.domain import Verdict
from training.labels.labels import RULE_VERSION, LabelledPatch
from training.labels.rules import RULES

SCHEMA = "r4p.labels/1"

_CLAIMS = {Verdict.CORRECT: True, Verdict.INCORRECT: False}


@dataclass(frozen=True, slots=True)
class Explained:
    """One issue's patches with their labels."""

    issue: str
    """`owner/name#number`"""
    now: datetime
    records: Sequence[PullRecord]
    labels: Sequence[LabelledPatch]
    is_learnt: bool
    """The repository lets the bot learn from it."""


def document(told: Explained) -> dict[str, Any]:
    """As JSON values: probabilities 0 to 1 or null, times in ISO 8601, UTC."""
    return {
        "schema": SCHEMA,
        "issue": told.issue,
        "as_of": _iso(told.now),
        "rule_version": RULE_VERSION,
        "is_learnt": told.is_learnt,
        "patches": [_patch(told, one) for one in told.labels],
        "events": [
            {
                "pull": record.pull,
                "kind": fate.kind.value,
                "reason": fate.reason,
                "value": fate.value,
                "actor": fate.actor,
                "permission": fate.permission,
                "occurred_at": _iso(fate.occurred_at),
            }
            for record, fate in _events(told)
        ],
    }


def lines(told: Explained) -> Iterator[str]:
    """As text: a paragraph for each patch, then what happened."""
    yield f"{told.issue} as of {told.now:%Y-%m-%d}, by version {RULE_VERSION} of the rules"
    if told.is_learnt:
        yield "Patches as they were submitted first are learnt from."
    else:
        yield "Nothing is learnt from it: the repository's .github/r4p.yml does not say `training: on`."
    for one in told.labels:
        yield ""
        yield from _paragraph(told, one)
    happened = _happened(told)
    yield ""
    yield "What happened:" if happened else "Nothing has happened."
    yield from (f"  {at:%Y-%m-%d %H:%M}  #{pull:<6} {what}" for at, pull, what in happened)


def _paragraph(told: Explained, one: LabelledPatch) -> Iterator[str]:
    place = "as submitted first" if one.is_first else f"as of {one.submitted_at:%Y-%m-%d %H:%M}"
    belief = "" if one.probability is None else f", P(correct) {one.probability:.2f}"
    yield f"#{one.pull} {place}: {_words(one.label.value)}{belief}"
    yield f"  {RULES[one.why].says} ({one.why})"
    yield from (f"  - {each}" for each in one.evidence)
    if one.settles_at:
        yield f"  To be told on {one.settles_at:%Y-%m-%d}, unless more happens."
    if one.outcome_at:
        yield f"  Known since {one.outcome_at:%Y-%m-%d}; counts {one.weight:g}{_echo(one)}."
    if said := _said(told, one):
        yield f"  {said.judge.verifier} said: {_words(said.verdict.value)}{_judged(one, said)}"


def _echo(one: LabelledPatch) -> str:
    return ", for our verdict could be read before it was decided" if one.is_echo else ""


def _judged(one: LabelledPatch, said: Judgement) -> str:
    """Whether the verdict was right, where it claimed something and the truth is known."""
    claimed = _CLAIMS.get(said.verdict)
    if claimed is None or one.label.is_positive is None:
        return ""
    return (
        ", rightly by this label" if claimed is one.label.is_positive else ", wrongly by this label"
    )


def _happened(told: Explained) -> list[tuple[datetime, int, str]]:
    """What was said and done, oldest first."""
    said = [
        (one.judged_at, record.pull, f"{one.judge.verifier} says {_words(one.verdict.value)}")
        for record in told.records
        for one in record.judgements
        if one.judged_at <= told.now
    ]
    done = [(fate.occurred_at, record.pull, _event(fate)) for record, fate in _events(told)]
    return sorted([*said, *done])


def _event(fate: Fate) -> str:
    if fate.kind is OutcomeKind.SURVIVAL and fate.value is not None:
        return f"{fate.value:.0%} of its lines left {_words(fate.reason or '')}"
    what = _words(fate.kind.value)
    why = f" ({_words(fate.reason)})" if fate.reason else ""
    who = f" by {fate.actor}" if fate.actor else ""
    right = f", {fate.permission}" if fate.permission else ""
    return f"{what}{why}{who}{right}"


def _events(told: Explained) -> list[tuple[PullRecord, Fate]]:
    found = [
        (record, fate)
        for record in told.records
        for fate in record.fates
        if fate.occurred_at <= told.now
    ]
    return sorted(found, key=lambda pair: (pair[1].occurred_at, pair[0].pull))


def _said(told: Explained, one: LabelledPatch) -> Judgement | None:
    """The last word of a judge about this patch."""
    said = [
        judgement
        for record in told.records
        if record.pull == one.pull
        for judgement in record.judgements
        if judgement.patch == one.patch and judgement.judged_at <= told.now
    ]
    return said[-1] if said else None


def _words(name: str) -> str:
    return name.replace("_", " ")


def _patch(told: Explained, one: LabelledPatch) -> dict[str, Any]:
    said = _said(told, one)
    return {
        "pull": one.pull,
        "patch": one.patch,
        "is_first": one.is_first,
        "label": one.label.value,
        "probability": one.probability,
        "confidence": one.confidence,
        "rule": one.why,
        "says": RULES[one.why].says,
        "evidence": list(one.evidence),
        "weight": one.weight,
        "is_echo": one.is_echo,
        "outcome_at": _iso(one.outcome_at),
        "settles_at": _iso(one.settles_at),
        "verdict": said and {"verifier": said.judge.verifier, "says": said.verdict.value},
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else None
