"""Choose the rule that labels a patch: the first rule that fits its history (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.outcomes import OutcomeKind
from app.outcomes.judgement import PullOutcome, PullRecord
from training.labels.patch_history import MERGES, PatchHistory
from training.labels.rules import (
    HOLD_PERIOD,
    LINES_GONE_SHARE,
    REVERT_WINDOW,
    REWRITTEN_SHARE,
    RULES,
)

_CLOSED = {
    "superseded": "superseded",
    "issue_duplicate": "withdrawn",
    "issue_not_planned": "withdrawn",
    "closed_by_author": "closed_by_author",
    "closed_by_bot": "closed_by_bot",
    "closed_for_quota": "closed_for_quota",
    "closed_by_gate": "closed_by_gate",
    "hidden": "hidden",
}
_SAYS_NOTHING = frozenset({"closed_for_quota", "closed_by_gate", "hidden"})
"""Reasons of closings that no failed CI turns into a negative label. A review does so only for a maintainer's closing."""
_DOUBTFUL = frozenset({"reverted_late", "issue_reopened", "lines_gone"})
"""Rules whose deed contradicts what people say."""


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """The label rule chosen for a patch, and the outcomes that made it fit."""

    rule: str
    """Name of the rule in `training.labels.rules.RULES`."""
    outcome: PullOutcome | None = None
    """The deciding outcome. None: nothing has happened."""
    evidence: tuple[str, ...] = ()
    """Sentences that support the match."""
    surviving_share: float | None = None
    """Share of the patch's lines that survive, 0 to 1, where survival decides."""
    known_at: datetime | None = None
    """The earliest time at which the match could be known; for the rule `lately` the end of its hold, in the future."""
    leans_correct: bool | None = None
    """True if a recent merge speaks for the patch but may still be taken back. None: no recent event speaks."""


def choose_label_rule(
    record: PullRecord, patch: str, rivals: Sequence[PullRecord], now: datetime
) -> RuleMatch:
    """Return the first rule that fits a patch's history, with the outcomes that made it fit.

    `record` is the pull request, `patch` the SHA-256 of its diff, and `rivals` are the other pull requests of the
    issue. `record` and `rivals` must hold nothing later than `now`.
    """
    case = PatchHistory(record, patch, rivals, now)
    merge = case.find_last(*MERGES)
    return _apply_opinions(
        case, _match_unmerged(case) if merge is None else _match_merged_pull(case, merge)
    )


def _match_merged_pull(case: PatchHistory, merge: PullOutcome) -> RuleMatch:
    merged = case.find_merged_patch(merge)
    if merged == case.patch:
        return _match_merged(case, merge)
    if merged is None and merge.kind is OutcomeKind.MERGED:
        return _build_match("unread", merge, "merged" + _format_actor(merge) + _format_date(merge))
    return _match_changed(case, merge)


def _match_merged(case: PatchHistory, merge: PullOutcome) -> RuleMatch:
    """Match a patch that was itself merged."""
    evidence = ("merged" + _format_actor(merge) + _format_date(merge),)
    if doubt := _match_taken_back(case, merge, evidence):
        return doubt
    if case.now - merge.occurred_at < HOLD_PERIOD:
        return replace(_build_recent_match(merge, *evidence), leans_correct=True)
    return _match_held(case, merge, evidence)


def _match_taken_back(
    case: PatchHistory, taken: PullOutcome, evidence: tuple[str, ...]
) -> RuleMatch | None:
    """Return the match for a revert or a reopened issue after a merge. None: neither happened."""
    if revert := case.find_last(OutcomeKind.REVERTED):
        late = revert.occurred_at - taken.occurred_at > REVERT_WINDOW
        return _build_match(
            "reverted_late" if late else "reverted",
            revert,
            *evidence,
            f"taken back{f' {revert.reason}' if revert.reason else ''}" + _format_date(revert),
        )
    if reopened := case.find_reopening("issue", taken):
        return _build_match(
            "issue_reopened", reopened, *evidence, "issue opened again" + _format_date(reopened)
        )
    return None


def _match_held(case: PatchHistory, merge: PullOutcome, evidence: tuple[str, ...]) -> RuleMatch:
    lines = case.find_survival()
    known_at = merge.occurred_at + HOLD_PERIOD
    if lines is not None and lines.value is not None:
        evidence += (f"{lines.value:.0%} of its lines left {lines.reason}".replace("_", " "),)
        known_at = max(known_at, lines.occurred_at)
        if lines.value < LINES_GONE_SHARE:
            return replace(_build_match("lines_gone", merge, *evidence), known_at=known_at)
    if merge.by_author and not case.is_approved:
        return replace(_build_match("merged_by_author", merge, *evidence), known_at=known_at)
    if case.is_helped:
        return replace(_build_match("merged_with_help", merge, *evidence), known_at=known_at)
    if lines is None or lines.value is None:
        return replace(_build_match("merged", merge, *evidence), known_at=known_at)
    rule = "rewritten" if lines.value < REWRITTEN_SHARE else "survived"
    return replace(
        _build_match(rule, merge, *evidence), surviving_share=lines.value, known_at=known_at
    )


def _match_changed(case: PatchHistory, merge: PullOutcome) -> RuleMatch:
    """Match a patch whose pull request was merged with another patch."""
    evidence: tuple[str, ...] = (
        "another patch of the pull request was merged" + _format_date(merge),
    )
    if case.now - merge.occurred_at < HOLD_PERIOD:
        return _build_recent_match(merge, *evidence)
    known_at = merge.occurred_at + HOLD_PERIOD
    if request := case.find_change_request():
        evidence = (
            "changes were requested" + _format_actor(request) + _format_date(request),
            *evidence,
        )
        return replace(_build_match("sent_back", request, *evidence), known_at=known_at)
    if case.is_mended:
        return replace(_build_match("mended", merge, *evidence), known_at=known_at)
    return _build_match("changed", merge, *evidence)


def _match_unmerged(case: PatchHistory) -> RuleMatch:
    closing = case.find_last(OutcomeKind.CLOSED)
    if closing is None or case.find_reopening("pull_request", closing):
        return RuleMatch("open" if case.is_last else "outdated")
    return _match_closed(case, closing)


def _match_closed(case: PatchHistory, closing: PullOutcome) -> RuleMatch:
    reason = closing.reason or "unknown"
    evidence: tuple[str, ...] = (
        f"closed ({reason.replace('_', ' ')})" + _format_actor(closing) + _format_date(closing),
    )
    has_landed = reason == "landed_indirectly" and case.is_last
    if has_landed and (doubt := _match_taken_back(case, closing, evidence)):
        return doubt
    if case.now - closing.occurred_at < HOLD_PERIOD:
        return replace(_build_recent_match(closing, *evidence), leans_correct=has_landed or None)
    known_at = closing.occurred_at + HOLD_PERIOD
    if has_landed:
        return replace(_build_match("landed", closing, *evidence), known_at=known_at)
    failed = case.find_failed_ci()
    if failed and reason not in _SAYS_NOTHING:
        evidence = ("CI failed on it, and succeeded on a rival" + _format_date(failed), *evidence)
        return replace(_build_match("failed_ci", failed, *evidence), known_at=known_at)
    request = case.find_change_request()
    if request and reason == "closed_by_maintainer":
        evidence = (
            "changes were requested" + _format_actor(request) + _format_date(request),
            *evidence,
        )
        return replace(_build_match("rejected", request, *evidence), known_at=known_at)
    return _build_match(
        _CLOSED.get(reason, "closed") if case.is_last else "outdated", closing, *evidence
    )


def _apply_opinions(case: PatchHistory, deed: RuleMatch) -> RuleMatch:
    """Combine the deed with what maintainers said. Words decide where no deed does, and contradictions become
    `disputed`.
    """
    opinions = case.list_opinions()
    if not opinions:
        return deed
    sides = {right for right, _ in opinions}
    right, word = opinions[-1]
    words = tuple(
        f"called {'right' if is_right else 'wrong'}"
        + _format_actor(comment)
        + _format_date(comment)
        for is_right, comment in opinions
    )
    side = RULES[deed.rule].grade.is_positive
    leans = deed.leans_correct if side is None else side
    if leans is not None and (not leans) in sides and deed.rule != "reverted":
        return _build_match("disputed", word, *deed.evidence, *words)
    if side is None and deed.rule not in _DOUBTFUL:
        rule = "words_differ" if len(sides) > 1 else "called_right" if right else "called_wrong"
        return _build_match(rule, word, *deed.evidence, *words)
    return replace(deed, evidence=deed.evidence + words)


def _build_match(rule: str, outcome: PullOutcome, *evidence: str) -> RuleMatch:
    return RuleMatch(rule, outcome, evidence, known_at=outcome.occurred_at)


def _build_recent_match(outcome: PullOutcome, *evidence: str) -> RuleMatch:
    return RuleMatch("lately", outcome, evidence, known_at=outcome.occurred_at + HOLD_PERIOD)


def _format_actor(fate: PullOutcome) -> str:
    person = "its author" if fate.by_author else "somebody"
    return f" by {person} with {fate.permission}" if fate.permission else f" by {person}"


def _format_date(fate: PullOutcome) -> str:
    return f" on {fate.occurred_at:%Y-%m-%d}"
