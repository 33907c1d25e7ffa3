"""Lessons: what issues said and which patches were handed in, of repositories that let them be used."""

from collections.abc import Collection

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import distinct_on

from app import consent
from app.db.tables import evaluations, installations, patches, pull_requests, repositories
from app.identifiers import PullNumber, RepositoryId
from app.judgements import FrozenIssue
from app.repo_config import Training
from model.domain import Issue


def consenting(
    connection: Connection, to: Collection[Training] = (Training.ON,)
) -> frozenset[RepositoryId]:
    """Repositories whose settings say one of these; where the App is suspended, none."""
    rows = connection.execute(
        select(repositories.c.id, repositories.c.config_text, repositories.c.config_error)
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(installations.c.suspended_at.is_(None))
    )
    return frozenset(
        RepositoryId(row.id)
        for row in rows
        if consent.training(row.config_text, row.config_error) in to
    )


def issues(connection: Connection, groups: Collection[int]) -> dict[int, FrozenIssue]:
    """What the issues said, by our numbers."""
    rows = connection.execute(
        select(
            evaluations.c.group_id,
            evaluations.c.issue_title,
            evaluations.c.issue_body,
            evaluations.c.created_at,
        )
        .ext(distinct_on(evaluations.c.group_id))
        .where(evaluations.c.group_id.in_(groups))
        .order_by(evaluations.c.group_id, evaluations.c.created_at, evaluations.c.id)
    )
    return {
        int(row.group_id): FrozenIssue(Issue(row.issue_title, row.issue_body), row.created_at)
        for row in rows
    }


def diffs(connection: Connection, digests: Collection[str]) -> dict[str, str]:
    """Patches by the SHA-256 of their content."""
    rows = connection.execute(select(patches).where(patches.c.sha256.in_(digests)))
    return {row.sha256: bytes(row.diff).decode() for row in rows}


def authors(
    connection: Connection, among: Collection[RepositoryId]
) -> dict[tuple[RepositoryId, PullNumber], str]:
    """Who opened a pull request, where that is known."""
    rows = connection.execute(
        select(pull_requests.c.repository_id, pull_requests.c.number, pull_requests.c.author).where(
            pull_requests.c.repository_id.in_(among), pull_requests.c.author.is_not(None)
        )
    )
    return {(RepositoryId(row.repository_id), PullNumber(row.number)): row.author for row in rows}
