"""Which rule labels a patch: the first that fits what became of it (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.outcomes import OutcomeKind
from app.outcomes.judgement import Fate, PullRecord
from training.labels.patch_history import MERGES, Case
from training.labels.rules import HELD_FOR, LINES_GONE, REVERT_WINDOW, REWRITTEN, RULES

_CLOSED = {
    "superseded": "superseded",
    "issue_duplicate": "withdrawn",
    "issue_not_planned": "withdrawn",
    "closed_by_author": "closed_by_author",
    "closed_by_bot": "closed_by_bot",
}
_DOUBTS = frozenset({"reverted_late", "issue_reopened", "lines_gone"})
"""What was done speaks against what is said."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The rule, and what made it fit."""

    rule: str
    by: Fate | None = None
    """The deed or word that decides; None: nothing has happened."""
    evidence: tuple[str, ...] = ()
    share: float | None = None
    """Of its lines, where their survival decides."""
    known_at: datetime | None = None
    """When as much can be known."""
    leans: bool | None = None
    """To which side a deed leans that still has to hold."""


def decide(record: PullRecord, patch: str, rivals: Sequence[PullRecord], now: datetime) -> Decision:
    """The rule for this patch. The record holds what was known by `now`, and so do its rivals."""
    case = Case(record, patch, rivals, now)
    merge = case.last(*MERGES)
    return _with_words(case, _unmerged(case) if merge is None else _of_merged_pull(case, merge))


def _of_merged_pull(case: Case, merge: Fate) -> Decision:
    merged = case.merged_patch(merge)
    if merged == case.patch:
        return _merged(case, merge)
    if merged is None and merge.kind is OutcomeKind.MERGED:
        return _told("unread", merge, "merged" + _permitted(merge) + _on(merge))
    return _before(case, merge)


def _merged(case: Case, merge: Fate) -> Decision:
    """What was merged is this patch."""
    told = ("merged" + _permitted(merge) + _on(merge),)
    if doubt := _taken_back(case, merge, told):
        return doubt
    if case.now - merge.occurred_at < HELD_FOR:
        return replace(_lately(merge, *told), leans=True)
    return _held(case, merge, told)


def _taken_back(case: Case, taken: Fate, told: tuple[str, ...]) -> Decision | None:
    """What speaks against a patch that was merged or landed; None: nothing has happened since."""
    if revert := case.last(OutcomeKind.REVERTED):
        late = revert.occurred_at - taken.occurred_at > REVERT_WINDOW
        return _told(
            "reverted_late" if late else "reverted",
            revert,
            *told,
            f"taken back{f' {revert.reason}' if revert.reason else ''}" + _on(revert),
        )
    if reopened := case.reopened("issue", taken):
        return _told("issue_reopened", reopened, *told, "issue opened again" + _on(reopened))
    return None


def _held(case: Case, merge: Fate, told: tuple[str, ...]) -> Decision:
    lines = case.survival()
    known_at = merge.occurred_at + HELD_FOR
    if lines is not None and lines.value is not None:
        told += (f"{lines.value:.0%} of its lines left {lines.reason}".replace("_", " "),)
        known_at = max(known_at, lines.occurred_at)
        if lines.value < LINES_GONE:
            return replace(_told("lines_gone", merge, *told), known_at=known_at)
    if merge.by_author and not case.is_approved:
        return replace(_told("merged_by_author", merge, *told), known_at=known_at)
    if case.is_helped:
        return replace(_told("merged_with_help", merge, *told), known_at=known_at)
    if lines is None or lines.value is None:
        return replace(_told("merged", merge, *told), known_at=known_at)
    rule = "rewritten" if lines.value < REWRITTEN else "survived"
    return replace(_told(rule, merge, *told), share=lines.value, known_at=known_at)


def _before(case: Case, merge: Fate) -> Decision:
    """Another patch of the same pull request was merged."""
    told: tuple[str, ...] = ("another patch of the pull request was merged" + _on(merge),)
    if case.now - merge.occurred_at < HELD_FOR:
        return _lately(merge, *told)
    known_at = merge.occurred_at + HELD_FOR
    if asked := case.request_for_changes():
        told = ("changes were requested" + _permitted(asked) + _on(asked), *told)
        return replace(_told("sent_back", asked, *told), known_at=known_at)
    if case.is_mended:
        return replace(_told("mended", merge, *told), known_at=known_at)
    return _told("changed", merge, *told)


def _unmerged(case: Case) -> Decision:
    closing = case.last(OutcomeKind.CLOSED)
    if closing is None or case.reopened("pull_request", closing):
        return Decision("open" if case.is_last else "outdated")
    return _closed(case, closing)


def _closed(case: Case, closing: Fate) -> Decision:
    reason = closing.reason or "unknown"
    told: tuple[str, ...] = (
        f"closed ({reason.replace('_', ' ')})" + _permitted(closing) + _on(closing),
    )
    has_landed = reason == "landed_indirectly" and case.is_last
    if has_landed and (doubt := _taken_back(case, closing, told)):
        return doubt
    if case.now - closing.occurred_at < HELD_FOR:
        return replace(_lately(closing, *told), leans=has_landed or None)
    known_at = closing.occurred_at + HELD_FOR
    if has_landed:
        return replace(_told("landed", closing, *told), known_at=known_at)
    if failed := case.failed_ci():
        told = ("CI failed on it, and succeeded on a rival" + _on(failed), *told)
        return replace(_told("failed_ci", failed, *told), known_at=known_at)
    asked = case.request_for_changes()
    if asked and reason == "closed_by_maintainer":
        told = ("changes were requested" + _permitted(asked) + _on(asked), *told)
        return replace(_told("rejected", asked, *told), known_at=known_at)
    return _told(_CLOSED.get(reason, "closed") if case.is_last else "outdated", closing, *told)


def _with_words(case: Case, deed: Decision) -> Decision:
    """What people say of the patch speaks where nothing was done, and casts doubt where the opposite was."""
    said = case.words()
    if not said:
        return deed
    sides = {right for right, _ in said}
    right, word = said[-1]
    told = tuple(
        f"called {'right' if each else 'wrong'}" + _permitted(one) + _on(one) for each, one in said
    )
    side = RULES[deed.rule].grade.is_positive
    leans = deed.leans if side is None else side
    if leans is not None and (not leans) in sides and deed.rule != "reverted":
        return _told("disputed", word, *deed.evidence, *told)
    if side is None and deed.rule not in _DOUBTS:
        rule = "words_differ" if len(sides) > 1 else "called_right" if right else "called_wrong"
        return _told(rule, word, *deed.evidence, *told)
    return replace(deed, evidence=deed.evidence + told)


def _told(rule: str, by: Fate, *evidence: str) -> Decision:
    return Decision(rule, by, evidence, known_at=by.occurred_at)


def _lately(by: Fate, *evidence: str) -> Decision:
    return Decision("lately", by, evidence, known_at=by.occurred_at + HELD_FOR)


def _permitted(fate: Fate) -> str:
    who = "its author" if fate.by_author else "somebody"
    return f" by {who} with {fate.permission}" if fate.permission else f" by {who}"


def _on(fate: Fate) -> str:
    return f" on {fate.occurred_at:%Y-%m-%d}"
