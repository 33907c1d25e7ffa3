"""Count what a trained model did as a judge, to compare it with the other models."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, column, select, table
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.schema import (
    candidates,
    evaluation_candidates,
    evaluations,
    models,
    outcomes,
    shadow_verdicts,
)
from app.learning.canary import CanaryStatistics
from model.domain import Verdict

_MOST = 500
"""Newest evaluations that count; more would say the same."""
_CLAIMS = frozenset({Verdict.CORRECT, Verdict.INCORRECT})
_speaker = evaluations.c.verdict["engine"]["model"].astext
# A view, because the judging process may read its own evaluations only.
_judged = table(
    "judged_evaluations",
    *map(column, ("id", "verified_at", "speaker", "asked", "valid", "seconds", "overturned")),
    column("verdicts", JSONB),
)


def read_statistics(
    connection: Connection, model: str, since: datetime
) -> tuple[CanaryStatistics, CanaryStatistics]:
    """Return the counts of votes and verdicts of a model since a time, and those of all other models.

    `model` is the judging model's served name. Only the newest 500 evaluations since the time count, for both results
    together.
    """
    rows = connection.execute(
        select(_judged)
        .where(_judged.c.verified_at >= since)
        .order_by(_judged.c.id.desc())
        .limit(_MOST)
    ).all()
    own = [row for row in rows if row.speaker == model]
    others = [row for row in rows if row.speaker != model]
    return _summarize(own), _summarize(others)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often the verdicts of a shadow model agree with the published verdicts on the same patches."""

    judged: int
    """Number of evaluations that both judged."""
    patches: int
    """Patches that both call correct or incorrect."""
    alike: int
    """Patches that both call correct, or both incorrect."""


def measure_agreement(connection: Connection, model: str) -> Agreement:
    """Count how often the verdicts of the shadow model named `model` agree with the published ones.

    The command `r4p models outcomes` tells which of them were right.
    """
    rows = connection.execute(
        select(evaluations.c.verdict, shadow_verdicts.c.verdict.label("shadow"))
        .join(shadow_verdicts, shadow_verdicts.c.evaluation_id == evaluations.c.id)
        .join(models, models.c.id == shadow_verdicts.c.model_id)
        .where(models.c.name == model)
    ).all()
    pairs = [pair for row in rows for pair in _pair_claims(row.verdict, row.shadow)]
    return Agreement(len(rows), len(pairs), sum(shown == shadow for shown, shadow in pairs))


def has_outcomes(connection: Connection, model: str) -> bool:
    """Return whether a pull request that the model named `model` judged, also as a shadow, has an outcome."""
    heard = evaluations.outerjoin(shadow_verdicts).outerjoin(models)
    query = (
        select(outcomes.c.id)
        .select_from(heard)
        .join(evaluation_candidates, evaluation_candidates.c.evaluation_id == evaluations.c.id)
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .join(
            outcomes,
            (outcomes.c.repository_id == candidates.c.repository_id)
            & (outcomes.c.pull_number == candidates.c.pull_number),
        )
        .where((_speaker == model) | (models.c.name == model))
        .limit(1)
    )
    return connection.scalar(query) is not None


def _pair_claims(shown: dict[str, Any], shadow: dict[str, Any]) -> list[tuple[str, str]]:
    """Pair the verdicts on each patch that both models claim something about."""
    verdicts = {patch["id"]: patch["verdict"] for patch in shadow["patches"]}
    pairs = [(patch["verdict"], verdicts.get(patch["id"], "")) for patch in shown["patches"]]
    return [pair for pair in pairs if _CLAIMS.issuperset(pair)]


def _summarize(rows: Sequence[Row[*tuple[Any, ...]]]) -> CanaryStatistics:
    verdicts = [verdict for row in rows for verdict in row.verdicts]
    return CanaryStatistics(
        judged=len(rows),
        asked=sum(row.asked for row in rows),
        valid=sum(row.valid for row in rows),
        patches=sum(verdict != Verdict.NOT_JUDGED for verdict in verdicts),
        correct=sum(verdict == Verdict.CORRECT for verdict in verdicts),
        overturned=sum(row.overturned for row in rows),
        seconds=sum(row.seconds for row in rows),
    )
