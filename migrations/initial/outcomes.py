"""Create the tables of outcomes and label checks."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, identity, now

TABLES = ("outcome_events", "outcomes", "label_checks")
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_outcome_events()
    _create_indexes_of_outcome_events()
    _create_outcomes()
    _create_label_checks()


def _create_outcome_events() -> None:
    op.create_table(
        "outcome_events",
        identity(),
        sa.Column("source", sa.Text(), nullable=False, comment="unique name of the source"),
        sa.Column("delivery_guid", sa.Text()),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("issue_number", sa.BigInteger()),
        sa.Column("pull_number", sa.BigInteger()),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text()),
        sa.Column("actor_id", sa.BigInteger()),
        sa.Column(
            "permission",
            sa.Text(),
            comment="permission at that time; app: none applies; null: unknown",
        ),
        sa.Column("permission_asked_at", sa.DateTime(timezone=True), comment="time of the answer"),
        sa.Column(
            "head_sha",
            sa.Text(),
            comment="null: about the heads that evaluation_id judged, if any",
        ),
        sa.Column(
            "evaluation_id", sa.BigInteger(), comment="evaluation that was public then; null: none"
        ),
        sa.Column("data", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        belongs_to("outcome_events", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outcome_events")),
        sa.UniqueConstraint("source", name=op.f("uq_outcome_events_source")),
        comment="raw events; outcomes and labels can be derived from them again",
    )


def _create_indexes_of_outcome_events() -> None:
    op.create_index("ix_outcome_events_head", "outcome_events", ["repository_id", "head_sha"])
    op.create_index(
        "ix_outcome_events_issue",
        "outcome_events",
        ["repository_id", "issue_number", "id"],
        unique=False,
    )
    op.create_index(
        "ix_outcome_events_pull",
        "outcome_events",
        ["repository_id", "pull_number", "id"],
        unique=False,
    )


def _create_outcomes() -> None:
    op.create_table(
        "outcomes",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), comment="reason of the outcome; null: unknown"),
        sa.Column(
            "value", sa.Float(), comment="a share for survival, a number of people for reactions"
        ),
        sa.Column("head_sha", sa.Text(), comment="head commit that the outcome is about"),
        sa.Column("actor", sa.Text()),
        sa.Column("permission", sa.Text()),
        sa.Column(
            "evaluation_id", sa.BigInteger(), comment="evaluation that was public then; null: none"
        ),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_version", sa.Integer(), nullable=False),
        now("derived_at"),
        belongs_to("outcomes", "event_id", "outcome_events"),
        belongs_to("outcomes", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outcomes")),
        sa.UniqueConstraint(
            "repository_id",
            "pull_number",
            "kind",
            "event_id",
            name=op.f("uq_outcomes_repository_id_pull_number_kind_event_id"),
        ),
        comment="outcomes, derived from outcome_events by a versioned rule",
    )
    op.create_index(op.f("ix_outcomes_event_id"), "outcomes", ["event_id"])


def _create_label_checks() -> None:
    op.create_table(
        "label_checks",
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("patch_sha256", sa.Text(), nullable=False),
        sa.Column("is_correct", sa.Boolean(), nullable=False),
        now("checked_at"),
        belongs_to("label_checks", "group_id", "groups"),
        sa.PrimaryKeyConstraint(
            "group_id", "pull_number", "patch_sha256", name=op.f("pk_label_checks")
        ),
        comment="people's answers whether a patch is correct; they measure the labels",
    )
