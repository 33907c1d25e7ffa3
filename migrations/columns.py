"""Columns and keys that revisions repeat. Add here and change nothing: a revision must keep its meaning."""

import sqlalchemy as sa
from alembic import op


def identity() -> sa.Column[int]:
    """Build a generated id column."""
    return sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False)


def now(name: str) -> sa.Column[object]:
    """Build a column for the time of a row; never null."""
    return sa.Column(
        name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
    )


def moment(name: str) -> sa.Column[object]:
    """Build a column for a time that may be null."""
    return sa.Column(name, sa.DateTime(timezone=True))


def belongs_to(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    """Build a foreign key: deleting the owner deletes the row."""
    name = op.f(f"fk_{table}_{column}_{owner}")
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=name, ondelete="CASCADE")


def opinion() -> list[sa.Column[object]]:
    """Build the columns of a patch's position and verdict."""
    return [
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.Text(), comment="null: not yet judged"),
        sa.Column("probability", sa.Float()),
        sa.Column("votes_correct", sa.Integer()),
        sa.Column("votes_incorrect", sa.Integer()),
        sa.Column("votes_none", sa.Integer()),
        sa.Column("score", sa.Float(), comment="evidence: the model's belief; null: unreadable"),
        sa.Column(
            "forced_share", sa.Float(), comment="evidence: share of votes with a forced answer"
        ),
        sa.Column("consensus", sa.Float(), comment="evidence: the belief of the consensus model"),
        sa.Column("reason", sa.Text()),
    ]
