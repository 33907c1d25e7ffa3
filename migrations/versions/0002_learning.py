"""What learning keeps: trained models, who judges, what a shadow would have said, what people checked."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("models", "model_aliases", "shadow_verdicts", "trainings", "label_checks")
"""In the order of creation."""


def upgrade() -> None:
    _models()
    _aliases()
    _shadow_verdicts()
    _trainings()
    _label_checks()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _created() -> sa.Column[object]:
    return sa.Column(
        "created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
    )


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="served as; of these bytes for ever"),
        sa.Column(
            "base", sa.Text(), nullable=False, comment="served name of the model that it adapts"
        ),
        sa.Column("verifier", sa.Text(), nullable=False, comment="whose prompt it was trained on"),
        sa.Column("run", sa.Text(), nullable=False, comment="folder of the run that trained it"),
        sa.Column(
            "directory",
            sa.Text(),
            nullable=False,
            comment="of the adapter, as the servers read it",
        ),
        sa.Column("sha256", sa.Text(), nullable=False, comment="of the adapter's two files"),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False, comment="why it is in that state"),
        sa.Column(
            "share", sa.Float(), nullable=True, comment="of the issues that it judges as a canary"
        ),
        sa.Column(
            "gate",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="r4p.gate/1",
        ),
        sa.Column(
            "evaluation",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="r4p.evaluation/1; null: there was none",
        ),
        _created(),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('candidate','rejected','shadow','canary','champion','retired')",
            name=op.f("ck_models_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
        sa.UniqueConstraint("name", name=op.f("uq_models_name")),
        comment="adapters that were trained; numbers and paths that name nobody",
    )
    op.create_index(
        "uq_models_in_line",
        "models",
        ["state"],
        unique=True,
        postgresql_where=sa.text("state in ('shadow','canary','champion')"),
    )


def _aliases() -> None:
    op.create_table(
        "model_aliases",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("alias", sa.Text(), nullable=False, comment="champion, canary or shadow"),
        sa.Column(
            "model_id",
            sa.BigInteger(),
            nullable=True,
            comment="null: nobody, which for the champion is the model of the settings",
        ),
        sa.Column("why", sa.Text(), nullable=False),
        _created(),
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
        sa.Column(
            "verdict",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="r4p.verdict/1, shown to nobody",
        ),
        _created(),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_shadow_verdicts_evaluation_id_evaluations"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["models.id"], name=op.f("fk_shadow_verdicts_model_id_models")
        ),
        sa.PrimaryKeyConstraint("evaluation_id", "model_id", name=op.f("pk_shadow_verdicts")),
        comment="what a shadow says of what others judge, to be held against outcomes",
    )


def _trainings() -> None:
    op.create_table(
        "trainings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False, comment="dataset, run, evaluate or register"),
        sa.Column("why", sa.Text(), nullable=False, comment="why it is in that state"),
        sa.Column("plan", sa.Text(), nullable=False, comment="a plan's name or path"),
        sa.Column("folder", sa.Text(), nullable=False, comment="on the machine that trains"),
        sa.Column("launcher", sa.Text(), nullable=False),
        sa.Column("launches", sa.Integer(), nullable=False, comment="starts of the stage at hand"),
        sa.Column(
            "labels",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="counts of its dataset; null: none was built yet",
        ),
        sa.Column(
            "progress",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="the newest metrics of the run",
        ),
        sa.Column("model", sa.Text(), nullable=True, comment="registered under this name"),
        _created(),
        sa.Column(
            "beat_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
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


def _label_checks() -> None:
    op.create_table(
        "label_checks",
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("patch_sha256", sa.Text(), nullable=False),
        sa.Column("is_correct", sa.Boolean(), nullable=False),
        sa.Column(
            "checked_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.id"],
            name=op.f("fk_label_checks_group_id_groups"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "group_id", "pull_number", "patch_sha256", name=op.f("pk_label_checks")
        ),
        comment="the truth about patches that somebody looked at; measures what labels are worth",
    )
