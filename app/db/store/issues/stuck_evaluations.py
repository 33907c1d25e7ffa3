"""Find stuck evaluations: nobody will judge or publish them."""

from datetime import timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, func, select

from app.db.tables.schema import (
    effects,
    evaluations,
    groups,
    installations,
    jobs,
    repositories,
)
from app.values.identifiers import EvaluationId

PUBLISHED_WITHIN: Final = timedelta(days=1)
"""A verdict that could not be published for this long waits for the next event."""
AGENTS_WITHIN: Final = timedelta(hours=1)
"""A group whose agents did not start for this long is judged without them; perhaps no worker serves
their queue."""


def find_abandoned(connection: Connection) -> list[tuple[EvaluationId, str]]:
    """Return (id, reason) of each evaluation without a verdict whose judging job gave up or is gone.

    The reason is the error of the dead job, or a sentence if the job is gone.
    """
    key = func.concat("verify_group:", evaluations.c.id)
    rows = connection.execute(
        select(evaluations.c.id, func.max(jobs.c.error).label("error"))
        .outerjoin(jobs, and_(jobs.c.key == key, jobs.c.state == "dead"))
        .where(
            evaluations.c.state == "collected",
            evaluations.c.alternatives_wanted == 0,
            ~_is_at_work(key),
        )
        .group_by(evaluations.c.id)
        .order_by(evaluations.c.id)
    )
    return [(row.id, row.error or "its job ended without a verdict") for row in rows]


def find_without_agents(connection: Connection) -> list[EvaluationId]:
    """Return the ids of evaluations that wait for agents' alternatives although no job will write them soon.

    The job gave up, is gone, or has been due for longer than AGENTS_WITHIN.
    """
    key = func.concat("propose_patches:", evaluations.c.id)
    rows = connection.scalars(
        select(evaluations.c.id)
        .where(
            evaluations.c.state == "collected",
            evaluations.c.alternatives_wanted > 0,
            ~_is_at_work(key, AGENTS_WITHIN),
        )
        .order_by(evaluations.c.id)
    )
    return list(rows)


def find_unpublished(connection: Connection) -> list[EvaluationId]:
    """Return the ids of judged evaluations whose publishing job gave up, never ran, or left a write in doubt.

    Verdicts older than PUBLISHED_WITHIN and suspended installations are left out.
    """
    key = func.concat("publish_verdict:", groups.c.repository_id, ":", groups.c.issue_number)
    rows = connection.scalars(
        select(evaluations.c.id)
        .join(groups, groups.c.id == evaluations.c.group_id)
        .join(repositories, repositories.c.id == groups.c.repository_id)
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(
            (evaluations.c.state == "verified") | _is_in_doubt(),
            evaluations.c.verified_at > func.now() - PUBLISHED_WITHIN,
            installations.c.suspended_at.is_(None),
            ~_is_at_work(key),
        )
        .order_by(evaluations.c.id)
    )
    return list(rows)


def _is_in_doubt() -> ColumnElement[bool]:
    """Match a published evaluation whose last writes a late request of a paused worker may have replaced."""
    unclear = (effects.c.evaluation_id == evaluations.c.id) & (effects.c.state != "confirmed")
    return (evaluations.c.state == "published") & select(effects.c.key).where(unclear).exists()


def _is_at_work(key: ColumnElement[str], within: timedelta | None = None) -> ColumnElement[bool]:
    """Match a running or ready job of this key; `within` excludes those due for longer."""
    work = jobs.alias()
    waits = work.c.state == "ready"
    if within is not None:
        waits &= work.c.run_after > func.now() - within
    return select(work.c.id).where(work.c.key == key, waits | (work.c.state == "running")).exists()
