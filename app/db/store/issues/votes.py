"""Store votes: every reply of the engine in full, for explanations and training. Also the checklists that they grade by."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import evaluations, rubrics, votes
from app.github.redaction import redact
from app.jobs.job import Json
from app.values.identifiers import EvaluationId
from model.domain import EngineInfo, PatchId, Vote


def find_earlier(
    connection: Connection, group: int, fingerprint: str, engine: EngineInfo
) -> tuple[Vote, ...]:
    """Return the stored votes of one engine, model and prompt on one content of a group, oldest first.

    `group` is the group's id. `fingerprint` is the hash of the issue's text and of the patches without blanks. The
    caller adds new votes to these, so nobody can ask again until the verdict pleases.
    """
    voter = evaluations.c.verdict["engine"]
    rows = connection.execute(
        select(votes)
        .join(evaluations, evaluations.c.id == votes.c.evaluation_id)
        .where(
            evaluations.c.group_id == group,
            evaluations.c.fingerprint == fingerprint,
            voter["name"].astext == engine.name,
            voter["model"].astext == engine.model,
            voter["prompt_fingerprint"].astext == engine.prompt_fingerprint,
        )
        .order_by(votes.c.evaluation_id, votes.c.number)
    )
    return tuple(_build_vote(row) for row in rows)


def save(connection: Connection, identity: EvaluationId, number: int, vote: Vote) -> None:
    """Save one reply of the engine, readable or not, as the vote `number` (from 0) of the evaluation `identity`."""
    connection.execute(
        insert(votes).values(
            evaluation_id=identity,
            number=number,
            seed=vote.seed,
            seats=[seat or "" for seat in vote.seats],
            correct=None if vote.correct is None else sorted(vote.correct),
            forced=vote.forced,
            failure=None if vote.failure is None else redact(vote.failure),
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
    """Return how many votes of the evaluation `identity` were forced: continued once from an opened box."""
    statement = select(func.count()).where(
        votes.c.evaluation_id == identity, votes.c.forced.is_(True)
    )
    return int(connection.execute(statement).scalar_one())


def find_rubric(connection: Connection, identity: EvaluationId, digest: str) -> Any:
    """Return the newest checklist under `digest` of all evaluations of the issue; None if there is none.

    `identity` is any evaluation of the issue. The document is not checked: the process that stored it reads strangers.
    """
    own, every = evaluations.alias(), evaluations.alias()
    return connection.scalar(
        select(rubrics.c.document)
        .join(every, every.c.id == rubrics.c.evaluation_id)
        .join(own, own.c.group_id == every.c.group_id)
        .where(own.c.id == identity, rubrics.c.digest == digest)
        .order_by(rubrics.c.evaluation_id.desc())
        .limit(1)
    )


def save_rubric(
    connection: Connection, identity: EvaluationId, digest: str, document: Mapping[str, Json]
) -> None:
    """Keep a checklist with the evaluation `identity`. Another one under the same `digest` changes nothing.

    `digest` names all that the checklist depends on. It ends with the evaluation.
    """
    values = {"evaluation_id": identity, "digest": digest, "document": document}
    connection.execute(insert(rubrics).values(values).on_conflict_do_nothing())
