"""Claims of commit messages and pull requests that they revert or contain a pull request, and their proof (pure).

Anybody can write such a claim: the author of a merged commit needs no permission. A claim counts after git has
compared the patches, or when somebody with write access wrote and merged the claim. Other claims mean nothing.
"""

from collections.abc import Iterable
from datetime import datetime

from app.outcomes.outcome_event import CAN_WRITE, Details, EventKind, History, OutcomeEvent
from app.values.identifiers import PullNumber, RepositoryId

CLAIMS = frozenset({EventKind.REVERTED, EventKind.LANDED})
"""Kinds of events that only repeat what a message says."""

PROVEN, REFUTED = "proven", "refuted"


def is_proven(claim: OutcomeEvent, events: Iterable[OutcomeEvent]) -> bool:
    """Return whether a claim counts. `events` hold the pull request's events, with git's answers among them."""
    if _is_own_word(claim):
        return True
    return any(_answers(event, claim) and event.details.state == PROVEN for event in events)


def find_unchecked_claims(history: History) -> tuple[OutcomeEvent, ...]:
    """Return the claims about an ended pull request that git has not compared yet, oldest first.

    A merge needs no commit that says it landed, so such claims about a merged pull request are left out.
    """
    ending = find_ending(history)
    if ending is None:
        return ()
    is_merged = ending.kind == EventKind.PULL_MERGED
    wanted = CLAIMS - {EventKind.LANDED} if is_merged else CLAIMS
    by_commit = {
        (claim.kind, claim.head): claim
        for claim in sorted(history.events, key=lambda event: event.moment)
        if claim.kind in wanted
        and claim.head
        and not any(_answers(event, claim) for event in history.events)
    }
    return tuple(by_commit.values())


def find_ending(history: History) -> OutcomeEvent | None:
    """Return the merge of the pull request, else its last closing; None: neither is known with its commits."""
    endings = [
        event
        for event in history.events
        if event.kind in {EventKind.PULL_MERGED, EventKind.PULL_CLOSED}
        and event.head
        and event.details.base
    ]
    return max(
        endings, key=lambda event: (event.kind == EventKind.PULL_MERGED, event.moment), default=None
    )


def build_check(
    claim: OutcomeEvent, repository: RepositoryId, pull: PullNumber, now: datetime, *, holds: bool
) -> OutcomeEvent:
    """Build the raw event that records git's answer to a claim about pull request `pull`: whether it holds."""
    return OutcomeEvent(
        kind=EventKind.CLAIM_CHECKED,
        source=f"claim:{repository}:{pull}:{claim.kind}:{claim.head}",
        occurred_at=now,
        pull=pull,
        head=claim.head,
        details=Details(about=str(claim.kind), state=PROVEN if holds else REFUTED),
    )


def _answers(event: OutcomeEvent, claim: OutcomeEvent) -> bool:
    return (
        event.kind == EventKind.CLAIM_CHECKED
        and event.head == claim.head
        and event.details.about == claim.kind
    )


def _is_own_word(claim: OutcomeEvent) -> bool:
    """Return whether the person who merged the claiming pull request wrote it too, and may write.

    A commit's author is no proof, because anybody can commit under any name and address.
    """
    by_pull = (claim.details.reverter or "").startswith("#")
    return by_pull and claim.details.by_author and claim.permission in CAN_WRITE
