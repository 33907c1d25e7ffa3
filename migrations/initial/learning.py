"""Create the tables of calibrators, trained models and trainings."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, identity, moment, now

TABLES = ("calibrators", "models", "model_aliases", "shadow_verdicts", "trainings")
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _calibrators()
    _models()
    _model_aliases()
    _shadow_verdicts()
    _trainings()


def _calibrators() -> None:
    op.create_table(
        "calibrators",
        identity(),
        sa.Column("verifier", sa.Text(), nullable=False, comment="its name in the catalogue"),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_fingerprint", sa.Text(), nullable=False),
        sa.Column(
            "state", sa.Text(), nullable=False, comment="of one judge, one is active at most"
        ),
        sa.Column("why", sa.Text(), nullable=False, comment="why it was put into use, or was not"),
        sa.Column("document", JSONB(), nullable=False, comment="r4p.calibrator/1"),
        sa.Column(
            "label_rule",
            sa.Integer(),
            nullable=False,
            comment="version of the rule of labels; 0: from a file",
        ),
        sa.Column("issues", sa.Integer(), nullable=False, comment="history it was fitted on"),
        sa.Column("correct", sa.Integer(), nullable=False),
        sa.Column("incorrect", sa.Integer(), nullable=False),
        sa.Column("seen", JSONB(), nullable=False, comment="the groups of that history"),
        sa.Column(
            "brier", sa.Float(), nullable=False, comment="on issues held out; lower is better"
        ),
        now("created_at"),
        sa.CheckConstraint(
            "state in ('active','refused','retired')", name=op.f("ck_calibrators_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrators")),
        comment="fitted on what became of judged patches; a few numbers that name nobody",
    )
    op.create_index(
        "uq_calibrators_active",
        "calibrators",
        ["verifier", "engine", "model", "prompt_fingerprint"],
        unique=True,
        postgresql_where=sa.text("state = 'active'"),
    )


def _models() -> None:
    op.create_table(
        "models",
        identity(),
        sa.Column("name", sa.Text(), nullable=False, comment="served as; of these bytes for ever"),
        sa.Column(
            "base", sa.Text(), nullable=False, comment="served name of the model that it adapts"
        ),
        sa.Column("verifier", sa.Text(), nullable=False, comment="whose prompt it was trained on"),
        sa.Column("run", sa.Text(), nullable=False, comment="folder of the run that trained it"),
        sa.Column(
            "directory", sa.Text(), nullable=False, comment="of the adapter, as the servers read it"
        ),
        sa.Column("sha256", sa.Text(), nullable=False, comment="of the adapter's two files"),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False, comment="why it is in that state"),
        sa.Column("share", sa.Float(), comment="of the issues that it judges as a canary"),
        sa.Column("gate", JSONB(), nullable=False, comment="r4p.gate/1"),
        sa.Column("evaluation", JSONB(), comment="r4p.evaluation/1; null: there was none"),
        now("created_at"),
        moment("changed_at"),
        sa.CheckConstraint(
            "state in ('candidate','rejected','shadow','canary','champion','retired')",
            name=op.f("ck_models_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("name", name=op.f("uq_models_name")),
        comment="adapters that were trained; numbers and paths that name nobody",
    )
    op.create_index("uq_models_bytes", "models", ["sha256", "base"], unique=True)
    op.create_index(
        "uq_models_in_line",
        "models",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state in ('shadow','canary','champion')"),
    )


def _model_aliases() -> None:
    op.create_table(
        "model_aliases",
        identity(),
        sa.Column("alias", sa.Text(), nullable=False, comment="champion, canary or shadow"),
        sa.Column(
            "model_id",
            sa.BigInteger(),
            comment="null: nobody, which for the champion is the model of the settings",
        ),
        sa.Column("why", sa.Text(), nullable=False),
        now("created_at"),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_model_aliases_model_id_models")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_aliases")),
        comment="every move of an alias, none is ever changed; the newest row of each counts",
    )
    op.create_index(op.f("ix_model_aliases_alias"), "model_aliases", ["alias"])


def _shadow_verdicts() -> None:
    op.create_table(
        "shadow_verdicts",
        sa.Column("evaluation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("model_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("verdict", JSONB(), nullable=False, comment="r4p.verdict/1, shown to nobody"),
        now("created_at"),
        belongs_to("shadow_verdicts", "evaluation_id", "evaluations"),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_shadow_verdicts_model_id_models")
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "model_id", name=op.f("pk_shadow_verdicts")),
        comment="what a shadow says of what others judge, to be held against outcomes",
    )


def _trainings() -> None:
    op.create_table(
        "trainings",
        identity(),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False, comment="dataset, run, evaluate or register"),
        sa.Column("why", sa.Text(), nullable=False, comment="why it is in that state"),
        sa.Column("plan", sa.Text(), nullable=False, comment="a plan's name or path"),
        sa.Column(
            "digest", sa.Text(), nullable=False, comment="of the plan and the settings at its start"
        ),
        sa.Column("folder", sa.Text(), nullable=False, comment="on the machine that trains"),
        sa.Column("launcher", sa.Text(), nullable=False),
        sa.Column("launches", sa.Integer(), nullable=False, comment="starts of the stage at hand"),
        sa.Column("labels", JSONB(), comment="counts of its dataset; null: none was built yet"),
        sa.Column("progress", JSONB(), nullable=False, comment="the newest metrics of the run"),
        sa.Column("model", sa.Text(), comment="registered under this name"),
        now("created_at"),
        now("beat_at"),
        moment("finished_at"),
        sa.CheckConstraint(
            "state in ('running','finished','rejected','skipped','failed')",
            name=op.f("ck_trainings_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trainings")),
        comment="of language models; one runs at a time; numbers and paths that name nobody",
    )
    op.create_index(
        "uq_trainings_running",
        "trainings",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )
