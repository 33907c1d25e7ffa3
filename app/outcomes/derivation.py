"""Derives the outcomes of a pull request from its raw events, by a versioned rule (pure).

The rule sorts the events by the time when they happened, so their order of arrival does not matter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from app.outcomes.claims import is_proven
from app.outcomes.outcome_event import (
    APP,
    CAN_WRITE,
    EventKind,
    History,
    Outcome,
    OutcomeEvent,
    OutcomeKind,
    Snapshot,
)

RULE_VERSION = 5
"""Version of the rule. Raise it with every change of meaning, so that stored outcomes can be derived again."""

SUPERSEDED_WITHIN = timedelta(days=14)
"""A rival's merge this close to a closing explains the closing. It may come before or after."""

LANDED_WITHIN = timedelta(days=1)
"""Time between a merge bot's push and its closing of the pull request, in either order."""

GATE_WITHIN = timedelta(hours=1)
"""A bot that closes a pull request so soon after its opening keeps a gate. It did not look at the patch."""

QUOTA_WITHIN = timedelta(hours=1)
"""An author who opens another pull request so soon after closing this one may only have made room under GitHub's cap."""

_HIDING = frozenset({"spam", "off-topic"})
"""Reasons of a lock that takes a pull request out of the discussion."""

_WITHDRAWN = frozenset({"not_planned", "duplicate"})
_OPINIONS: Mapping[EventKind, OutcomeKind] = {
    EventKind.AGREED: OutcomeKind.AGREE,
    EventKind.DISAGREED: OutcomeKind.DISAGREE,
}


def derive(history: History) -> tuple[Outcome, ...]:
    """Return the outcomes of the pull request in `history`, oldest first. The order of its events does not matter."""
    ordered = History(
        pull=history.pull,
        events=tuple(sorted(history.events, key=lambda event: event.moment)),
        snapshots=history.snapshots,
        rival_merges=history.rival_merges,
        next_openings=history.next_openings,
    )
    outcomes = [_add_verdict(ordered, outcome) for rule in _RULES for outcome in rule(ordered)]
    return tuple(sorted(outcomes, key=lambda outcome: (outcome.event.moment, outcome.kind)))


def _add_verdict(history: History, outcome: Outcome) -> Outcome:
    """Add the verdict that people could read then, and the event's head or else the judged head."""
    verdict = _find_verdict(history.snapshots, outcome.event)
    return replace(
        outcome,
        head=outcome.head or outcome.event.head or (verdict.head if verdict else None),
        evaluation=verdict.evaluation if verdict else None,
    )


def _find_verdict(snapshots: tuple[Snapshot, ...], event: OutcomeEvent) -> Snapshot | None:
    """Return the snapshot of the verdict that the event names, or else of the last verdict before it."""
    public = [
        (each.evaluation == event.evaluation, each.public_at, each.evaluation, each)
        for each in snapshots
        if each.evaluation and each.public_at and each.public_at <= event.occurred_at
    ]
    return max(public, key=lambda entry: entry[:3])[3] if public else None


def _derive_merge(history: History) -> Iterator[Outcome]:
    merge = next(_select(history, EventKind.PULL_MERGED), None)
    if merge is None:
        return
    change = _find_change(history.snapshots, merge)
    kind = OutcomeKind.MERGED_AFTER_CHANGES if change else OutcomeKind.MERGED
    yield Outcome(kind, merge, change)


def _find_change(snapshots: tuple[Snapshot, ...], merge: OutcomeEvent) -> str | None:
    """Name the difference between the merged and the last judged patch; None: no difference, or not judged."""
    judged = _find_judged(snapshots, merge)
    if judged is None:
        return None
    same_head = [each for each in snapshots if each.head == merge.head and each.edit]
    merged = [each for each in same_head if each.base == merge.details.base] or same_head
    if judged.edit and merged:
        # A rebase changes the head, the line numbers and the blobs' names, but not the edit.
        return None if judged.edit in {each.edit for each in merged} else "diff_changed"
    return None if judged.head == merge.head else "head_moved"


def _find_judged(snapshots: tuple[Snapshot, ...], event: OutcomeEvent) -> Snapshot | None:
    judged = [
        (each.judged_at, each.head, each.base, each)
        for each in snapshots
        # GitHub's times are whole seconds, so compare without microseconds.
        if each.judged_at and each.judged_at.replace(microsecond=0) <= event.occurred_at
    ]
    return max(judged, key=lambda entry: entry[:3])[3] if judged else None


def _derive_closings(history: History) -> Iterator[Outcome]:
    """Yield one closing until somebody reopens the pull request, however often GitHub reports it."""
    is_open = True
    for event in history.events:
        if event.kind == EventKind.PULL_CLOSED and is_open:
            is_open = False
            yield Outcome(OutcomeKind.CLOSED, event, _explain_closing(history, event))
        elif event.kind == EventKind.PULL_REOPENED:
            is_open = True
            yield Outcome(OutcomeKind.REOPENED, event, "pull_request")


def _explain_closing(history: History, closing: OutcomeEvent) -> str:
    """Return the most specific known reason. Nobody knows a person's motives."""
    if _is_near(closing, _select_proven(history, EventKind.LANDED), LANDED_WITHIN):
        return "landed_indirectly"
    if _is_near(closing, history.rival_merges, SUPERSEDED_WITHIN):
        return "superseded"
    withdrawn = _find_withdrawal(history, closing)
    if withdrawn:
        return f"issue_{withdrawn}"
    if any(event.details.state in _HIDING for event in _select(history, EventKind.PULL_LOCKED)):
        return "hidden"
    return _explain_by_actor(history, closing)


def _explain_by_actor(history: History, closing: OutcomeEvent) -> str:
    if closing.details.by_author:
        return "closed_for_quota" if _is_quota(history, closing) else "closed_by_author"
    if closing.permission == APP:
        age = closing.details.age_seconds
        is_gate = age is not None and age <= GATE_WITHIN.total_seconds()
        return "closed_by_gate" if is_gate else "closed_by_bot"
    return "closed_by_maintainer" if closing.permission in CAN_WRITE else "unknown"


def _is_quota(history: History, closing: OutcomeEvent) -> bool:
    """Return whether the author opened another pull request shortly after this closing."""
    waits = (event.occurred_at - closing.occurred_at for event in history.next_openings)
    return any(timedelta(0) <= wait <= QUOTA_WITHIN for wait in waits)


def _is_near(closing: OutcomeEvent, events: Iterable[OutcomeEvent], window: timedelta) -> bool:
    return any(abs(event.occurred_at - closing.occurred_at) <= window for event in events)


def _find_withdrawal(history: History, closing: OutcomeEvent) -> str | None:
    before = [
        event
        for event in _select(history, EventKind.ISSUE_CLOSED, EventKind.ISSUE_REOPENED)
        if event.occurred_at <= closing.occurred_at
    ]
    last = before[-1] if before else None
    if last and last.kind == EventKind.ISSUE_CLOSED and last.details.state in _WITHDRAWN:
        return last.details.state
    return None


def _derive_issue_reopenings(history: History) -> Iterator[Outcome]:
    """Yield reopenings of the issue after the merge of this pull request."""
    merge = _find_merge(history)
    for event in _select(history, EventKind.ISSUE_REOPENED):
        if merge and event.occurred_at >= merge.occurred_at:
            yield Outcome(OutcomeKind.REOPENED, event, "issue", head=merge.head)


def _derive_reverts(history: History) -> Iterator[Outcome]:
    """Yield the first proven revert. Only a merged or landed pull request can be reverted."""
    revert = next(_select_proven(history, EventKind.REVERTED), None)
    merge = _find_merge(history)
    if revert and merge:
        reverter = revert.details.reverter
        reason = f"by {reverter}" if reverter else None
        # The event's own head belongs to the revert, so take the merge's head.
        yield Outcome(OutcomeKind.REVERTED, revert, reason, head=merge.head)


def _find_merge(history: History) -> OutcomeEvent | None:
    """Return the pull request's merge, or the closing that belongs to its landed commit."""
    merge = next(_select(history, EventKind.PULL_MERGED), None)
    landed = (
        event
        for event in _select(history, EventKind.PULL_CLOSED)
        if _is_near(event, _select_proven(history, EventKind.LANDED), LANDED_WITHIN)
    )
    return merge or next(landed, None)


def _derive_new_commits(history: History) -> Iterator[Outcome]:
    for event in _select(history, EventKind.HEAD_MOVED):
        if event.evaluation is not None:
            yield Outcome(OutcomeKind.NEW_COMMITS, event)


def _derive_reviews(history: History) -> Iterator[Outcome]:
    dismissed = {event.details.about for event in _select(history, EventKind.REVIEW_DISMISSED)}
    submitted = _select_latest(
        _select(history, EventKind.REVIEW_SUBMITTED), lambda event: event.details.about
    )
    for event in submitted:
        if event.details.about not in dismissed and _can_count(event):
            yield Outcome(OutcomeKind.REVIEWED, event, event.details.state)


def _derive_ci(history: History) -> Iterator[Outcome]:
    """Yield the last conclusion of each CI on each head, because a rerun replaces the earlier run."""
    conclusions = _select(history, EventKind.CI_CONCLUDED)
    for event in _select_latest(conclusions, lambda event: (event.head, event.details.about)):
        yield Outcome(OutcomeKind.CI, event, event.details.state)


def _derive_opinions(history: History) -> Iterator[Outcome]:
    """Yield the last opinion of each person with write access. An opinion needs a verdict to refer to."""
    opinions = (event for event in _select(history, *_OPINIONS) if event.evaluation is not None)
    # In one comment, an opinion on this pull request wins over an opinion on the whole verdict.
    ordered = sorted(opinions, key=lambda event: (event.occurred_at, event.pull is not None))
    for event in _select_latest(ordered, lambda event: event.actor_id):
        if _can_count(event):
            yield Outcome(_OPINIONS[event.kind], event, event.details.state)


def _derive_reactions(history: History) -> Iterator[Outcome]:
    """Count the people with write access who show a thumb. Thumbs of other people do not count."""
    reactions = _select_latest(
        _select(history, EventKind.REACTION), lambda event: event.details.about
    )
    present = [
        event for event in reactions if not event.details.gone and event.permission in CAN_WRITE
    ]
    for state in ("+1", "-1"):
        thumbs = [event for event in present if event.details.state == state]
        if thumbs:
            people = {event.actor_id for event in thumbs}
            yield Outcome(OutcomeKind.REACTION, thumbs[-1], state, float(len(people)))


def _derive_survival(history: History) -> Iterator[Outcome]:
    for event in _select_latest(
        _select(history, EventKind.SURVIVAL), lambda event: event.details.days
    ):
        yield Outcome(
            OutcomeKind.SURVIVAL, event, f"after_{event.details.days}_days", event.details.share
        )


def _can_count(event: OutcomeEvent) -> bool:
    """Report whether an opinion counts. An unknown permission counts until GitHub reports it."""
    return event.permission is None or event.permission in CAN_WRITE


def _select(history: History, *kinds: EventKind) -> Iterator[OutcomeEvent]:
    return (event for event in history.events if event.kind in kinds)


def _select_proven(history: History, kind: EventKind) -> Iterator[OutcomeEvent]:
    """Yield the claims that count; what a message says alone is unknown."""
    return (event for event in _select(history, kind) if is_proven(event, history.events))


def _select_latest(
    events: Iterable[OutcomeEvent], subject: Callable[[OutcomeEvent], object]
) -> list[OutcomeEvent]:
    """Return the last event about each subject, oldest first."""
    last = {subject(event): event for event in events}
    return sorted(last.values(), key=lambda event: event.moment)


_RULES: tuple[Callable[[History], Iterator[Outcome]], ...] = (
    _derive_merge,
    _derive_closings,
    _derive_issue_reopenings,
    _derive_reverts,
    _derive_new_commits,
    _derive_reviews,
    _derive_ci,
    _derive_opinions,
    _derive_reactions,
    _derive_survival,
)
