"""Claims of commit messages and pull requests that they revert or contain a pull request, and their proof (pure).

Anybody can write such a claim: the author of a merged commit needs no permission. So a claim counts only in two cases:
git has compared the patches and proved it, or a person with write access both wrote and merged the claiming pull
request.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from app.outcomes.outcome_event import CAN_WRITE, Details, EventKind, History, OutcomeEvent
from app.values.identifiers import PullNumber, RepositoryId

CLAIMS = frozenset({EventKind.REVERTED, EventKind.LANDED})
"""Kinds of events that only repeat what a message says."""


class ClaimAnswer(StrEnum):
    """Git's answer to a claim, in `details.state` of an event CLAIM_CHECKED."""

    PROVEN = "proven"
    REFUTED = "refuted"


def is_proven(claim: OutcomeEvent, events: Iterable[OutcomeEvent]) -> bool:
    """Return whether a claim counts. `events` are those of the pull request, with git's answers among them."""
    if _is_claimed_by_writer(claim):
        return True
    answers = (event.details.state for event in events if _is_answer(event, claim))
    return ClaimAnswer.PROVEN in answers


def find_unchecked_claims(history: History) -> tuple[OutcomeEvent, ...]:
    """Return the claims about an ended pull request that git has not compared yet, oldest first.

    Claims that a merged pull request landed in a commit are left out, because its merge says so already.
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
        and not any(_is_answer(event, claim) for event in history.events)
    }
    return tuple(by_commit.values())


def find_ending(history: History) -> OutcomeEvent | None:
    """Return the event that ended the pull request: its merge, else its last closing.

    Only an event with a head and a base commit counts, because git compares them. None: there is no such event.
    """
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
    """Build the raw event that records git's answer to a claim about pull request `pull`. `holds`: git proved it."""
    answer = ClaimAnswer.PROVEN if holds else ClaimAnswer.REFUTED
    return OutcomeEvent(
        kind=EventKind.CLAIM_CHECKED,
        source=f"claim:{repository}:{pull}:{claim.kind}:{claim.head}",
        occurred_at=now,
        pull=pull,
        head=claim.head,
        details=Details(about=str(claim.kind), state=answer.value),
    )


def _is_answer(event: OutcomeEvent, claim: OutcomeEvent) -> bool:
    return (
        event.kind == EventKind.CLAIM_CHECKED
        and event.head == claim.head
        and event.details.about == claim.kind
    )


def _is_claimed_by_writer(claim: OutcomeEvent) -> bool:
    """Return whether one person with write access both wrote and merged the pull request that claims.

    A commit that claims is no proof, because anybody can commit under any name and address.
    """
    # The reverter is `#N` for a pull request, and a hash without "#" for a commit.
    is_pull = (claim.details.reverter or "").startswith("#")
    return is_pull and claim.details.by_author and claim.permission in CAN_WRITE
