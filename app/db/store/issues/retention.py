"""Delete data that is older than the operator keeps it. Each function does a bounded amount of work per call."""

from datetime import timedelta
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    delete,
    exists,
    func,
    select,
    text,
)

from app.db.store.issues import purge
from app.db.tables.schema import (
    attempts,
    candidates,
    deliveries,
    drafts,
    evaluation_candidates,
    evaluations,
    groups,
    outcome_events,
    patches,
)

PARTITIONED: Final = ("delivery_bodies", "votes")
"""Tables with one partition a month."""


def maintain_partitions(connection: Connection, table: str, days: int | None) -> int:
    """Create the partitions of the next months, drop months that ended `days` days ago; return how many were dropped.

    None for `days` drops nothing. Raises OperationalError when another transaction uses the table for half a second.
    """
    call = text("select maintain_partitions(cast(:parent as regclass), :days)")
    return int(connection.execute(call, {"parent": table, "days": days}).scalar_one())


def delete_old_deliveries(connection: Connection, days: int, limit: int) -> int:
    """Delete at most `limit` deliveries whose bodies were dropped with their monthly partition; return how many.

    The oldest deliveries go first. Until a delivery is deleted, the bot recognises its GUID and ignores a redelivery.
    """
    oldest = select(deliveries.c.id).order_by(deliveries.c.id).limit(limit)
    chosen = list(
        connection.scalars(
            select(deliveries.c.id).where(
                deliveries.c.id.in_(oldest), deliveries.c.received_at < _start_of_kept(days)
            )
        )
    )
    purge.delete_deliveries(connection, deliveries.c.id.in_(chosen))
    return len(chosen)


def delete_old_evaluations(connection: Connection, days: int, limit: int) -> int:
    """Delete all evaluations of at most `limit` issues whose newest one is older than `days` days.

    Their candidates, alternatives, votes and patches go too, unless something else refers to them. The attempts of an
    issue with a draft pull request stay. Returns how many issues there were.
    """
    # The lock makes a new evaluation of such an issue wait, because it refers to the group.
    idle = list(connection.scalars(_select_idle_groups(days).limit(limit)))
    judged = select(evaluation_candidates.c.candidate_id).join(
        evaluations, evaluations.c.id == evaluation_candidates.c.evaluation_id
    )
    freed = list(connection.scalars(judged.where(evaluations.c.group_id.in_(idle)).distinct()))
    connection.execute(
        delete(evaluations).where(evaluations.c.group_id.in_(idle), ~_is_recent(days))
    )
    unused = ~exists().where(evaluation_candidates.c.candidate_id == candidates.c.id)
    drafted = (
        select(attempts.c.group_id).join(drafts, drafts.c.attempt_id == attempts.c.id).distinct()
    )
    digests: list[str | None] = []
    for statement in (
        delete(candidates)
        .where(candidates.c.id.in_(freed), unused)
        .returning(candidates.c.patch_sha256),
        delete(attempts)
        .where(attempts.c.group_id.in_(idle), attempts.c.group_id.not_in(drafted))
        .returning(attempts.c.patch_sha256),
    ):
        digests.extend(connection.scalars(statement))
    purge.delete_unused_patches(connection, patches.c.sha256.in_(digests))
    return len(idle)


def delete_old_outcomes(connection: Connection, days: int, limit: int) -> int:
    """Delete at most `limit` outcome events older than `days` days about pull requests and issues without evaluations.

    Their derived outcomes go too. No label and no calibrator can need them. Returns how many events were deleted.
    """
    candidate = exists().where(
        candidates.c.repository_id == outcome_events.c.repository_id,
        candidates.c.pull_number == outcome_events.c.pull_number,
    )
    evaluation = exists().where(
        groups.c.repository_id == outcome_events.c.repository_id,
        groups.c.issue_number == outcome_events.c.issue_number,
        evaluations.c.group_id == groups.c.id,
    )
    old = outcome_events.c.occurred_at < func.now() - timedelta(days=days)
    chosen = select(outcome_events.c.id).where(old, ~candidate, ~evaluation).limit(limit)
    return connection.execute(
        delete(outcome_events).where(outcome_events.c.id.in_(chosen))
    ).rowcount


def _start_of_kept(days: int) -> ScalarSelect[object]:
    """Select the first instant of the oldest month that stays, in UTC, as `maintain_partitions` counts it."""
    return select(
        func.date_trunc("month", func.now() - timedelta(days=days), "UTC")
    ).scalar_subquery()


def _select_idle_groups(days: int) -> Select[tuple[int]]:
    mine = evaluations.c.group_id == groups.c.id
    return (
        select(groups.c.id)
        .where(exists().where(mine), ~exists().where(mine, _is_recent(days)))
        .with_for_update(skip_locked=True)
    )


def _is_recent(days: int) -> ColumnElement[bool]:
    return evaluations.c.created_at >= func.now() - timedelta(days=days)
