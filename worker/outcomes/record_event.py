"""Turn a stored webhook delivery into database rows and further jobs, using the database only."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups, webhook_state
from app.db.store.outcomes import outcome_events, outcomes
from app.events import GHOST, CheckEvent, Event, Ignored, RepositoryEvent, parse
from app.jobs.job import EvaluateIssue, Planned, RecordEvent
from app.jobs.outcome_jobs import CheckClaims, MeasureSurvival, ResolvePermission
from app.outcomes import EventKind, OutcomeEvent, observe
from app.outcomes.claims import CLAIMS, find_unchecked_claims
from app.policy.event_policy import StoredLinks, find_closing_issues, plan_follow_ups
from app.policy.onboarding_policy import plan_onboarding
from app.values.identifiers import (
    DeliveryGuid,
    IssueNumber,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)
from worker.outcomes import second_attempts
from worker.queue.context import Context
from worker.repositories.repository_config import get_quiet_seconds

SURVIVAL_DAYS = (7, 30, 90)
"""Days after a merge when surviving lines are counted."""

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
"""Events whose weight depends on the actor's permission. Others need it only when they answer a
verdict."""


@dataclass(frozen=True, slots=True)
class RecordEventHandler:
    """Reads a stored webhook delivery again and saves its events, outcomes and follow-up jobs in one transaction."""

    own_app: int | None
    """The App's id, whose own checks are no CI; None when this process does not know it."""
    mention: str | None
    """The App's name in commands."""
    host: str
    """GitHub's host, such as `github.com`."""
    day_seconds: float
    """Seconds of a day, to plan when surviving lines are counted."""
    least_quiet_seconds: float
    """Shortest delay after an event, so that a burst of events leads to one evaluation."""
    has_onboarding: bool = False
    """Whether new repositories get a pull request that sets the bot up."""

    def __call__(self, context: Context, job: RecordEvent) -> None:
        """Record the delivery that `job` names in the database; do nothing when it was purged.

        A stranger's Markdown is parsed before the fenced transaction opens, because that takes
        time.
        """
        with transaction(context.database) as connection:
            delivery = webhook_state.load_delivery(connection, job.delivery)
        if delivery is None:
            return
        event = parse(delivery.event, job.delivery, delivery.body, own_app=self.own_app)
        if isinstance(event, Ignored):
            return
        seen = observe(event, delivery.received_at, self.mention)
        promised = find_closing_issues(event, self.host)
        with context.transaction() as connection:
            # The delivery may be purged by now. Loading it again also blocks a purge.
            if webhook_state.load_delivery(connection, job.delivery) is None:
                return
            if not webhook_state.apply_event(connection, event, delivery.received_at):
                return
            if isinstance(event, RepositoryEvent):
                stored = record_outcomes(connection, event.repository.id, seen, job.delivery)
                context.enqueue(connection, list(self._plan_follow_ups(event.repository, stored)))
                touched = find_claimed_pulls(connection, event.repository.id, stored)
                context.enqueue(
                    connection, list(plan_claim_checks(connection, event.repository, touched))
                )
            links = self._load_known_links(connection, event, promised)
            context.enqueue(connection, plan_follow_ups(event, links))
            if self.has_onboarding:
                context.enqueue(connection, plan_onboarding(event))
            if isinstance(event, CheckEvent):
                context.enqueue(connection, _plan_second_attempts(connection, event))

    def _plan_follow_ups(
        self, repository: RepositoryRef, seen: Sequence[OutcomeEvent]
    ) -> Iterator[Planned]:
        """Plan jobs for unknown permissions and for the survival of merged lines."""
        yield from plan_permission_jobs(repository, seen)
        for event in seen:
            if event.kind == EventKind.PULL_MERGED and event.pull is not None:
                for days in SURVIVAL_DAYS:
                    job = MeasureSurvival(repository.installation, repository.id, event.pull, days)
                    yield Planned(job, days * self.day_seconds)

    def _load_known_links(
        self, connection: Connection, event: Event, promised: tuple[IssueNumber, ...]
    ) -> StoredLinks:
        if not isinstance(event, RepositoryEvent):
            return StoredLinks()
        stored = groups.load_repository(connection, event.repository.id)
        return StoredLinks(
            issues=webhook_state.find_linked_issues(connection, event),
            closing_issues=promised,
            quiet_seconds=get_quiet_seconds(stored, self.least_quiet_seconds),
        )


def _plan_second_attempts(connection: Connection, event: CheckEvent) -> list[Planned]:
    """Plan evaluations for alternatives that a failing check is about."""
    repository = event.repository
    place = (repository.installation, repository.id)
    issues = second_attempts.leave_hints_of_check(connection, event)
    return [Planned(EvaluateIssue(*place, issue, "pull_request")) for issue in issues]


def record_outcomes(
    connection: Connection,
    number: RepositoryId,
    events: Sequence[OutcomeEvent],
    delivery: DeliveryGuid | None = None,
) -> tuple[OutcomeEvent, ...]:
    """Store outcome events of repository `number`, and derive the outcomes of affected pull requests again.

    Returns the events that were not stored before. `delivery` is the webhook delivery that they come from; None if
    there is none.
    """
    stored = outcome_events.append(connection, number, events, delivery)
    touched = outcome_events.find_touched_pulls(connection, number, stored)
    outcomes.rederive(connection, number, touched)
    return stored


def find_claimed_pulls(
    connection: Connection, number: RepositoryId, events: Sequence[OutcomeEvent]
) -> list[PullNumber]:
    """Return the pull requests of repository `number` that `events` end, or claim to revert or contain."""
    endings = {EventKind.PULL_CLOSED, EventKind.PULL_MERGED}
    telling = [event for event in events if event.kind in CLAIMS | endings]
    return outcome_events.find_touched_pulls(connection, number, telling)


def plan_claim_checks(
    connection: Connection, repository: RepositoryRef, pulls: Iterable[PullNumber]
) -> Iterator[Planned]:
    """Yield one job for each collected pull request about which there are unchecked claims; the job asks git."""
    for pull in pulls:
        history = outcomes.load_history(connection, repository.id, pull)
        if history.snapshots and find_unchecked_claims(history):
            yield Planned(CheckClaims(repository.installation, repository.id, pull))


def plan_permission_jobs(
    repository: RepositoryRef, events: Sequence[OutcomeEvent]
) -> list[Planned]:
    """Return one job per person in `events` whose permission is needed and unknown; the job asks GitHub for it."""
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
