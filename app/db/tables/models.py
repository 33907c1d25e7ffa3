"""Tables of trained models and their aliases, shadow verdicts, trainings and calibrators."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
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
