"""Tables of trained models, their aliases and shadow verdicts."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import identity, metadata, moment, now
from app.db.tables.verdicts import evaluations

models = Table(
    "models",
    metadata,
    identity(),
    Column("name", Text, nullable=False, unique=True, comment="served as; of these bytes for ever"),
    Column("base", Text, nullable=False, comment="served name of the model that it adapts"),
    Column("verifier", Text, nullable=False, comment="whose prompt it was trained on"),
    Column("run", Text, nullable=False, comment="folder of the run that trained it"),
    Column("directory", Text, nullable=False, comment="of the adapter, as the servers read it"),
    Column("sha256", Text, nullable=False, comment="of the adapter's two files"),
    Column("state", Text, nullable=False),
    Column("why", Text, nullable=False, comment="why it is in that state"),
    Column("share", Float, comment="of the issues that it judges as a canary"),
    Column("gate", JSONB, nullable=False, comment="r4p.gate/1"),
    Column("evaluation", JSONB, comment="r4p.evaluation/1; null: there was none"),
    now("created_at"),
    moment("changed_at"),
    CheckConstraint(
        "state in ('candidate','rejected','shadow','canary','champion','retired')", name="state"
    ),
    Index("uq_models_bytes", "sha256", "base", unique=True),
    Index(
        "uq_models_in_line",
        "state",
        unique=True,
        postgresql_where=text("state in ('shadow','canary','champion')"),
    ),
    comment="adapters that were trained; numbers and paths that name nobody",
)

model_aliases = Table(
    "model_aliases",
    metadata,
    identity(),
    Column("alias", Text, nullable=False, index=True, comment="champion, canary or shadow"),
    Column(
        "model_id",
        BigInteger,
        ForeignKey(models.c.id),
        comment="null: nobody, which for the champion is the model of the settings",
    ),
    Column("why", Text, nullable=False),
    now("created_at"),
    comment="every move of an alias, none is ever changed; the newest row of each counts",
)

shadow_verdicts = Table(
    "shadow_verdicts",
    metadata,
    Column(
        "evaluation_id",
        BigInteger,
        ForeignKey(evaluations.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("model_id", BigInteger, ForeignKey(models.c.id), primary_key=True),
    Column("verdict", JSONB, nullable=False, comment="r4p.verdict/1, shown to nobody"),
    now("created_at"),
    comment="what a shadow says of what others judge, to be held against outcomes",
)
