"""Store which pull requests `/r4p ok` lets the bot judge, and which an evaluation leaves out."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import approvals, evaluations
from app.events.event import Actor
from app.policy.group_policy import LeftOutPull
from app.values.identifiers import EvaluationId, PullNumber, RepositoryId


def approve(
    connection: Connection, number: RepositoryId, pulls: Sequence[PullNumber], actor: Actor
) -> None:
    """Record that `actor` approved pull requests of repository `number`; an earlier approval stays.

    An approval is about the pull request and outlives later pushes.
    """
    for pull in pulls:
        connection.execute(
            insert(approvals)
            .values(repository_id=number, pull_number=pull, actor_id=actor.id, actor=actor.login)
            .on_conflict_do_nothing()
        )


def list_approved(connection: Connection, number: RepositoryId) -> frozenset[PullNumber]:
    """Return the numbers of the approved pull requests of repository `number`."""
    rows = connection.scalars(
        select(approvals.c.pull_number).where(approvals.c.repository_id == number)
    )
    return frozenset(map(PullNumber, rows))


def save_left_out(
    connection: Connection, identity: EvaluationId, left_out: Iterable[LeftOutPull]
) -> None:
    """Save which pull requests the bot leaves out now beside the evaluation with the id `identity`, and why."""
    entries = [{"number": entry.number, "reason": entry.reason} for entry in left_out]
    connection.execute(
        update(evaluations).where(evaluations.c.id == identity).values(left_out=entries)
    )
