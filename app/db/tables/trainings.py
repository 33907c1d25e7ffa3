"""The table of trainings."""

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import identity, metadata, moment, now

trainings = Table(
    "trainings",
    metadata,
    identity(),
    Column("state", Text, nullable=False),
    Column("stage", Text, nullable=False, comment="dataset, run, evaluate or register"),
    Column("why", Text, nullable=False, comment="why it is in that state"),
    Column("plan", Text, nullable=False, comment="a plan's name or path"),
    Column("digest", Text, nullable=False, comment="of the plan and the settings at its start"),
    Column("folder", Text, nullable=False, comment="on the machine that trains"),
    Column("launcher", Text, nullable=False),
    Column("launches", Integer, nullable=False, comment="starts of the stage at hand"),
    Column("labels", JSONB, comment="counts of its dataset; null: none was built yet"),
    Column("progress", JSONB, nullable=False, comment="the newest metrics of the run"),
    Column("model", Text, comment="registered under this name"),
    now("created_at"),
    now("beat_at"),
    moment("finished_at"),
    CheckConstraint("state in ('running','finished','rejected','skipped','failed')", name="state"),
    Index("uq_trainings_running", "state", unique=True, postgresql_where=text("state = 'running'")),
    comment="of language models; one runs at a time; numbers and paths that name nobody",
)
