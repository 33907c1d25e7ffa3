"""Explain to people why each patch of an issue has its label (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.outcomes import OutcomeKind
from app.outcomes.judgement import Judgement, PullOutcome, PullRecord
from model.domain import Verdict
from training.labels.labels import RULE_VERSION, LabelledPatch
from training.labels.rules import RULES

SCHEMA = "r4p.labels/1"

_CLAIMS = {Verdict.CORRECT: True, Verdict.INCORRECT: False}


@dataclass(frozen=True, slots=True)
class IssueExplanation:
    """The labels of one issue's patches with the records behind them."""

    issue: str
    """`owner/name#number`"""
    now: datetime
    """The moment as of which the patches are labelled."""
    records: Sequence[PullRecord]
    labels: Sequence[LabelledPatch]
    is_learnt: bool
    """True if the repository allows training on it."""


def to_document(explanation: IssueExplanation) -> dict[str, Any]:
    """Return an issue's label explanation as JSON values.

    Probabilities are 0 to 1 or null, times are ISO 8601 in UTC.
    """
    return {
        "schema": SCHEMA,
        "issue": explanation.issue,
        "as_of": _format_time(explanation.now),
        "rule_version": RULE_VERSION,
        "is_learnt": explanation.is_learnt,
        "patches": [_describe_patch(explanation, label) for label in explanation.labels],
        "events": [
            {
                "pull": record.pull,
                "kind": outcome.kind.value,
                "reason": outcome.reason,
                "value": outcome.value,
                "actor": outcome.actor,
                "permission": outcome.permission,
                "occurred_at": _format_time(outcome.occurred_at),
            }
            for record, outcome in _list_outcomes(explanation)
        ],
    }


def format_lines(explanation: IssueExplanation) -> Iterator[str]:
    """Yield an issue's label explanation as lines: a paragraph for each patch, then the history."""
    yield f"{explanation.issue} as of {explanation.now:%Y-%m-%d}, by version {RULE_VERSION} of the rules"
    if explanation.is_learnt:
        yield "Patches as they were submitted first are learnt from."
    else:
        yield "Nothing is learnt from it: the repository's .github/r4p.yml does not say `training: on`."
    for label in explanation.labels:
        yield ""
        yield from _format_paragraph(explanation, label)
    happened = _list_events(explanation)
    yield ""
    yield "What happened:" if happened else "Nothing has happened."
    yield from (f"  {time:%Y-%m-%d %H:%M}  #{pull:<6} {what}" for time, pull, what in happened)


def _format_paragraph(explanation: IssueExplanation, label: LabelledPatch) -> Iterator[str]:
    place = "as submitted first" if label.is_first else f"as of {label.submitted_at:%Y-%m-%d %H:%M}"
    belief = "" if label.probability is None else f", P(correct) {label.probability:.2f}"
    yield f"#{label.pull} {place}: {_to_words(label.label.value)}{belief}"
    yield f"  {RULES[label.rule_name].condition} ({label.rule_name})"
    yield from (f"  - {sentence}" for sentence in label.evidence)
    if label.settles_at:
        yield f"  To be told on {label.settles_at:%Y-%m-%d}, unless more happens."
    if label.outcome_at:
        yield f"  Known since {label.outcome_at:%Y-%m-%d}; counts {label.weight:g}{_format_echo(label)}."
    if judgement := _find_judgement(explanation, label):
        yield f"  {judgement.judge.verifier} said: {_to_words(judgement.verdict.value)}{_format_correctness(label, judgement)}"


def _format_echo(label: LabelledPatch) -> str:
    return ", for our verdict could be read before it was decided" if label.is_echo else ""


def _format_correctness(label: LabelledPatch, judgement: Judgement) -> str:
    """Return whether the verdict was right. Empty without a claim or without a known truth."""
    claimed = _CLAIMS.get(judgement.verdict)
    if claimed is None or label.label.is_positive is None:
        return ""
    return (
        ", rightly by this label"
        if claimed is label.label.is_positive
        else ", wrongly by this label"
    )


def _list_events(explanation: IssueExplanation) -> list[tuple[datetime, int, str]]:
    """Return verdicts and outcomes as (time, pull request, text), oldest first."""
    verdicts = [
        (
            judgement.judged_at,
            record.pull,
            f"{judgement.judge.verifier} says {_to_words(judgement.verdict.value)}",
        )
        for record in explanation.records
        for judgement in record.judgements
        if judgement.judged_at <= explanation.now
    ]
    done = [
        (outcome.occurred_at, record.pull, _format_event(outcome))
        for record, outcome in _list_outcomes(explanation)
    ]
    return sorted([*verdicts, *done])


def _format_event(outcome: PullOutcome) -> str:
    if outcome.kind is OutcomeKind.SURVIVAL and outcome.value is not None:
        return f"{outcome.value:.0%} of its lines left {_to_words(outcome.reason or '')}"
    what = _to_words(outcome.kind.value)
    why = f" ({_to_words(outcome.reason)})" if outcome.reason else ""
    actor = f" by {outcome.actor}" if outcome.actor else ""
    right = f", {outcome.permission}" if outcome.permission else ""
    return f"{what}{why}{actor}{right}"


def _list_outcomes(explanation: IssueExplanation) -> list[tuple[PullRecord, PullOutcome]]:
    events = [
        (record, outcome)
        for record in explanation.records
        for outcome in record.outcomes
        if outcome.occurred_at <= explanation.now
    ]
    return sorted(events, key=lambda pair: (pair[1].occurred_at, pair[0].pull))


def _find_judgement(explanation: IssueExplanation, label: LabelledPatch) -> Judgement | None:
    """Return the last verdict about this patch."""
    judgements = [
        judgement
        for record in explanation.records
        if record.pull == label.pull
        for judgement in record.judgements
        if judgement.patch == label.patch and judgement.judged_at <= explanation.now
    ]
    return judgements[-1] if judgements else None


def _to_words(name: str) -> str:
    return name.replace("_", " ")


def _describe_patch(explanation: IssueExplanation, label: LabelledPatch) -> dict[str, Any]:
    judgement = _find_judgement(explanation, label)
    return {
        "pull": label.pull,
        "patch": label.patch,
        "is_first": label.is_first,
        "label": label.label.value,
        "probability": label.probability,
        "confidence": label.confidence,
        "rule": label.rule_name,
        "says": RULES[label.rule_name].condition,
        "evidence": list(label.evidence),
        "weight": label.weight,
        "is_echo": label.is_echo,
        "outcome_at": _format_time(label.outcome_at),
        "settles_at": _format_time(label.settles_at),
        "verdict": judgement
        and {"verifier": judgement.judge.verifier, "says": judgement.verdict.value},
    }


def _format_time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else None
