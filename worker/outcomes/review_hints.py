"""Hear what a maintainer's review says against an alternative: as a whole, and of single lines."""

from dataclasses import dataclass

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups, webhook_state
from app.events import ReviewEvent, parse
from app.github.api import rest_reader
from app.github.errors import NotFound
from app.github.http.connection import Connection as GitHub
from app.jobs.job import EvaluateIssue, Planned
from app.jobs.outcome_jobs import HearReview
from app.values.identifiers import DeliveryGuid
from worker.outcomes import second_attempts
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class HearReviewHandler:
    """Asks GitHub for the remarks on lines, which the event does not carry, and leaves all as the hint of a second attempt."""

    github: GitHub

    def __call__(self, context: Context, job: HearReview) -> None:
        """Hear it; a review that was deleted meanwhile, or whose repository was, says nothing."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            event = review(connection, job.delivery)
        if stored is None or stored.suspended or event is None:
            return
        try:
            comments = rest_reader.review_comments(
                self.github, stored.ref, event.number, event.review
            )
        except NotFound:
            return
        with context.transaction() as connection:
            issues = second_attempts.after_review(connection, event, comments)
            place = (job.installation, job.repository)
            again = [Planned(EvaluateIssue(*place, issue, "pull_request")) for issue in issues]
            context.enqueue(connection, again)


def review(connection: Connection, guid: DeliveryGuid) -> ReviewEvent | None:
    """The review that a stored delivery tells of; None: it was purged, or tells of something else."""
    delivery = webhook_state.delivery(connection, guid)
    event = parse(delivery.event, guid, delivery.body) if delivery else None
    return event if isinstance(event, ReviewEvent) else None
