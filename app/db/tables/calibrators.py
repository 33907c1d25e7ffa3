"""The table of calibrators."""

from sqlalchemy import CheckConstraint, Column, Float, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import identity, metadata, now

calibrators = Table(
    "calibrators",
    metadata,
    identity(),
    Column("verifier", Text, nullable=False, comment="its name in the catalogue"),
    Column("engine", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_fingerprint", Text, nullable=False),
    Column("state", Text, nullable=False, comment="of one judge, one is active at most"),
    Column("why", Text, nullable=False, comment="why it was put into use, or was not"),
    Column("document", JSONB, nullable=False, comment="r4p.calibrator/1"),
    Column(
        "label_rule",
        Integer,
        nullable=False,
        comment="version of the rule of labels; 0: from a file",
    ),
    Column("issues", Integer, nullable=False, comment="history it was fitted on"),
    Column("correct", Integer, nullable=False),
    Column("incorrect", Integer, nullable=False),
    Column("seen", JSONB, nullable=False, comment="the groups of that history"),
    Column("brier", Float, nullable=False, comment="on issues held out; lower is better"),
    now("created_at"),
    CheckConstraint("state in ('active','refused','retired')", name="state"),
    Index(
        "uq_calibrators_active",
        "verifier",
        "engine",
        "model",
        "prompt_fingerprint",
        unique=True,
        postgresql_where=text("state = 'active'"),
    ),
    comment="fitted on what became of judged patches; a few numbers that name nobody",
)
