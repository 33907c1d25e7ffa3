"""Create the tables of calibrators, trained models and trainings."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, identity, moment, now

TABLES = ("calibrators", "models", "model_aliases", "shadow_verdicts", "trainings")
"""In the order of creation."""

JUDGED = """
create view judged_evaluations as
select id, verified_at, verdict -> 'engine' ->> 'model' as speaker,
    (verdict -> 'votes' ->> 'asked')::int as asked, (verdict -> 'votes' ->> 'valid')::int as valid,
    (verdict -> 'seconds' ->> 'total')::float8 as seconds,
    jsonb_path_query_array(verdict, '$.patches[*].verdict') as verdicts, (
        select count(distinct candidate_id) from evaluation_candidates as judged
        join candidates on candidates.id = judged.candidate_id
        join outcomes using (repository_id, pull_number, evaluation_id)
        where judged.evaluation_id = evaluations.id and judged.verdict = 'correct'
            and outcomes.kind in ('reverted', 'disagree')) as overturned
from evaluations where failure is null
"""
"""What a canary is compared by: numbers of each evaluation, without its texts. `overturned` counts correct verdicts."""


def create() -> None:
    """Create the tables, their indexes and the view."""
    _create_calibrators()
    _index_calibrators()
    _create_models()
    _create_model_aliases()
    _create_shadow_verdicts()
    _create_trainings()
    op.execute(JUDGED)


def _create_calibrators() -> None:
    op.create_table(
        "calibrators",
        identity(),
        sa.Column("verifier", sa.Text(), nullable=False, comment="name in the catalogue"),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_fingerprint", sa.Text(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), comment="null: shared by all"),
        sa.Column(
            "state",
            sa.Text(),
            nullable=False,
            comment="at most one calibrator of a judge and an installation is active",
        ),
        sa.Column("why", sa.Text(), nullable=False, comment="why it is active or refused"),
        sa.Column("document", JSONB(), nullable=False, comment="r4p.calibrator/1"),
        sa.Column(
            "label_rule",
            sa.Integer(),
            nullable=False,
            comment="version of the label rules; 0: fitted from a file",
        ),
        sa.Column("issues", sa.Integer(), nullable=False, comment="number of fitted issues"),
        sa.Column("correct", sa.Integer(), nullable=False),
        sa.Column("incorrect", sa.Integer(), nullable=False),
        sa.Column("seen", JSONB(), nullable=False, comment="ids of the fitted groups"),
        sa.Column(
            "brier", sa.Float(), nullable=False, comment="score on held-out issues; lower is better"
        ),
        now("created_at"),
        sa.CheckConstraint(
            "state in ('active','refused','retired')", name=op.f("ck_calibrators_state")
        ),
        sa.ForeignKeyConstraint(
            ["installation_id"],
            ["installations.id"],
            name=op.f("fk_calibrators_installation_id_installations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrators")),
        comment="calibrators fitted on outcomes; the rows hold no personal data",
    )


def _index_calibrators() -> None:
    op.create_index(
        "uq_calibrators_active",
        "calibrators",
        ["verifier", "engine", "model", "prompt_fingerprint", "installation_id"],
        unique=True,
        postgresql_nulls_not_distinct=True,
        postgresql_where=sa.text("state = 'active'"),
    )


def _create_models() -> None:
    op.create_table(
        "models",
        identity(),
        sa.Column("name", sa.Text(), nullable=False, comment="served name of exactly these bytes"),
        sa.Column("base", sa.Text(), nullable=False, comment="served name of the base model"),
        sa.Column("verifier", sa.Text(), nullable=False, comment="verifier of its prompt"),
        sa.Column("run", sa.Text(), nullable=False, comment="folder of the run that trained it"),
        sa.Column(
            "directory", sa.Text(), nullable=False, comment="adapter folder, as the servers see it"
        ),
        sa.Column("sha256", sa.Text(), nullable=False, comment="SHA-256 of the adapter's files"),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False, comment="reason of the state"),
        sa.Column("share", sa.Float(), comment="share of the issues that it judges as a canary"),
        sa.Column("gate", JSONB(), nullable=False, comment="r4p.gate/1"),
        sa.Column("evaluation", JSONB(), comment="r4p.evaluation/1; null: no evaluation"),
        now("created_at"),
        moment("changed_at"),
        sa.CheckConstraint(
            "state in ('candidate','rejected','shadow','canary','champion','retired')",
            name=op.f("ck_models_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("name", name=op.f("uq_models_name")),
        comment="trained adapters; the rows hold no personal data",
    )
    op.create_index("uq_models_bytes", "models", ["sha256", "base"], unique=True)
    op.create_index(
        "uq_models_in_line",
        "models",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state in ('shadow','canary','champion')"),
    )


def _create_model_aliases() -> None:
    op.create_table(
        "model_aliases",
        identity(),
        sa.Column("alias", sa.Text(), nullable=False, comment="champion, canary or shadow"),
        sa.Column(
            "model_id",
            sa.BigInteger(),
            comment="null: no model; the model of the settings is then the champion",
        ),
        sa.Column("why", sa.Text(), nullable=False),
        now("created_at"),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_model_aliases_model_id_models")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_aliases")),
        comment="log of alias changes; the newest row of an alias is valid",
    )
    op.create_index(op.f("ix_model_aliases_alias"), "model_aliases", ["alias"])


def _create_shadow_verdicts() -> None:
    op.create_table(
        "shadow_verdicts",
        sa.Column("evaluation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("model_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("verdict", JSONB(), nullable=False, comment="r4p.verdict/1; never published"),
        now("created_at"),
        belongs_to("shadow_verdicts", "evaluation_id", "evaluations"),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_shadow_verdicts_model_id_models")
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "model_id", name=op.f("pk_shadow_verdicts")),
        comment="verdicts of shadow models, to compare with outcomes",
    )


def _create_trainings() -> None:
    op.create_table(
        "trainings",
        identity(),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False, comment="dataset, run, evaluate or register"),
        sa.Column("why", sa.Text(), nullable=False, comment="reason of the state"),
        sa.Column("plan", sa.Text(), nullable=False, comment="a plan's name or path"),
        sa.Column(
            "digest", sa.Text(), nullable=False, comment="hash of plan and settings at the start"
        ),
        sa.Column("folder", sa.Text(), nullable=False, comment="folder on the training machine"),
        sa.Column("launcher", sa.Text(), nullable=False),
        sa.Column("launches", sa.Integer(), nullable=False, comment="starts of the present stage"),
        sa.Column("labels", JSONB(), comment="label counts of its dataset; null: not built yet"),
        sa.Column("progress", JSONB(), nullable=False, comment="the newest metrics of the run"),
        sa.Column("model", sa.Text(), comment="name of the registered model; null: none"),
        now("created_at"),
        now("beat_at"),
        moment("finished_at"),
        sa.CheckConstraint(
            "state in ('running','finished','rejected','skipped','failed')",
            name=op.f("ck_trainings_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trainings")),
        comment="trainings of language models, one at a time; the rows hold no personal data",
    )
    op.create_index(
        "uq_trainings_running",
        "trainings",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )
