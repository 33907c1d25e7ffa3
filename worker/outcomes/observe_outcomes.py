"""What webhooks don't tell of the time after a verdict: rights, thumbs, and lines that survive."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups
from app.db.store.outcomes import outcome_events, outcome_permissions, outcomes
from app.db.store.outcomes.outcome_permissions import Answer
from app.db.store.outcomes.outcomes import MergedPullRow
from app.db.store.queue.effects import PostgresEffects, comment_key
from app.github.api import rest_reader
from app.github.api.effect_store import EffectKey
from app.github.api.rest_reader import ReactionFacts
from app.github.errors import Forbidden, NotFound
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import Connection as GitHub
from app.jobs.job import Planned
from app.jobs.outcome_jobs import HearReview, MeasureSurvival, PollReactions, ResolvePermission
from app.outcomes import CAN_WRITE, Details, EventKind, OutcomeEvent
from app.values.identifiers import CommentId, IssueNumber, PullNumber, RepositoryId, RepositoryRef
from worker.git.checkout import CheckoutBusy, Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.outcomes import second_attempts, survival
from worker.outcomes.record_event import ask_permissions, record
from worker.outcomes.review_hints import review
from worker.outcomes.survival import MergedPull, Revert
from worker.queue.context import Context
from worker.queue.errors import Postponed

THUMBS = frozenset({"+1", "-1"})
_CLOCKS_DIFFER = timedelta(days=1)  # a revert is dated by whoever's machine made it
_BUSY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class ResolvePermissionHandler:
    """Finds out which right a person has, and writes it on all that waits for it."""

    github: GitHub

    def __call__(self, context: Context, job: ResolvePermission) -> None:
        """Fill in the permission; where GitHub doesn't let us ask, or can't say, it stays unknown."""
        about, now = (job.repository, job.actor), datetime.now(UTC)
        with transaction(context.database) as connection:
            repository = _active(connection, job.repository)
            wanted = outcome_permissions.is_wanted(connection, *about, now)
            answer = outcome_permissions.held(connection, *about, now)
        if repository is None or not wanted:
            return
        try:
            answer = answer or self._ask(repository, job.actor, now)
        except (Forbidden, NotFound):
            return
        with context.transaction() as connection:
            touched = outcome_permissions.fill_in(connection, *about, answer)
            outcomes.rederive(connection, job.repository, touched)
            if answer.permission in CAN_WRITE:
                context.enqueue(connection, list(_to_hear(connection, job, answer)))

    def _ask(self, repository: RepositoryRef, actor: str, now: datetime) -> Answer:
        return Answer(rest_reader.permission_of(self.github, repository, actor).value, now)


def _to_hear(connection: Connection, job: ResolvePermission, answer: Answer) -> Iterator[Planned]:
    """Reviews by this maintainer that ask for changes to something an agent of ours wrote."""
    about = (job.repository, job.actor)
    for guid in outcome_permissions.change_requests(connection, *about, answer):
        event = review(connection, guid)
        if event is not None and second_attempts.may_concern(connection, event):
            yield Planned(HearReview(job.installation, job.repository, guid))


@dataclass(frozen=True, slots=True)
class PollReactionsHandler:
    """Compares the thumbs on a verdict's comment with those known, and records the difference."""

    github: GitHub

    def __call__(self, context: Context, job: PollReactions) -> None:
        """Record thumbs that came or went since the last look."""
        with transaction(context.database) as connection:
            repository = _active(connection, job.repository)
            group = groups.group_of(connection, job.repository, job.issue)
        if repository is None or group is None:
            return
        effects = PostgresEffects(context.database)
        effect = effects.load(EffectKey(repository, comment_key(group.id)))
        if effect is None or effect.github_id is None:
            return
        try:
            found = rest_reader.reactions(self.github, repository, CommentId(effect.github_id))
        except NotFound:
            return  # somebody deleted the comment, and with it what its thumbs are now
        with context.transaction() as connection:
            known = outcome_events.shown_reactions(connection, job.repository, job.issue)
            events = list(changes(job.issue, found, known, datetime.now(UTC)))
            stored = record(connection, job.repository, events)
            context.enqueue(connection, ask_permissions(repository, stored))


@dataclass(frozen=True, slots=True)
class MeasureSurvivalHandler:
    """Asks git how many lines of a merged pull request are left, and whether it was reverted."""

    github: GitHub
    checkouts: Checkouts

    def __call__(self, context: Context, job: MeasureSurvival) -> None:
        """Measure on the default branch; what was merged elsewhere, or never judged, is left out."""
        with transaction(context.database) as connection:
            repository = _active(connection, job.repository)
            merged = outcomes.merged_pull(connection, job.repository, job.pull)
        if repository is None or merged is None or merged.branch != merged.default_branch:
            return
        try:
            events = list(self._measure(repository, job, merged))
        except CheckoutBusy as error:
            raise Postponed(str(error), after_seconds=_BUSY_SECONDS) from error
        except GitUnreachable:
            # git doesn't say whether it was the token.
            self.github.tokens.forget(Scope.of(repository, Purpose.READ))
            raise
        with context.transaction() as connection:
            record(connection, job.repository, events)

    def _measure(
        self, repository: RepositoryRef, job: MeasureSurvival, merged: MergedPullRow
    ) -> Iterator[OutcomeEvent]:
        token = self.github.tokens.token(Scope.of(repository, Purpose.READ))
        wanted = MergedPull(job.pull, merged.head, merged.base, merged.merge)
        found = survival.surviving_lines(self.checkouts, repository, token, wanted, merged.branch)
        # A patch that only deletes has no share; to call it 0 would be to call it reverted.
        if found.share is not None:
            yield OutcomeEvent(
                kind=EventKind.SURVIVAL,
                source=f"{job.key}",
                occurred_at=max(datetime.now(UTC), merged.merged_at),
                pull=job.pull,
                head=merged.head,
                details=Details(share=found.share, days=job.days),
            )
        since = merged.merged_at - _CLOCKS_DIFFER
        for revert in survival.reverts(self.checkouts, repository, token, merged.branch, since):
            if _takes_back(revert, job.pull, merged):
                yield _reverted(revert, job.repository, job.pull)


def due_reactions(connection: Connection) -> Sequence[Planned]:
    """By the clock: every verdict whose thumbs may still change."""
    return [
        Planned(PollReactions(issue.repository.installation, issue.repository.id, issue.number))
        for issue in outcomes.watched_comments(connection)
    ]


def changes(
    issue: IssueNumber,
    found: Sequence[ReactionFacts],
    known: Sequence[OutcomeEvent],
    now: datetime,
) -> Iterator[OutcomeEvent]:
    """The thumbs that came and went between what was known and what was found (pure)."""
    thumbs = [fact for fact in found if fact.content in THUMBS and not fact.is_bot]
    before = {event.details.about for event in known}
    for fact in thumbs:
        if str(fact.id) not in before:
            yield OutcomeEvent(
                kind=EventKind.REACTION,
                source=f"reaction:{fact.id}",
                occurred_at=fact.created_at,
                issue=issue,
                actor=fact.user,
                actor_id=fact.user_id,
                details=Details(state=fact.content, about=str(fact.id)),
            )
    left = {str(fact.id) for fact in thumbs}
    for event in known:
        if event.details.about not in left:
            yield replace(
                event,
                source=f"{event.source}:gone",
                # GitHub doesn't say when; after it came, whatever our clocks say.
                occurred_at=max(now, event.occurred_at + timedelta(seconds=1)),
                details=replace(event.details, gone=True),
            )


def _active(connection: Connection, number: RepositoryId) -> RepositoryRef | None:
    """The repository, unless it is gone or GitHub was told to keep us out for now."""
    stored = groups.repository(connection, number)
    return None if stored is None or stored.suspended else stored.ref


def _takes_back(revert: Revert, pull: PullNumber, merged: MergedPullRow) -> bool:
    return pull in revert.pulls or any(merged.merge.startswith(name) for name in revert.commits)


def _reverted(revert: Revert, number: RepositoryId, pull: PullNumber) -> OutcomeEvent:
    return OutcomeEvent(
        kind=EventKind.REVERTED,
        source=f"git:{number}:{revert.commit}:{pull}",
        occurred_at=revert.at,
        pull=pull,
        head=revert.commit,
        details=Details(by=revert.commit),
    )
