"""Proposals: what becomes of an evaluation that waited for our own agents."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, select, update

from app.db.store.issues import evaluation_alternatives
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation, fingerprint
from app.db.tables.schema import attempts, evaluations
from app.policy.alternative_policy import WhyNot
from app.values.identifiers import EvaluationId
from model.voting.grouping import SEATS


def finish(
    connection: Connection, evaluation: Evaluation, more: Sequence[Alternative], lack: WhyNot | None
) -> None:
    """The agents are done: beside what it had the evaluation has these, and it can be judged.

    `lack` says why there are fewer than wanted. Those that a second attempt replaces leave where seats are short.
    """
    whole = _seated([*evaluation.alternatives, *more], SEATS - len(evaluation.judged))
    evaluation_alternatives.detach(connection, evaluation.id)
    evaluation_alternatives.attach(connection, evaluation.id, whole, len(evaluation.judged))
    text = (evaluation.title, evaluation.body)
    pulls = [judged.candidate for judged in evaluation.judged]
    connection.execute(
        update(evaluations)
        .where(evaluations.c.id == evaluation.id)
        .values(
            alternatives_wanted=0,
            alternatives_lack=lack,
            fingerprint=fingerprint(text, pulls, whole),
        )
    )


def _seated(whole: Sequence[Alternative], free: int) -> list[Alternative]:
    replaced = {one.guided_by for one in whole}
    leave = [one.attempt for one in whole if one.attempt in replaced][: max(0, len(whole) - free)]
    return [one for one in whole if one.attempt not in leave]


def made_today(connection: Connection, group: int) -> int:
    """Attempts at an issue since the day began, in UTC, whatever its text and its commits were."""
    rows = select(func.count()).where(
        attempts.c.group_id == group,
        attempts.c.created_at >= func.date_trunc("day", func.now(), "UTC"),
    )
    return int(connection.execute(rows).scalar_one())


def awaited(
    connection: Connection, identities: Collection[EvaluationId]
) -> frozenset[EvaluationId]:
    """Those of these evaluations that wait for agents."""
    found = connection.scalars(
        select(evaluations.c.id).where(
            evaluations.c.id.in_(identities),
            evaluations.c.state == "collected",
            evaluations.c.alternatives_wanted > 0,
        )
    )
    return frozenset(EvaluationId(one) for one in found)
