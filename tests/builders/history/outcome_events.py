"""Outcome events with defaults for all but what a test is about."""

from datetime import UTC, datetime, timedelta

from app.outcomes import Details, EventKind, History, OutcomeEvent, Snapshot, derive
from app.values.identifiers import CommitSha, PullNumber

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
PULL = PullNumber(12)
HEAD, OTHER, BASE = (CommitSha(letter * 40) for letter in "abc")


def build_event(kind, day=0.0, source=None, **fields):
    """An event on pull request 12, `day` days after the start."""
    details = {name: fields.pop(name) for name in list(fields) if hasattr(Details(), name)}
    values = {"pull": PULL, "actor": "mia", "actor_id": 1, "head": HEAD, **fields}
    at = START + timedelta(days=day)
    return OutcomeEvent(kind, source or f"{kind}:{day}", at, details=Details(**details), **values)


def build_snapshot(head=HEAD, patch="p", day=-1.0, base=BASE, evaluation=None):
    """A snapshot judged `day` days after the start, in public if in an evaluation; None: never."""
    at = None if day is None else START + timedelta(days=day)
    return Snapshot(head, base, patch, at, evaluation, at if evaluation else None)


def outcomes(*events, snapshots=(), rivals=(), openings=()):
    """Kind and reason of what is derived, oldest first."""
    found = derive(History(PULL, events, tuple(snapshots), tuple(rivals), tuple(openings)))
    return [(str(outcome.kind), outcome.reason) for outcome in found]


def proven(claim, state="proven"):
    """Git's answer to a claim that it compared."""
    told = {"about": str(claim.kind), "state": state, "head": claim.head}
    return build_event(EventKind.CLAIM_CHECKED, 9, f"checked:{claim.source}", **told)


def build_merge(day=0.0, **fields):
    return build_event(EventKind.PULL_MERGED, day, **fields)


def build_close(day=0.0, **fields):
    return build_event(EventKind.PULL_CLOSED, day, **fields)
