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

from app.db.tables.columns import belongs_to, identity, metadata, moment, now
from app.db.tables.groups import installations
from app.db.tables.verdicts import evaluations

models = Table(
    "models",
    metadata,
    identity(),
    Column("name", Text, nullable=False, unique=True, comment="served name of exactly these bytes"),
    Column("base", Text, nullable=False, comment="served name of the base model"),
    Column("verifier", Text, nullable=False, comment="verifier of its prompt"),
    Column("run", Text, nullable=False, comment="folder of the run that trained it"),
    Column("directory", Text, nullable=False, comment="adapter folder, as the servers see it"),
    Column("sha256", Text, nullable=False, comment="SHA-256 of the adapter's files"),
    Column("state", Text, nullable=False),
    Column("why", Text, nullable=False, comment="reason of the state"),
    Column("share", Float, comment="share of the issues that it judges as a canary"),
    Column("gate", JSONB, nullable=False, comment="r4p.gate/1"),
    Column("evaluation", JSONB, comment="r4p.evaluation/1; null: no evaluation"),
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
    comment="trained adapters; the rows hold no personal data",
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
        comment="null: no model; the model of the settings is then the champion",
    ),
    Column("why", Text, nullable=False),
    now("created_at"),
    comment="log of alias changes; the newest row of an alias is valid",
)

shadow_verdicts = Table(
    "shadow_verdicts",
    metadata,
    belongs_to("evaluation_id", evaluations, primary_key=True),
    Column("model_id", BigInteger, ForeignKey(models.c.id), primary_key=True),
    Column("verdict", JSONB, nullable=False, comment="r4p.verdict/1; never published"),
    now("created_at"),
    comment="verdicts of shadow models, to compare with outcomes",
)


trainings = Table(
    "trainings",
    metadata,
    identity(),
    Column("state", Text, nullable=False),
    Column("stage", Text, nullable=False, comment="dataset, run, evaluate or register"),
    Column("why", Text, nullable=False, comment="reason of the state"),
    Column("plan", Text, nullable=False, comment="a plan's name or path"),
    Column("digest", Text, nullable=False, comment="hash of plan and settings at the start"),
    Column("folder", Text, nullable=False, comment="folder on the training machine"),
    Column("launcher", Text, nullable=False),
    Column("launches", Integer, nullable=False, comment="starts of the present stage"),
    Column("labels", JSONB, comment="label counts of its dataset; null: not built yet"),
    Column("progress", JSONB, nullable=False, comment="the newest metrics of the run"),
    Column("model", Text, comment="name of the registered model; null: none"),
    now("created_at"),
    now("beat_at"),
    moment("finished_at"),
    CheckConstraint("state in ('running','finished','rejected','skipped','failed')", name="state"),
    Index("uq_trainings_running", "state", unique=True, postgresql_where=text("state = 'running'")),
    comment="trainings of language models, one at a time; the rows hold no personal data",
)


calibrators = Table(
    "calibrators",
    metadata,
    identity(),
    Column("verifier", Text, nullable=False, comment="name in the catalogue"),
    Column("engine", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_fingerprint", Text, nullable=False),
    Column(
        "installation_id",
        BigInteger,
        ForeignKey(installations.c.id, ondelete="CASCADE"),
        comment="null: shared by all",
    ),
    Column(
        "state",
        Text,
        nullable=False,
        comment="at most one calibrator of a judge and an installation is active",
    ),
    Column("why", Text, nullable=False, comment="why it is active or refused"),
    Column("document", JSONB, nullable=False, comment="r4p.calibrator/1"),
    Column(
        "label_rule",
        Integer,
        nullable=False,
        comment="version of the label rules; 0: fitted from a file",
    ),
    Column("issues", Integer, nullable=False, comment="number of fitted issues"),
    Column("correct", Integer, nullable=False),
    Column("incorrect", Integer, nullable=False),
    Column("seen", JSONB, nullable=False, comment="ids of the fitted groups"),
    Column("brier", Float, nullable=False, comment="score on held-out issues; lower is better"),
    now("created_at"),
    CheckConstraint("state in ('active','refused','retired')", name="state"),
    Index(
        "uq_calibrators_active",
        "verifier",
        "engine",
        "model",
        "prompt_fingerprint",
        "installation_id",
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=text("state = 'active'"),
    ),
    comment="calibrators fitted on outcomes; the rows hold no personal data",
)
