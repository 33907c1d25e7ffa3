"""Read what webhooks do not tell after a verdict: permissions, reactions and surviving lines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups
from app.db.store.outcomes import outcome_events, outcome_permissions, outcomes
from app.db.store.outcomes.outcome_permissions import PermissionAnswer
from app.db.store.outcomes.outcomes import MergedPull
from app.db.store.queue.effects import build_comment_key, find_github_id
from app.github.api import graphql_reader, rest_reader
from app.github.api.effect_store import EffectKey
from app.github.api.rest_reader import ReactionFacts
from app.github.errors import Forbidden, NotFound
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.jobs.job import Planned
from app.jobs.outcome_jobs import HearReview, MeasureSurvival, PollReactions, ResolvePermission
from app.outcomes import CAN_WRITE, Details, EventKind, OutcomeEvent
from app.values.identifiers import CommentId, IssueNumber, PullNumber, RepositoryId, RepositoryRef
from worker.git.checkout import CheckoutBusy, Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.outcomes import second_attempts, survival
from worker.outcomes.record_event import (
    plan_claim_checks,
    plan_permission_jobs,
    record_outcomes,
)
from worker.outcomes.review_hints import load_review
from worker.outcomes.survival import Revert
from worker.queue.context import Context
from worker.queue.errors import Postponed

THUMBS = frozenset({"+1", "-1"})
_CLOCKS_DIFFER = timedelta(days=1)  # a revert carries the time of its author's machine
_BUSY_SECONDS = 300.0


def resolve_permission(github: GitHub, context: Context, job: ResolvePermission) -> None:
    """Ask GitHub for a person's permission, and store it with the events that wait for it.

    `job` names the person and the repository. If GitHub refuses or cannot answer, the permission stays unknown.
    """
    about, now = (job.repository, job.actor), datetime.now(UTC)
    with transaction(context.database) as connection:
        repository = _load_active_repository(connection, job.repository)
        wanted = outcome_permissions.is_wanted(connection, *about, now)
        answer = outcome_permissions.find_recent_answer(connection, *about, now)
    if repository is None or not wanted:
        return
    try:
        answer = answer or _ask(github, repository, job.actor, now)
    except (Forbidden, NotFound):
        return
    with context.transaction() as connection:
        touched = outcome_permissions.fill_in(connection, *about, answer)
        outcomes.rederive(connection, job.repository, touched)
        if answer.permission in CAN_WRITE:
            context.enqueue(connection, list(_plan_reviews(connection, job, answer)))


def _ask(github: GitHub, repository: RepositoryRef, actor: str, now: datetime) -> PermissionAnswer:
    return PermissionAnswer(rest_reader.read_permission(github, repository, actor).value, now)


def _plan_reviews(
    connection: Connection, job: ResolvePermission, answer: PermissionAnswer
) -> Iterator[Planned]:
    """Plan jobs for this maintainer's reviews that request changes to an alternative."""
    about = (job.repository, job.actor)
    for guid in outcome_permissions.list_change_requests(connection, *about, answer):
        event = load_review(connection, guid)
        if event is not None and second_attempts.is_about_alternative(connection, event):
            yield Planned(HearReview(job.installation, job.repository, guid))


def poll_reactions(github: GitHub, context: Context, job: PollReactions) -> None:
    """Read the 👍 and 👎 on a verdict's comment from GitHub, and store which are new or gone since the last poll."""
    with transaction(context.database) as connection:
        repository = _load_active_repository(connection, job.repository)
        group = groups.find_group(connection, job.repository, job.issue)
    if repository is None or group is None:
        return
    comment = find_github_id(context.database, EffectKey(repository, build_comment_key(group.id)))
    if comment is None:
        return
    try:
        reactions = rest_reader.list_reactions(github, repository, CommentId(comment))
    except NotFound:
        return  # the comment was deleted, so its present thumbs are unknown
    with context.transaction() as connection:
        recorded = outcome_events.list_shown_reactions(connection, job.repository, job.issue)
        events = list(compare_reactions(job.issue, reactions, recorded, datetime.now(UTC)))
        stored = record_outcomes(connection, job.repository, events)
        context.enqueue(connection, plan_permission_jobs(repository, stored))


def measure_survival(
    github: GitHub, checkouts: Checkouts, context: Context, job: MeasureSurvival
) -> None:
    """Store how many lines of a merged pull request remain on the default branch, and its reverts.

    `job` names the pull request. One that was never judged or was merged elsewhere is skipped. Raises Postponed when
    another process uses the bare repository.
    """
    with transaction(context.database) as connection:
        repository = _load_active_repository(connection, job.repository)
        merged = outcomes.find_merged_pull(connection, job.repository, job.pull)
    if repository is None:
        return
    events = []
    if merged is None and (merged := _ask_for_merge(github, context, repository, job)):
        events.append(_build_landing(job, merged))
    if merged is None or merged.branch != merged.default_branch:
        return
    try:
        events += _measure(github, checkouts, repository, job, merged)
    except CheckoutBusy as error:
        raise Postponed(str(error), after_seconds=_BUSY_SECONDS) from error
    except GitUnreachable:
        # git does not say whether the token was the cause.
        github.tokens.forget(Scope.for_repository(repository, Purpose.READ))
        raise
    with context.transaction() as connection:
        record_outcomes(connection, job.repository, events)
        checks = plan_claim_checks(connection, repository, [job.pull])
        context.enqueue(connection, list(checks))


def _ask_for_merge(
    github: GitHub, context: Context, repository: RepositoryRef, job: MeasureSurvival
) -> MergedPull | None:
    """Ask GitHub for the merge commit that the webhook did not name; None: GitHub does not tell it either."""
    try:
        merge = graphql_reader.read_pull(github, repository, job.pull).merge_commit
    except NotFound:
        return None
    if merge is None:
        return None
    with transaction(context.database) as connection:
        return outcomes.find_merged_pull(connection, job.repository, job.pull, merge)


def _build_landing(job: MeasureSurvival, merged: MergedPull) -> OutcomeEvent:
    """Build the event that names the merge commit, so that later reverts of this commit are understood."""
    return OutcomeEvent(
        kind=EventKind.LANDED,
        source=f"merge_commit:{job.repository}:{job.pull}",
        occurred_at=merged.merged_at,
        pull=job.pull,
        head=merged.merge,
    )


def _measure(
    github: GitHub,
    checkouts: Checkouts,
    repository: RepositoryRef,
    job: MeasureSurvival,
    merged: MergedPull,
) -> Iterator[OutcomeEvent]:
    token = github.tokens.get_token(Scope.for_repository(repository, Purpose.READ))
    measured = survival.measure_survival(checkouts, repository, token, merged)
    # A patch that only deletes lines has no share: 0 would mean that it was reverted.
    if measured.share is not None:
        yield OutcomeEvent(
            kind=EventKind.SURVIVAL,
            source=f"{job.key}",
            occurred_at=max(datetime.now(UTC), merged.merged_at),
            pull=job.pull,
            head=merged.head,
            details=Details(share=measured.share, days=job.days),
        )
    since = merged.merged_at - _CLOCKS_DIFFER
    for revert in survival.find_reverts(checkouts, repository, token, merged.branch, since):
        if _is_revert_of(revert, job.pull, merged):
            yield _build_revert_event(revert, job.repository, job.pull)


def plan_reaction_polls(connection: Connection) -> Sequence[Planned]:
    """Return one job per verdict whose reactions may still change; the job polls them."""
    return [
        Planned(PollReactions(issue.repository.installation, issue.repository.id, issue.number))
        for issue in outcomes.list_watched_comments(connection)
    ]


def compare_reactions(
    issue: IssueNumber,
    reactions: Sequence[ReactionFacts],
    recorded: Sequence[OutcomeEvent],
    now: datetime,
) -> Iterator[OutcomeEvent]:
    """Yield an event for each 👍 or 👎 that was added to or removed from an issue's verdict comment (pure).

    `reactions` are the present ones on GitHub, and `recorded` the events of those at the last poll. `now` is the time
    of the removals.
    """
    thumbs = [fact for fact in reactions if fact.content in THUMBS and not fact.is_bot]
    before = {event.details.about for event in recorded}
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
    for event in recorded:
        if event.details.about not in left:
            yield replace(
                event,
                source=f"{event.source}:gone",
                # GitHub does not tell the time of removal; it must be after the time of creation.
                occurred_at=max(now, event.occurred_at + timedelta(seconds=1)),
                details=replace(event.details, gone=True),
            )


def _load_active_repository(connection: Connection, number: RepositoryId) -> RepositoryRef | None:
    """Return the repository, or None when it is gone or suspended."""
    stored = groups.load_active_repository(connection, number)
    return None if stored is None else stored.ref


def _is_revert_of(revert: Revert, pull: PullNumber, merged: MergedPull) -> bool:
    return pull in revert.pulls or any(merged.merge.startswith(name) for name in revert.commits)


def _build_revert_event(revert: Revert, number: RepositoryId, pull: PullNumber) -> OutcomeEvent:
    return OutcomeEvent(
        kind=EventKind.REVERTED,
        source=f"git:{number}:{revert.commit}:{pull}",
        occurred_at=revert.committed_at,
        pull=pull,
        head=revert.commit,
        details=Details(reverter=revert.commit),
    )
