"""Complete evaluations that waited for alternatives by agents."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, select, update

from app.db.store.issues import evaluation_alternatives
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation
from app.db.store.issues.fingerprints import compute_fingerprint
from app.db.tables.schema import attempts, evaluations
from app.policy.alternative_policy import RefusalReason
from app.values.identifiers import EvaluationId
from model.voting.grouping import SEATS


def finish(
    connection: Connection,
    evaluation: Evaluation,
    more: Sequence[Alternative],
    lack: RefusalReason | None,
) -> None:
    """Add the agents' new alternatives to an evaluation that waited for them, so that it can be judged.

    `more` are the new alternatives. `lack` says why agents wrote fewer than wanted; None if there are enough. If the
    group has too few seats, a second attempt replaces the attempt that it follows.
    """
    whole = _choose_seated([*evaluation.alternatives, *more], SEATS - len(evaluation.candidates))
    evaluation_alternatives.detach(connection, evaluation.id)
    evaluation_alternatives.attach(connection, evaluation.id, whole, len(evaluation.candidates))
    text = (evaluation.title, evaluation.body)
    connection.execute(
        update(evaluations)
        .where(evaluations.c.id == evaluation.id)
        .values(
            alternatives_wanted=0,
            alternatives_lack=lack,
            fingerprint=compute_fingerprint(text, evaluation.candidates, whole),
        )
    )


def _choose_seated(whole: Sequence[Alternative], free: int) -> list[Alternative]:
    replaced = {alternative.guided_by for alternative in whole}
    leave = [alternative.attempt for alternative in whole if alternative.attempt in replaced][
        : max(0, len(whole) - free)
    ]
    return [alternative for alternative in whole if alternative.attempt not in leave]


def count_today(connection: Connection, group: int) -> int:
    """Count agents' attempts since midnight UTC in the group with the id `group`, on any issue text and commit."""
    rows = select(func.count()).where(
        attempts.c.group_id == group,
        attempts.c.created_at >= func.date_trunc("day", func.now(), "UTC"),
    )
    return int(connection.execute(rows).scalar_one())


def find_awaited(
    connection: Connection, identities: Collection[EvaluationId]
) -> frozenset[EvaluationId]:
    """Return those of the evaluation ids `identities` that are still to be judged.

    Their source trees are for the agents, and after the agents for a judge whose prompt shows code.
    """
    waiting = connection.scalars(
        select(evaluations.c.id).where(
            evaluations.c.id.in_(identities), evaluations.c.state == "collected"
        )
    )
    return frozenset(EvaluationId(identity) for identity in waiting)
