"""Turn a maintainer's review of an alternative into hints."""

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups, webhook_state
from app.events import ReviewEvent, parse
from app.github.api import rest_reader
from app.github.errors import NotFound
from app.github.http.connection import GitHub
from app.jobs.job import EvaluateIssue, Planned
from app.jobs.outcome_jobs import HearReview
from app.values.identifiers import DeliveryGuid
from worker.outcomes import second_attempts
from worker.queue.context import Context


def hear_review(github: GitHub, context: Context, job: HearReview) -> None:
    """Save a review of an alternative as the hint of a second attempt, and plan the issue's evaluation.

    `job` names the review's webhook, which lacks the line comments, so they are read from GitHub. For a deleted review
    or repository nothing is saved.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
        event = load_review(connection, job.delivery)
    if stored is None or event is None:
        return
    try:
        comments = rest_reader.list_review_comments(github, stored.ref, event.number, event.review)
    except NotFound:
        return
    with context.transaction() as connection:
        issues = second_attempts.leave_hints_of_review(connection, event, comments)
        place = (job.installation, job.repository)
        again = [Planned(EvaluateIssue(*place, issue, "pull_request")) for issue in issues]
        context.enqueue(connection, again)


def load_review(connection: Connection, guid: DeliveryGuid) -> ReviewEvent | None:
    """Load the review from the stored webhook delivery `guid`; None when it was purged or holds no review."""
    delivery = webhook_state.load_delivery(connection, guid)
    event = parse(delivery.event, guid, delivery.body) if delivery else None
    return event if isinstance(event, ReviewEvent) else None
