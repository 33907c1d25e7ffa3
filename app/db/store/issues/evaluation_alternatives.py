"""Store alternatives in the evaluations that judge them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Select, delete, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import attempts, evaluation_alternatives, patches
from app.policy.alternative_policy import format_alternative_id
from app.values.identifiers import AlternativeNumber, CommitSha, EvaluationId
from model.domain import PatchId


@dataclass(frozen=True, slots=True)
class Alternative:
    """A patch that an agent of the bot wrote for an issue, without a pull request."""

    attempt: int
    """Id of the attempt that wrote the patch."""
    number: AlternativeNumber
    """Number within the group."""
    agent: str
    model: str
    steps: int
    base_sha: CommitSha
    diff: str
    guided_by: int | None = None
    """Id of the attempt that its hint was about; None without a hint."""

    @property
    def id(self) -> PatchId:
        """Return the alternative's name among the rivals, such as `A1`."""
        return format_alternative_id(self.number)


def list_of_group(
    connection: Connection, group: int, bases: Collection[CommitSha], issue_sha256: str
) -> tuple[Alternative, ...]:
    """List a group's alternatives that agents wrote for one issue text on any of the commits `bases`, by number.

    `group` is the group's id, and `issue_sha256` the SHA-256 of the issue's text.
    """
    query = _select().where(
        attempts.c.group_id == group,
        attempts.c.number.is_not(None),
        attempts.c.base_sha.in_(bases),
        attempts.c.issue_sha256 == issue_sha256,
    )
    return _load_all(connection, query)


def list_of_evaluation(connection: Connection, identity: EvaluationId) -> tuple[Alternative, ...]:
    """List the alternatives of the evaluation `identity`, by number."""
    query = (
        _select()
        .join(evaluation_alternatives, evaluation_alternatives.c.attempt_id == attempts.c.id)
        .where(evaluation_alternatives.c.evaluation_id == identity)
    )
    return _load_all(connection, query)


def attach(
    connection: Connection, identity: EvaluationId, alternatives: Sequence[Alternative], after: int
) -> None:
    """Add alternatives to the evaluation `identity`, at the positions `after`, `after` + 1 and so on.

    `after` is the number of the evaluation's candidates. Alternatives that it already has do not change.
    """
    for position, alternative in enumerate(alternatives, after):
        connection.execute(
            insert(evaluation_alternatives)
            .values(evaluation_id=identity, attempt_id=alternative.attempt, position=position)
            .on_conflict_do_nothing()
        )


def detach(connection: Connection, identity: EvaluationId) -> None:
    """Remove all alternatives from the evaluation `identity`. The attempts that wrote them stay stored."""
    connection.execute(
        delete(evaluation_alternatives).where(evaluation_alternatives.c.evaluation_id == identity)
    )


def _select() -> Select[*tuple[object, ...]]:
    return (
        select(attempts, patches.c.diff)
        .join(patches, patches.c.sha256 == attempts.c.patch_sha256)
        .order_by(attempts.c.number)
    )


def _load_all(
    connection: Connection, query: Select[*tuple[object, ...]]
) -> tuple[Alternative, ...]:
    return tuple(_build_alternative(row) for row in connection.execute(query))


def _build_alternative(row: Row[*tuple[object, ...]]) -> Alternative:
    return Alternative(
        attempt=row.id,
        number=row.number,
        agent=row.agent,
        model=row.model,
        steps=row.steps,
        base_sha=row.base_sha,
        diff=bytes(row.diff).decode(),
        guided_by=row.guided_by,
    )
