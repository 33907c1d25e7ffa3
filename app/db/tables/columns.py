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
    """Build a table's primary key: the bigint column `id`, which PostgreSQL numbers itself."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def now(name: str) -> Column[object]:
    """Build the time column `name`, never null; PostgreSQL fills it with the time of the inserting transaction."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def moment(name: str) -> Column[object]:
    """Build the time column `name`, with time zone; it may be null and has no default."""
    return Column(name, DateTime(timezone=True))


def belongs_to(name: str, owner: Table, **options: Any) -> Column[int]:
    """Build the foreign key column `name`, never null: the id of a row in the table `owner`.

    Deleting the owner's row deletes the row that refers to it. `options` go to SQLAlchemy's `Column`, such as
    `primary_key=True`.
    """
    key = ForeignKey(owner.c.id, ondelete="CASCADE")
    return Column(name, BigInteger, key, nullable=False, **options)
