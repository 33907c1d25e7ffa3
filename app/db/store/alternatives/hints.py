"""Hints: what was said against alternatives, until a second attempt is made with it."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, exists, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import attempts, hints
from app.policy.alternative_policy import RefusalReason
from app.values.identifiers import CommitSha
from model.agents.trajectories.guidance import HintSource

_MOST_WORDS = 16_384
"""Characters that are kept: more than an agent is shown."""
_NONE = frozenset({reason.value for reason in RefusalReason if reason.is_temporary})
"""Why attempts end that count for none; of attempts a `stop` is called as its reason is."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What somebody, or something, said against an alternative. Untrusted text."""

    attempt: int
    """Which wrote the alternative."""
    source: HintSource
    words: str
    said_by: str


def save_hint(connection: Connection, hint: Hint) -> None:
    """Keep it for a second attempt. The first word about an attempt stands, for there is one second attempt."""
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
    """Those about attempts at this text with which no second attempt was made yet: first those on these commits, then the oldest.

    Words about a patch hold after its commit was left behind, too. A second attempt that ended through no fault of the
    agent's was none.
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
        Hint(int(row.attempt_id), HintSource(row.source), row.words, row.said_by) for row in rows
    )


def find_hinted(connection: Connection, written_by: Collection[int]) -> frozenset[int]:
    """Those of these attempts against whose alternatives something was said already."""
    rows = connection.scalars(select(hints.c.attempt_id).where(hints.c.attempt_id.in_(written_by)))
    return frozenset(map(int, rows))
