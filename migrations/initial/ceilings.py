"""Create the tables of what installations may use."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import identity, moment

TABLES = ("installation_controls", "purged_usage")
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_installation_controls()
    _create_purged_usage()


def _create_installation_controls() -> None:
    op.create_table(
        "installation_controls",
        sa.Column(
            "installation_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="0: all installations",
        ),
        sa.Column(
            "account_id",
            sa.BigInteger(),
            comment="the account of a removed installation, whose next one inherits this row",
        ),
        moment("paused_at"),
        sa.Column(
            "limits",
            JSONB(),
            server_default=sa.text("'{}'"),
            nullable=False,
            comment="limits that replace the operator's settings, by name",
        ),
        sa.PrimaryKeyConstraint("installation_id", name=op.f("pk_installation_controls")),
        comment="what the operator decided about installations: pauses and limits of their own",
    )
    op.create_index(
        op.f("ix_installation_controls_account_id"), "installation_controls", ["account_id"]
    )


def _create_purged_usage() -> None:
    op.create_table(
        "purged_usage",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "account_id", sa.BigInteger(), comment="the account that owned it; null: not known"
        ),
        sa.Column("day", sa.Date(), nullable=False, comment="in UTC"),
        sa.Column("evaluations", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_purged_usage")),
        comment="what purged repositories used today, so that a repository added again has no new budget",
    )
