"""The SQLAlchemy metadata of all tables, and the columns that many tables have."""

from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Identity, MetaData, Table, func

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def identity() -> Column[int]:
    """Build the generated id column of a table."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def now(name: str) -> Column[object]:
    """Build a time column that defaults to the time of the insert; never null."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def moment(name: str) -> Column[object]:
    """Build a time column that may be null."""
    return Column(name, DateTime(timezone=True))


def belongs_to(name: str, owner: Table, **options: Any) -> Column[int]:
    """Build a column with the id of an owner: deleting the owner deletes the row; never null."""
    key = ForeignKey(owner.c.id, ondelete="CASCADE")
    return Column(name, BigInteger, key, nullable=False, **options)
