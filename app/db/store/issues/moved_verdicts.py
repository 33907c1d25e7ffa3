"""Move a verdict to an evaluation of the same patches at other heads, so that nobody draws fresh votes by pushing blanks."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Table, func, select, update

from app.db.store.issues import candidates as candidate_store
from app.db.store.issues import evaluations as evaluation_store
from app.db.store.issues.evaluations import Evaluation, patch_id
from app.db.tables.schema import evaluation_alternatives, evaluation_candidates, evaluations
from app.db.tables.verdicts import build_opinion_columns
from app.jobs.job import Json
from app.values.identifiers import EvaluationId

_OPINION = tuple(column.name for column in build_opinion_columns() if column.name != "position")


def find_first_equal(connection: Connection, evaluation: Evaluation) -> Evaluation:
    """Return the group's first evaluation with the content of `evaluation`, whose texts every vote on it reads."""
    return _find_equal(connection, evaluation, evaluations.c.id.asc()) or evaluation


def move_verdict(connection: Connection, evaluation: Evaluation) -> bool:
    """Give `evaluation` the last real verdict on the same content of its group, and mark it `verified`.

    Return False, changing nothing, when there is no such verdict. The votes stay with the evaluation that drew them.
    """
    source = _find_equal(connection, evaluation, evaluations.c.id.desc())
    if source is None:
        return False
    origins = candidate_store.map_ids_by_pull(connection, source.id)
    for pull, candidate in candidate_store.map_ids_by_pull(connection, evaluation.id).items():
        origin = {"evaluation_id": source.id, "candidate_id": origins[pull]}
        key = {"evaluation_id": evaluation.id, "candidate_id": candidate}
        _copy_opinion(connection, evaluation_candidates, origin, key)
    for attempt in (alternative.attempt for alternative in evaluation.alternatives):
        origin = {"evaluation_id": source.id, "attempt_id": attempt}
        key = {"evaluation_id": evaluation.id, "attempt_id": attempt}
        _copy_opinion(connection, evaluation_alternatives, origin, key)
    verifier = select(evaluations.c.verifier).where(evaluations.c.id == source.id)
    connection.execute(
        update(evaluations)
        .where(evaluations.c.id == evaluation.id)
        .values(
            state="verified",
            verifier=verifier.scalar_subquery(),
            verdict=_rename_heads(source, evaluation),
            moved_from=source.moved_from or source.id,
            verified_at=func.now(),
        )
    )
    return True


def _rename_heads(source: Evaluation, evaluation: Evaluation) -> Json:
    """Return the document of `source` with the heads of `evaluation`."""
    document = cast("dict[str, Any]", source.verdict)
    heads = {patch_id(candidate.pull): candidate.head_sha for candidate in evaluation.candidates}
    patches = [
        {**patch, "head_sha": heads.get(patch["id"], patch["head_sha"])}
        for patch in document["patches"]
    ]
    return {**document, "patches": patches}


def is_judged(connection: Connection, group: int, fingerprint: str) -> bool:
    """Return whether the group with id `group` has a real verdict on the content with this fingerprint."""
    judged = select(evaluations.c.id).where(*_match_judged(group, fingerprint)).limit(1)
    return connection.scalar(judged) is not None


def _match_judged(group: int, fingerprint: str) -> tuple[ColumnElement[bool], ...]:
    return (
        evaluations.c.group_id == group,
        evaluations.c.fingerprint == fingerprint,
        evaluations.c.verified_at.is_not(None),
        evaluations.c.failure.is_(None),
    )


def _find_equal(
    connection: Connection, evaluation: Evaluation, order: ColumnElement[EvaluationId]
) -> Evaluation | None:
    """Find another judged evaluation of the same content in the group; the first one by `order`."""
    identity = connection.scalar(
        select(evaluations.c.id)
        .where(
            evaluations.c.id < evaluation.id,
            *_match_judged(evaluation.group, evaluation.fingerprint),
        )
        .order_by(order)
        .limit(1)
    )
    return None if identity is None else evaluation_store.load(connection, identity)


def _copy_opinion(
    connection: Connection, table: Table, origin: Mapping[str, int], key: Mapping[str, int]
) -> None:
    """Copy the opinion columns of a row of `table` to another one; `origin` and `key` hold the key columns."""
    columns = [table.c[name] for name in _OPINION]
    is_origin = [table.c[name] == value for name, value in origin.items()]
    row = connection.execute(select(*columns).where(*is_origin)).one()
    candidate_store.save_opinion(connection, table, key, row._asdict())
