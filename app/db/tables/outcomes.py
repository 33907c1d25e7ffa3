"""Tables of raw outcome events, derived outcomes and label checks."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import identity, metadata, now
from app.db.tables.groups import groups, repositories

outcome_events = Table(
    "outcome_events",
    metadata,
    identity(),
    Column("source", Text, nullable=False, unique=True, comment="what it was read from, once"),
    Column("delivery_guid", Text),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("issue_number", BigInteger),
    Column("pull_number", BigInteger),
    Column("kind", Text, nullable=False),
    Column("actor", Text),
    Column("actor_id", BigInteger),
    Column("permission", Text, comment="at that time; app: none applies; null: not known"),
    Column("permission_asked_at", DateTime(timezone=True), comment="when GitHub told it"),
    Column("head_sha", Text, comment="null: it is about the heads judged in evaluation_id, if any"),
    Column("evaluation_id", BigInteger, comment="the verdict that was public then; null: none"),
    Column("data", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("occurred_at", DateTime(timezone=True), nullable=False),
    Index("ix_outcome_events_pull", "repository_id", "pull_number", "id"),
    Index("ix_outcome_events_issue", "repository_id", "issue_number", "id"),
    Index("ix_outcome_events_head", "repository_id", "head_sha"),
    comment="raw events, kept as they came; labels are derived and can be derived again",
)

outcomes = Table(
    "outcomes",
    metadata,
    identity(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("pull_number", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("reason", Text, comment="what is known of why"),
    Column("value", Float, comment="a share for survival, a number of people for reactions"),
    Column("head_sha", Text, comment="the pull request's own head that this is about"),
    Column("actor", Text),
    Column("permission", Text),
    Column("evaluation_id", BigInteger, comment="the verdict on it that was public then"),
    Column(
        "event_id",
        BigInteger,
        ForeignKey(outcome_events.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("rule_version", Integer, nullable=False),
    now("derived_at"),
    UniqueConstraint("repository_id", "pull_number", "kind", "event_id"),
    comment="derived from raw events by a versioned rule",
)

label_checks = Table(
    "label_checks",
    metadata,
    Column("group_id", BigInteger, ForeignKey(groups.c.id, ondelete="CASCADE"), primary_key=True),
    Column("pull_number", BigInteger, primary_key=True, autoincrement=False),
    Column("patch_sha256", Text, primary_key=True),
    Column("is_correct", Boolean, nullable=False),
    now("checked_at"),
    comment="the truth about patches that somebody looked at; measures what labels are worth",
)
