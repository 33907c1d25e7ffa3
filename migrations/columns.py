"""What revisions say again and again. A revision that ran must go on meaning the same: add here, change nothing."""

import sqlalchemy as sa
from alembic import op


def identity() -> sa.Column[int]:
    """A number of our own."""
    return sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False)


def now(name: str) -> sa.Column[object]:
    """When a row was made or changed; never null."""
    return sa.Column(
        name, sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
    )


def moment(name: str) -> sa.Column[object]:
    """A moment that may not have come yet."""
    return sa.Column(name, sa.DateTime(timezone=True))


def belongs_to(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    """A row of `table` goes when the row of `owner` that `column` names does."""
    name = op.f(f"fk_{table}_{column}_{owner}")
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=name, ondelete="CASCADE")
