"""From a pull request's raw events to what became of it, by a versioned rule (pure).

The order in which events reached us doesn't matter: everything is sorted by when it happened.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

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

RULE_VERSION = 3
"""Raised with every change of meaning, so that stored rows can be told apart and derived anew."""

SUPERSEDED_WITHIN = timedelta(days=14)
"""A rival's merge this close to a closing explains it; before or after, for people do both."""

LANDED_WITHIN = timedelta(days=1)
"""Merge bots push the commit and close the pull request, in either order."""

_WITHDRAWN = frozenset({"not_planned", "duplicate"})
_OPINIONS: Mapping[EventKind, OutcomeKind] = {
    EventKind.AGREED: OutcomeKind.AGREE,
    EventKind.DISAGREED: OutcomeKind.DISAGREE,
}


def derive(history: History) -> tuple[Outcome, ...]:
    """The outcomes of one pull request, oldest first; the same for any order of its events."""
    ordered = History(
        pull=history.pull,
        events=tuple(sorted(history.events, key=lambda event: event.moment)),
        snapshots=history.snapshots,
        rival_merges=history.rival_merges,
    )
    found = [_placed(ordered, outcome) for rule in _RULES for outcome in rule(ordered)]
    return tuple(sorted(found, key=lambda outcome: (outcome.event.moment, outcome.kind)))


def _placed(history: History, outcome: Outcome) -> Outcome:
    """With the verdict that was read then, and with a head: the event's own, or the judged one."""
    verdict = _verdict(history.snapshots, outcome.event)
    return replace(
        outcome,
        head=outcome.head or outcome.event.head or (verdict.head if verdict else None),
        evaluation=verdict.evaluation if verdict else None,
    )


def _verdict(snapshots: tuple[Snapshot, ...], event: OutcomeEvent) -> Snapshot | None:
    """What was judged in the verdict that the event refers to; else in the last one before it."""
    public = [
        (each.evaluation == event.evaluation, each.public_at, each.evaluation, each)
        for each in snapshots
        if each.evaluation and each.public_at and each.public_at <= event.occurred_at
    ]
    return max(public, key=lambda entry: entry[:3])[3] if public else None


def _merge(history: History) -> Iterator[Outcome]:
    merge = next(_of(history, EventKind.PULL_MERGED), None)
    if merge is None:
        return
    change = _change(history.snapshots, merge)
    kind = OutcomeKind.MERGED_AFTER_CHANGES if change else OutcomeKind.MERGED
    yield Outcome(kind, merge, change)


def _change(snapshots: tuple[Snapshot, ...], merge: OutcomeEvent) -> str | None:
    """How what was merged differs from what was judged last before; None: it doesn't, or nothing was."""
    judged = _judged_before(snapshots, merge)
    if judged is None:
        return None
    same_head = [each for each in snapshots if each.head == merge.head and each.edit]
    merged = [each for each in same_head if each.base == merge.details.base] or same_head
    if judged.edit and merged:
        # A rebase moves the head, the line numbers and the blobs' names, and leaves the edit as it was.
        return None if judged.edit in {each.edit for each in merged} else "diff_changed"
    return None if judged.head == merge.head else "head_moved"


def _judged_before(snapshots: tuple[Snapshot, ...], event: OutcomeEvent) -> Snapshot | None:
    judged = [
        (each.judged_at, each.head, each.base, each)
        for each in snapshots
        # GitHub's times are whole seconds.
        if each.judged_at and each.judged_at.replace(microsecond=0) <= event.occurred_at
    ]
    return max(judged, key=lambda entry: entry[:3])[3] if judged else None


def _closings(history: History) -> Iterator[Outcome]:
    """One closing until the pull request is opened again, however often it was reported."""
    is_open = True
    for event in history.events:
        if event.kind == EventKind.PULL_CLOSED and is_open:
            is_open = False
            yield Outcome(OutcomeKind.CLOSED, event, _why_closed(history, event))
        elif event.kind == EventKind.PULL_REOPENED:
            is_open = True
            yield Outcome(OutcomeKind.REOPENED, event, "pull_request")


def _why_closed(history: History, closing: OutcomeEvent) -> str:
    """The most telling of what is known. Of a person's motives nothing is."""
    if _near(closing, _of(history, EventKind.LANDED), LANDED_WITHIN):
        return "landed_indirectly"
    if _near(closing, history.rival_merges, SUPERSEDED_WITHIN):
        return "superseded"
    withdrawn = _issue_withdrawn(history, closing)
    if withdrawn:
        return f"issue_{withdrawn}"
    if closing.details.by_author:
        return "closed_by_author"
    if closing.permission == APP:
        return "closed_by_bot"
    return "closed_by_maintainer" if closing.permission in CAN_WRITE else "unknown"


def _near(closing: OutcomeEvent, events: Iterable[OutcomeEvent], window: timedelta) -> bool:
    return any(abs(event.occurred_at - closing.occurred_at) <= window for event in events)


def _issue_withdrawn(history: History, closing: OutcomeEvent) -> str | None:
    before = [
        event
        for event in _of(history, EventKind.ISSUE_CLOSED, EventKind.ISSUE_REOPENED)
        if event.occurred_at <= closing.occurred_at
    ]
    last = before[-1] if before else None
    if last and last.kind == EventKind.ISSUE_CLOSED and last.details.state in _WITHDRAWN:
        return last.details.state
    return None


def _issue_reopenings(history: History) -> Iterator[Outcome]:
    """The issue came back after this pull request was merged for it."""
    merge = _taken(history)
    for event in _of(history, EventKind.ISSUE_REOPENED):
        if merge and event.occurred_at >= merge.occurred_at:
            yield Outcome(OutcomeKind.REOPENED, event, "issue", head=merge.head)


def _reverts(history: History) -> Iterator[Outcome]:
    """Only what was merged or landed can be reverted; a revert is told by commit and by pull request."""
    revert = next(_of(history, EventKind.REVERTED), None)
    merge = _taken(history)
    if revert and merge:
        by = revert.details.by
        # The event's own head is the revert's.
        yield Outcome(OutcomeKind.REVERTED, revert, f"by {by}" if by else None, head=merge.head)


def _taken(history: History) -> OutcomeEvent | None:
    """What brought the pull request into the branch: its merge, or the closing that goes with a landed commit."""
    merge = next(_of(history, EventKind.PULL_MERGED), None)
    landed = (
        event
        for event in _of(history, EventKind.PULL_CLOSED)
        if _near(event, _of(history, EventKind.LANDED), LANDED_WITHIN)
    )
    return merge or next(landed, None)


def _new_commits(history: History) -> Iterator[Outcome]:
    for event in _of(history, EventKind.HEAD_MOVED):
        if event.evaluation is not None:
            yield Outcome(OutcomeKind.NEW_COMMITS, event)


def _reviews(history: History) -> Iterator[Outcome]:
    dismissed = {event.details.about for event in _of(history, EventKind.REVIEW_DISMISSED)}
    submitted = _latest(_of(history, EventKind.REVIEW_SUBMITTED), lambda event: event.details.about)
    for event in submitted:
        if event.details.about not in dismissed and _may_count(event):
            yield Outcome(OutcomeKind.REVIEWED, event, event.details.state)


def _ci(history: History) -> Iterator[Outcome]:
    """The last conclusion of each CI on each head: a rerun replaces what it repeats."""
    concluded = _of(history, EventKind.CI_CONCLUDED)
    for event in _latest(concluded, lambda event: (event.head, event.details.about)):
        yield Outcome(OutcomeKind.CI, event, event.details.state)


def _opinions(history: History) -> Iterator[Outcome]:
    """The last word of each person who may speak; where no verdict was to be read it is about none."""
    said = (event for event in _of(history, *_OPINIONS) if event.evaluation is not None)
    # Of one comment, what names the pull request counts before what is said of the whole verdict.
    spoken = sorted(said, key=lambda event: (event.occurred_at, event.pull is not None))
    for event in _latest(spoken, lambda event: event.actor_id):
        if _may_count(event):
            yield Outcome(_OPINIONS[event.kind], event, event.details.state)


def _reactions(history: History) -> Iterator[Outcome]:
    """How many people with write show a thumb; a thumb of somebody not known to have it is none."""
    reactions = _latest(_of(history, EventKind.REACTION), lambda event: event.details.about)
    shown = [
        event for event in reactions if not event.details.gone and event.permission in CAN_WRITE
    ]
    for state in ("+1", "-1"):
        thumbs = [event for event in shown if event.details.state == state]
        if thumbs:
            people = {event.actor_id for event in thumbs}
            yield Outcome(OutcomeKind.REACTION, thumbs[-1], state, float(len(people)))


def _survival(history: History) -> Iterator[Outcome]:
    for event in _latest(_of(history, EventKind.SURVIVAL), lambda event: event.details.days):
        yield Outcome(
            OutcomeKind.SURVIVAL, event, f"after_{event.details.days}_days", event.details.share
        )


def _may_count(event: OutcomeEvent) -> bool:
    """Anyone may state an opinion; it is a maintainer's unless we know that its author can't write."""
    return event.permission is None or event.permission in CAN_WRITE


def _of(history: History, *kinds: EventKind) -> Iterator[OutcomeEvent]:
    return (event for event in history.events if event.kind in kinds)


def _latest(
    events: Iterable[OutcomeEvent], subject: Callable[[OutcomeEvent], object]
) -> list[OutcomeEvent]:
    """The last event about each subject, still oldest first."""
    last = {subject(event): event for event in events}
    return sorted(last.values(), key=lambda event: event.moment)


_RULES: tuple[Callable[[History], Iterator[Outcome]], ...] = (
    _merge,
    _closings,
    _issue_reopenings,
    _reverts,
    _new_commits,
    _reviews,
    _ci,
    _opinions,
    _reactions,
    _survival,
)
