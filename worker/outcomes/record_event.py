"""Deliveries become rows and further jobs. Database only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups, webhook_state
from app.db.store.outcomes import outcome_events, outcomes
from app.events import GHOST, CheckEvent, Event, Ignored, RepositoryEvent, parse
from app.jobs.job import EvaluateIssue, Planned, RecordEvent
from app.jobs.outcome_jobs import MeasureSurvival, ResolvePermission
from app.outcomes import EventKind, OutcomeEvent, observe
from app.policy.event_policy import KnownLinks, follow_ups, promised_issues
from app.values.identifiers import DeliveryGuid, IssueNumber, RepositoryId, RepositoryRef
from worker.outcomes import second_attempts
from worker.queue.context import Context
from worker.repositories.repository_config import quiet_seconds

SURVIVAL_DAYS = (7, 30, 90)
"""When the lines of a merged pull request are counted."""

NEED_PERMISSION = frozenset(
    {
        EventKind.PULL_CLOSED,
        EventKind.PULL_MERGED,
        EventKind.PULL_REOPENED,
        EventKind.REVIEW_SUBMITTED,
        EventKind.AGREED,
        EventKind.DISAGREED,
        EventKind.ALTERNATIVE_AGREED,
        EventKind.ALTERNATIVE_DISAGREED,
        EventKind.REACTION,
        EventKind.REVERTED,
        EventKind.ISSUE_REOPENED,
    }
)
"""Acts whose weight depends on who did them. Of others it is asked once they may answer a verdict."""


@dataclass(frozen=True, slots=True)
class RecordEventHandler:
    """Reads one stored delivery again: rows, raw events, outcomes and what follows, all or nothing."""

    own_app: int | None
    """Our App's id, whose own checks are no CI; None: not known to this process."""
    mention: str | None
    """The App's name, as people address it in commands."""
    host: str
    """Where GitHub is, such as `github.com`."""
    day_seconds: float
    """How long a day lasts, for survival."""
    least_quiet_seconds: float
    """A burst of events on one issue is one evaluation, whatever the repository configured."""

    def __call__(self, context: Context, job: RecordEvent) -> None:
        """Record the job's delivery; what was purged meanwhile leaves no trace.

        A stranger's Markdown is read before the fenced transaction opens, since that takes time.
        """
        with transaction(context.database) as connection:
            delivery = webhook_state.delivery(connection, job.delivery)
        if delivery is None:
            return
        event = parse(delivery.event, job.delivery, delivery.body, own_app=self.own_app)
        if isinstance(event, Ignored):
            return
        seen = observe(event, delivery.received_at, self.mention)
        promised = promised_issues(event, self.host)
        with context.transaction() as connection:
            # The delivery may have been purged since; asking again also holds off a purge.
            if webhook_state.delivery(connection, job.delivery) is None:
                return
            if not webhook_state.reflect(connection, event, delivery.received_at):
                return
            if isinstance(event, RepositoryEvent):
                stored = record(connection, event.repository.id, seen, job.delivery)
                context.enqueue(connection, list(self._afterwards(event.repository, stored)))
            known = self._known(connection, event, promised)
            context.enqueue(connection, follow_ups(event, known))
            if isinstance(event, CheckEvent):
                context.enqueue(connection, _with_hints(connection, event))

    def _afterwards(
        self, repository: RepositoryRef, seen: Sequence[OutcomeEvent]
    ) -> Iterator[Planned]:
        """Who acted, and later on whether what was merged is still there."""
        yield from ask_permissions(repository, seen)
        for event in seen:
            if event.kind == EventKind.PULL_MERGED and event.pull is not None:
                for days in SURVIVAL_DAYS:
                    job = MeasureSurvival(repository.installation, repository.id, event.pull, days)
                    yield Planned(job, days * self.day_seconds)

    def _known(
        self, connection: Connection, event: Event, promised: tuple[IssueNumber, ...]
    ) -> KnownLinks:
        if not isinstance(event, RepositoryEvent):
            return KnownLinks()
        stored = groups.repository(connection, event.repository.id)
        text = stored.config_text if stored else None
        return KnownLinks(
            issues=webhook_state.linked_issues(connection, event),
            promised=promised,
            quiet_seconds=quiet_seconds(text, self.least_quiet_seconds),
        )


def _with_hints(connection: Connection, event: CheckEvent) -> list[Planned]:
    """Alternatives are tried again where a check says what is wrong with them."""
    repository = event.repository
    place = (repository.installation, repository.id)
    issues = second_attempts.after_check(connection, event)
    return [Planned(EvaluateIssue(*place, issue, "pull_request")) for issue in issues]


def record(
    connection: Connection,
    number: RepositoryId,
    events: Sequence[OutcomeEvent],
    delivery: DeliveryGuid | None = None,
) -> tuple[OutcomeEvent, ...]:
    """Store raw events and bring the outcomes that they touch up to date; the events as stored."""
    stored = outcome_events.append(connection, number, events, delivery)
    touched = outcome_events.touched(connection, number, stored)
    outcomes.rederive(connection, number, touched)
    return stored


def ask_permissions(repository: RepositoryRef, events: Sequence[OutcomeEvent]) -> list[Planned]:
    """One job per person whose right matters and isn't known."""
    people = {
        event.actor
        for event in events
        if (event.kind in NEED_PERMISSION or event.evaluation is not None)
        and event.actor not in {None, GHOST.login}
        and event.permission is None
    }
    return [
        Planned(ResolvePermission(repository.installation, repository.id, actor))
        for actor in sorted(people)
    ]
