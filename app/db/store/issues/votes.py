"""Store votes: every reply of the engine in full, for explanations and training."""

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import evaluations, votes
from app.values.identifiers import EvaluationId
from model.domain import EngineInfo, PatchId, Vote


def find_earlier(
    connection: Connection, group: int, fingerprint: str, engine: EngineInfo
) -> tuple[Vote, ...]:
    """Return a group's earlier votes on exactly this issue text and these patches, by the same model and prompt.

    New votes are added to these, so nobody can repeat a vote until the verdict pleases.
    """
    spoke = evaluations.c.verdict["engine"]
    rows = connection.execute(
        select(votes)
        .join(evaluations, evaluations.c.id == votes.c.evaluation_id)
        .where(
            evaluations.c.group_id == group,
            evaluations.c.fingerprint == fingerprint,
            spoke["name"].astext == engine.name,
            spoke["model"].astext == engine.model,
            spoke["prompt_fingerprint"].astext == engine.prompt_fingerprint,
        )
        .order_by(votes.c.id)
    )
    return tuple(_build_vote(row) for row in rows)


def save(connection: Connection, identity: EvaluationId, vote: Vote) -> None:
    """Save one reply of the engine as a row of `votes`, readable or not."""
    connection.execute(
        insert(votes).values(
            evaluation_id=identity,
            seed=vote.seed,
            seats=[seat or "" for seat in vote.seats],
            correct=None if vote.correct is None else sorted(vote.correct),
            forced=vote.forced,
            failure=vote.failure,
            reply=vote.reply,
        )
    )


def _build_vote(row: Row[*tuple[object, ...]]) -> Vote:
    return Vote(
        seed=row.seed,
        seats=tuple(PatchId(seat) if seat else None for seat in row.seats),
        correct=None if row.correct is None else frozenset(map(PatchId, row.correct)),
        reply=row.reply,
        forced=row.forced,
        failure=row.failure,
    )


def count_forced(connection: Connection, identity: EvaluationId) -> int:
    """Count an evaluation's forced votes."""
    statement = select(func.count()).where(
        votes.c.evaluation_id == identity, votes.c.forced.is_(True)
    )
    return int(connection.execute(statement).scalar_one())
