"""Store derived outcomes, replaced as a whole for one pull request at a time."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, delete, func, insert, select, union

from app.db.session import transaction
from app.db.store.outcomes import outcome_events as event_store
from app.db.tables.schema import (
    candidates,
    effects,
    evaluation_candidates,
    evaluations,
    groups,
    installations,
    outcome_events,
    outcomes,
    patches,
    pull_requests,
    repositories,
)
from app.outcomes import (
    RULE_VERSION,
    EventKind,
    History,
    Outcome,
    OutcomeEvent,
    Snapshot,
    derive,
)
from app.values.identifiers import (
    CommitSha,
    IssueRef,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)

WATCHED_AFTER_CLOSING = timedelta(days=30)
"""How long after an issue's end its verdict's thumbs still count."""


@dataclass(frozen=True, slots=True)
class MergedPull:
    """A pull request that was merged into `branch` by merge commit, squash or rebase."""

    number: PullNumber
    head: CommitSha
    base: CommitSha
    """The base branch's commit before the merge."""
    merge: CommitSha
    """The commit that the merge created."""
    merged_at: datetime
    branch: str
    default_branch: str | None
    """The repository's default branch; None: not known yet."""


def load_history(connection: Connection, number: RepositoryId, pull: PullNumber) -> History:
    """Load the stored events from which the outcomes of pull request `pull` in repository `number` follow."""
    return History(
        pull=pull,
        events=event_store.list_of_pull(connection, number, pull),
        snapshots=_load_snapshots(connection, number, pull),
        rival_merges=event_store.list_rival_merges(connection, number, pull),
        next_openings=_load_next_openings(connection, number, pull),
    )


def _load_next_openings(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> tuple[OutcomeEvent, ...]:
    """Load the events that record openings of other pull requests by the people who closed `pull`."""
    event = outcome_events.c
    here = event.repository_id == number
    closed = event.kind == EventKind.PULL_CLOSED.value
    closers = select(event.actor_id).where(here, event.pull_number == pull, closed)
    opened = select(outcome_events).where(
        here,
        event.pull_number != pull,
        event.kind == EventKind.PULL_OPENED.value,
        event.actor_id.in_(closers),
    )
    return tuple(map(event_store.build_event, connection.execute(opened.order_by(event.id))))


def rederive(connection: Connection, number: RepositoryId, pulls: Iterable[PullNumber]) -> None:
    """Derive the outcomes of pull requests in repository `number` from stored events again, and store them.

    `pulls` are their numbers. A pull request whose outcomes do not change keeps its rows.
    """
    for pull in sorted(pulls):
        # Lock, because two deliveries about one pull request may be recorded at once.
        lock = func.hashtextextended(f"outcomes:{number}:{pull}", 0)
        connection.execute(select(func.pg_advisory_xact_lock(lock)))
        replace_outcomes(connection, number, pull, derive(load_history(connection, number, pull)))


def rederive_all(database: Engine) -> int:
    """Derive and store the outcomes of all pull requests again after a rule change; return how many pull requests."""
    in_events = select(outcome_events.c.repository_id, outcome_events.c.pull_number)
    collected = select(candidates.c.repository_id, candidates.c.pull_number)
    with transaction(database) as connection:
        query = union(in_events.where(outcome_events.c.pull_number.is_not(None)), collected)
        pulls = [(row[0], row[1]) for row in connection.execute(query)]
    for number, pull in pulls:
        with transaction(database) as connection:
            rederive(connection, number, [pull])
    return len(pulls)


def replace_outcomes(
    connection: Connection, number: RepositoryId, pull: PullNumber, derived: Iterable[Outcome]
) -> None:
    """Replace the stored outcomes of pull request `pull` in repository `number` by `derived`.

    The new rows get the present rule version. If nothing has changed, the old rows stay.
    """
    rows = list(derived)
    ids = _load_event_ids(connection, [outcome.event.source for outcome in rows])
    wanted = {
        (
            outcome.kind.value,
            outcome.reason,
            outcome.value,
            outcome.head,
            outcome.event.actor,
            outcome.event.permission,
            outcome.evaluation,
            ids[outcome.event.source],
            RULE_VERSION,
        )
        for outcome in rows
    }
    columns = (
        outcomes.c.kind,
        outcomes.c.reason,
        outcomes.c.value,
        outcomes.c.head_sha,
        outcomes.c.actor,
        outcomes.c.permission,
        outcomes.c.evaluation_id,
        outcomes.c.event_id,
        outcomes.c.rule_version,
    )
    of_pull = (outcomes.c.repository_id == number, outcomes.c.pull_number == pull)
    present = {tuple(row) for row in connection.execute(select(*columns).where(*of_pull))}
    if present == wanted:
        return
    connection.execute(delete(outcomes).where(*of_pull))
    names = ("repository_id", "pull_number", *(column.name for column in columns))
    for values in sorted(wanted, key=lambda row: (row[7], row[0])):
        connection.execute(
            insert(outcomes).values(dict(zip(names, (number, pull, *values), strict=True)))
        )


def find_merged_pull(
    connection: Connection,
    number: RepositoryId,
    pull: PullNumber,
    merge: CommitSha | None = None,
) -> MergedPull | None:
    """Return commits, time and branch of the merge of pull request `pull` in repository `number`; None if unknown.

    `merge` is the merge commit for a webhook that named none.
    """
    row = connection.execute(
        select(
            outcome_events.c.head_sha,
            outcome_events.c.data,
            outcome_events.c.occurred_at,
            pull_requests.c.base_ref,
            repositories.c.default_branch,
        )
        .join(
            pull_requests,
            (pull_requests.c.repository_id == outcome_events.c.repository_id)
            & (pull_requests.c.number == outcome_events.c.pull_number),
        )
        .join(repositories, repositories.c.id == outcome_events.c.repository_id)
        .where(
            outcome_events.c.repository_id == number,
            outcome_events.c.pull_number == pull,
            outcome_events.c.kind == EventKind.PULL_MERGED.value,
        )
        .order_by(outcome_events.c.occurred_at, outcome_events.c.source)
        .limit(1)
    ).one_or_none()
    merge = merge if row is None else row.data.get("commit") or merge
    if row is None or not (row.head_sha and row.data.get("base") and merge):
        return None
    return MergedPull(
        number=pull,
        head=row.head_sha,
        base=CommitSha(row.data["base"]),
        merge=CommitSha(merge),
        merged_at=row.occurred_at,
        branch=row.base_ref,
        default_branch=row.default_branch,
    )


def list_watched_comments(connection: Connection) -> list[IssueRef]:
    """List the issues with a verdict comment on which people may still react.

    Each issue is open, or changed less than WATCHED_AFTER_CLOSING ago. Suspended installations are left out.
    """
    recent = groups.c.updated_at > func.now() - WATCHED_AFTER_CLOSING
    rows = connection.execute(
        select(
            repositories.c.installation_id,
            repositories.c.id,
            repositories.c.full_name,
            groups.c.issue_number,
        )
        .join(groups, groups.c.repository_id == repositories.c.id)
        .join(
            effects,
            (effects.c.repository_id == groups.c.repository_id)
            & (effects.c.key == func.concat("comment:group:", groups.c.id)),
        )
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(
            effects.c.github_id.is_not(None),
            installations.c.suspended_at.is_(None),
            (groups.c.state == "open") | recent,
        )
        .order_by(groups.c.id)
    )
    return [
        IssueRef(
            RepositoryRef(row.installation_id, row.id, row.full_name),
            row.issue_number,
        )
        for row in rows
    ]


def _load_snapshots(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> tuple[Snapshot, ...]:
    """Load a snapshot per submission of a candidate, and one for a candidate never submitted."""
    rows = connection.execute(
        select(
            candidates,
            patches.c.edit,
            evaluations.c.verified_at,
            evaluations.c.id.label("evaluation_id"),
            event_store.build_public_at().label("public_at"),
        )
        .outerjoin(evaluation_candidates, evaluation_candidates.c.candidate_id == candidates.c.id)
        .outerjoin(evaluations, evaluations.c.id == evaluation_candidates.c.evaluation_id)
        .outerjoin(patches, patches.c.sha256 == candidates.c.patch_sha256)
        .where(candidates.c.repository_id == number, candidates.c.pull_number == pull)
    )
    return tuple(
        Snapshot(
            head=row.head_sha,
            base=row.base_sha,
            edit=row.edit,
            judged_at=row.verified_at,
            evaluation=row.evaluation_id,
            public_at=row.public_at,
        )
        for row in rows
    )


def _load_event_ids(connection: Connection, sources: list[str]) -> dict[str, int]:
    rows = connection.execute(
        select(outcome_events.c.source, outcome_events.c.id).where(
            outcome_events.c.source.in_(sources)
        )
    )
    return {row.source: row.id for row in rows}
