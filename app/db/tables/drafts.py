"""Table of the draft pull requests that people asked for."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Table,
    Text,
    UniqueConstraint,
)

from app.db.tables.attempts import attempts
from app.db.tables.columns import identity, metadata, now
from app.db.tables.groups import repositories

drafts = Table(
    "drafts",
    metadata,
    identity(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column(
        "attempt_id",
        BigInteger,
        ForeignKey(attempts.c.id, ondelete="CASCADE"),
        nullable=False,
        unique=True,
        comment="which wrote the alternative",
    ),
    Column("asked_in", Text, nullable=False, comment="the comment or review that asked last"),
    Column("asked_under", BigInteger, nullable=False),
    Column("asked_by", Text, nullable=False),
    Column("pull_number", BigInteger, comment="null: it is not open yet"),
    Column("not_opened", Text, comment="why the last attempt came to nothing"),
    now("created_at"),
    UniqueConstraint("repository_id", "pull_number"),
    comment="draft pull requests of alternatives: ours, so nobody's rivals",
)
