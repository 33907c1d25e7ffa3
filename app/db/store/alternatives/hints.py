"""Store hints: criticism of alternatives for second attempts."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, exists, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import attempts, hints
from app.policy.alternative_policy import RefusalReason
from app.values.identifiers import CommitSha
from model.agents.trajectories.guidance import HintSource

_MOST_WORDS = 16_384
"""Most characters that are kept, more than an agent sees."""
_NONE = frozenset({reason.value for reason in RefusalReason if reason.is_temporary})
"""Ends of attempts that do not count; an attempt's `stop` has the reason's name."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Criticism of an alternative that guides its second attempt. Untrusted text."""

    attempt: int
    """Id of the attempt that wrote the alternative."""
    source: HintSource
    words: str
    said_by: str
    """A person's login, or the name of the check or verifier."""


def save_hint(connection: Connection, hint: Hint) -> None:
    """Save a hint, unless the database has one already about the same attempt, `hint.attempt`.

    Each attempt gets at most one second attempt.
    """
    statement = insert(hints).values(
        attempt_id=hint.attempt,
        source=hint.source.value,
        words=hint.words[:_MOST_WORDS],
        said_by=hint.said_by,
    )
    connection.execute(statement.on_conflict_do_nothing())


def find_due(
    connection: Connection, group: int, bases: Collection[CommitSha], issue_sha256: str
) -> tuple[Hint, ...]:
    """Return a group's hints on one text of the issue that have no second attempt yet.

    Hints about attempts on the commits `bases` come first, then the oldest. `group` is the group's id, and
    `issue_sha256` the SHA-256 of the text. A second attempt that ended through no fault of the agent does not count.
    """
    second = attempts.alias()
    rows = connection.execute(
        select(hints)
        .join(attempts, attempts.c.id == hints.c.attempt_id)
        .where(
            attempts.c.group_id == group,
            attempts.c.issue_sha256 == issue_sha256,
            ~exists().where(second.c.guided_by == hints.c.attempt_id, second.c.stop.not_in(_NONE)),
        )
        .order_by(attempts.c.base_sha.in_(bases).desc(), hints.c.created_at, hints.c.attempt_id)
    )
    return tuple(
        Hint(row.attempt_id, HintSource(row.source), row.words, row.said_by) for row in rows
    )


def find_hinted(connection: Connection, written_by: Collection[int]) -> frozenset[int]:
    """Return those attempt ids in `written_by` about which the database has a hint."""
    rows = connection.scalars(select(hints.c.attempt_id).where(hints.c.attempt_id.in_(written_by)))
    return frozenset(map(int, rows))
