"""Table of what was said against alternatives."""

from sqlalchemy import BigInteger, Column, ForeignKey, Table, Text

from app.db.tables.attempts import attempts
from app.db.tables.columns import metadata, now

hints = Table(
    "hints",
    metadata,
    Column(
        "attempt_id",
        BigInteger,
        ForeignKey(attempts.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="which wrote the alternative",
    ),
    Column("source", Text, nullable=False, comment="who speaks: maintainer, check, verdict"),
    Column("words", Text, nullable=False),
    Column("said_by", Text, nullable=False, comment="the login, the check or the verifier"),
    now("created_at"),
    comment="what was said against an alternative; one second attempt is made with it",
)
