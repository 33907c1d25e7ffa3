"""What a model did as a judge: counts over the evaluations that it spoke in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy import distinct as each

from app.canary import Record
from app.db.tables import candidates, evaluation_candidates, evaluations, outcomes
from app.outcomes import OutcomeKind
from model.domain import Verdict

_MOST = 500
"""Of the newest evaluations; more would tell the same."""
_OVERTURNING = (OutcomeKind.REVERTED, OutcomeKind.DISAGREE)


def records(connection: Connection, model: str, since: datetime) -> tuple[Record, Record]:
    """What a model did since, and what all the others did that judged in its place."""
    speaker = evaluations.c.verdict["engine"]["model"].astext
    rows = connection.execute(
        select(evaluations.c.id, evaluations.c.verdict, speaker.label("speaker"))
        .where(evaluations.c.verified_at >= since, evaluations.c.failure.is_(None))
        .order_by(evaluations.c.id.desc())
        .limit(_MOST)
    ).all()
    own = [row for row in rows if row.speaker == model]
    others = [row for row in rows if row.speaker != model]
    return _record(connection, own), _record(connection, others)


def _record(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> Record:
    documents: list[dict[str, Any]] = [row.verdict for row in rows]
    verdicts = [patch["verdict"] for one in documents for patch in one["patches"]]
    return Record(
        judged=len(documents),
        asked=sum(one["votes"]["asked"] for one in documents),
        valid=sum(one["votes"]["valid"] for one in documents),
        patches=sum(one != Verdict.NOT_JUDGED for one in verdicts),
        correct=sum(one == Verdict.CORRECT for one in verdicts),
        overturned=_overturned(connection, [row.id for row in rows]),
        seconds=sum(one["seconds"]["total"] for one in documents),
    )


def _overturned(connection: Connection, ids: Sequence[int]) -> int:
    of = evaluation_candidates.c
    query = (
        select(func.count(each(func.concat(of.evaluation_id, "/", of.candidate_id))))
        .join(candidates, candidates.c.id == of.candidate_id)
        .join(
            outcomes,
            (outcomes.c.repository_id == candidates.c.repository_id)
            & (outcomes.c.pull_number == candidates.c.pull_number)
            & (outcomes.c.evaluation_id == of.evaluation_id),
        )
        .where(
            of.evaluation_id.in_(ids),
            of.verdict == Verdict.CORRECT,
            outcomes.c.kind.in_(_OVERTURNING),
        )
    )
    return int(connection.scalar(query) or 0)
