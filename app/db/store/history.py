"""History: every judgement with what became of the pull request, as calibration and training read it."""

from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, select

from app.db.tables import (
    candidates,
    evaluation_candidates,
    evaluations,
    outcome_events,
    outcomes,
)
from app.identifiers import EvaluationId, PullNumber
from app.judgements import Fate, Judge, Judgement, PullRecord
from app.outcomes import OutcomeKind
from model import evidence
from model.domain import EngineInfo, Verdict, VoteCount

_Pull = tuple[int, int]
"""Repository and number."""


def records(connection: Connection) -> list[PullRecord]:
    """Every pull request that was ever judged, once for each issue; what nobody could judge is left out."""
    fates = _fates(connection)
    judged: dict[tuple[int, _Pull], list[Judgement]] = defaultdict(list)
    for row in connection.execute(_judged()):
        judged[row.group_id, (row.repository_id, row.pull_number)].append(_judgement(row))
    return [
        PullRecord(group, PullNumber(pull[1]), tuple(found), tuple(fates.get(pull, ())))
        for (group, pull), found in judged.items()
    ]


def _judged() -> Any:
    return (
        select(
            evaluation_candidates,
            candidates.c.repository_id,
            candidates.c.pull_number,
            candidates.c.patch_sha256,
            evaluations.c.group_id,
            evaluations.c.verifier,
            evaluations.c.verified_at,
            evaluations.c.verdict["engine"].label("engine"),
        )
        .join(evaluations, evaluations.c.id == evaluation_candidates.c.evaluation_id)
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .where(
            evaluations.c.verifier.is_not(None),
            evaluations.c.verified_at.is_not(None),
            evaluations.c.failure.is_(None),
            evaluation_candidates.c.verdict.is_not(None),
        )
        .order_by(
            evaluations.c.group_id,
            candidates.c.pull_number,
            evaluations.c.verified_at,
            evaluations.c.id,
        )
    )


def _judgement(row: Row[*tuple[object, ...]]) -> Judgement:
    votes = VoteCount(row.votes_correct, row.votes_incorrect, row.votes_none)
    return Judgement(
        judge=Judge(row.verifier, EngineInfo(**row.engine)),
        evaluation=EvaluationId(row.evaluation_id),
        judged_at=row.verified_at,
        patch=row.patch_sha256,
        verdict=Verdict(row.verdict),
        evidence=evidence.of_votes(votes, row.score, row.forced_share, row.consensus, row.verifier),
    )


def _fates(connection: Connection) -> dict[_Pull, list[Fate]]:
    rows = connection.execute(
        select(outcomes, outcome_events.c.occurred_at)
        .join(outcome_events, outcome_events.c.id == outcomes.c.event_id)
        .order_by(outcome_events.c.occurred_at, outcomes.c.id)
    )
    found: dict[_Pull, list[Fate]] = defaultdict(list)
    for row in rows:
        evaluation = None if row.evaluation_id is None else EvaluationId(row.evaluation_id)
        found[row.repository_id, row.pull_number].append(
            Fate(OutcomeKind(row.kind), row.reason, row.permission, evaluation, row.occurred_at)
        )
    return found
