"""Tables of raw outcome events, derived outcomes and label checks."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import belongs_to, identity, metadata, now
from app.db.tables.groups import groups, repositories

outcome_events = Table(
    "outcome_events",
    metadata,
    identity(),
    Column("source", Text, nullable=False, unique=True, comment="unique name of the source"),
    Column("delivery_guid", Text),
    belongs_to("repository_id", repositories),
    Column("issue_number", BigInteger),
    Column("pull_number", BigInteger),
    Column("kind", Text, nullable=False),
    Column("actor", Text),
    Column("actor_id", BigInteger),
    Column("permission", Text, comment="permission at that time; app: none applies; null: unknown"),
    Column("permission_asked_at", DateTime(timezone=True), comment="time of the answer"),
    Column("head_sha", Text, comment="null: about the heads that evaluation_id judged, if any"),
    Column("evaluation_id", BigInteger, comment="evaluation that was public then; null: none"),
    Column("data", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("occurred_at", DateTime(timezone=True), nullable=False),
    Index("ix_outcome_events_pull", "repository_id", "pull_number", "id"),
    Index("ix_outcome_events_issue", "repository_id", "issue_number", "id"),
    Index("ix_outcome_events_head", "repository_id", "head_sha"),
    comment="raw events; outcomes and labels can be derived from them again",
)

outcomes = Table(
    "outcomes",
    metadata,
    identity(),
    belongs_to("repository_id", repositories),
    Column("pull_number", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("reason", Text, comment="reason of the outcome; null: unknown"),
    Column("value", Float, comment="a share for survival, a number of people for reactions"),
    Column("head_sha", Text, comment="head commit that the outcome is about"),
    Column("actor", Text),
    Column("permission", Text),
    Column("evaluation_id", BigInteger, comment="evaluation that was public then; null: none"),
    belongs_to("event_id", outcome_events, index=True),
    Column("rule_version", Integer, nullable=False),
    now("derived_at"),
    UniqueConstraint("repository_id", "pull_number", "kind", "event_id"),
    comment="outcomes, derived from outcome_events by a versioned rule",
)

label_checks = Table(
    "label_checks",
    metadata,
    belongs_to("group_id", groups, primary_key=True),
    Column("pull_number", BigInteger, primary_key=True, autoincrement=False),
    Column("patch_sha256", Text, primary_key=True),
    Column("is_correct", Boolean, nullable=False),
    now("checked_at"),
    comment="people's answers whether a patch is correct; they measure the labels",
)
