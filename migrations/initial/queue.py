"""Create the queue of record and the tables of the exchange with GitHub."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, identity, moment, now

TABLES = (
    "deliveries",
    "delivery_bodies",
    "ignored_deliveries",
    "jobs",
    "effects",
    "confirmed_writes",
    "job_causes",
    "command_answers",
    "etags",
    "write_limits",
)
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_deliveries()
    _create_delivery_bodies()
    _create_ignored_deliveries()
    _create_jobs()
    _create_indexes_of_jobs()
    _create_effects()
    _create_confirmed_writes()
    _create_job_causes()
    _create_command_answers()
    _create_etags()
    _create_write_limits()


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        identity(),
        sa.Column("guid", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("installation_id", sa.BigInteger()),
        sa.Column("repository_id", sa.BigInteger()),
        now("received_at"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("guid", name=op.f("uq_deliveries_guid")),
        comment="stored webhook deliveries; ignored ones are only counted",
    )
    op.create_index(op.f("ix_deliveries_installation_id"), "deliveries", ["installation_id"])


def _create_delivery_bodies() -> None:
    op.create_table(
        "delivery_bodies",
        sa.Column("delivery_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "received_at", sa.DateTime(timezone=True), nullable=False, comment="as in deliveries"
        ),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="raw bytes of the signed body"),
        sa.PrimaryKeyConstraint("delivery_id", "received_at", name=op.f("pk_delivery_bodies")),
        comment="bodies of deliveries, one partition a month; no foreign key, so that dropping a month locks no delivery",
        postgresql_partition_by="RANGE (received_at)",
    )


def _create_ignored_deliveries() -> None:
    op.create_table(
        "ignored_deliveries",
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("reason", name=op.f("pk_ignored_deliveries")),
    )


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        identity(),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), comment="jobs with equal keys do the same work"),
        sa.Column(
            "wish",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="who asked for it; empty: none",
        ),
        sa.Column("payload", JSONB(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger()),
        sa.Column("delivery_guid", sa.Text(), comment="delivery that caused the job; null: none"),
        sa.Column("state", sa.Text(), server_default="ready", nullable=False),
        sa.Column(
            "attempt", sa.Integer(), server_default="0", nullable=False, comment="number of claims"
        ),
        sa.Column(
            "token", sa.BigInteger(), server_default="0", nullable=False, comment="fencing token"
        ),
        now("run_after"),
        now("created_at"),
        moment("lease_until"),
        moment("claimed_at"),
        moment("finished_at"),
        sa.Column("error", sa.Text(), comment="why the last attempt failed"),
        sa.Column("progress", sa.Text(), comment="progress of the running job, as text for people"),
        sa.Column(
            "waits_for",
            sa.Text(),
            comment="what was not ready at the last attempt; null: nothing",
        ),
        sa.Column(
            "waits", sa.Integer(), server_default="0", nullable=False, comment="waits in a row"
        ),
        moment("waits_since"),
        sa.CheckConstraint(
            "state in ('ready','running','done','dead','superseded')", name=op.f("ck_jobs_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        comment="the queue of record",
    )


def _create_indexes_of_jobs() -> None:
    op.create_index(op.f("ix_jobs_delivery_guid"), "jobs", ["delivery_guid"])
    op.create_index(op.f("ix_jobs_installation_id"), "jobs", ["installation_id"])
    for name, columns, condition in (
        ("ix_jobs_command_key", ["key"], "kind = 'run_command'"),
        ("ix_jobs_dead_key", ["key", "id"], "state = 'dead'"),
        ("ix_jobs_turn", ["queue", "installation_id", "run_after", "id"], "state = 'ready'"),
        ("ix_jobs_ended", ["finished_at"], "state in ('done','superseded')"),
        ("ix_jobs_lease", ["lease_until"], "state = 'running'"),
        (
            "ix_jobs_running_turn",
            ["queue", "installation_id"],
            "lease_until is not null",
        ),
        ("uq_jobs_ready_key", ["key", "wish"], "state = 'ready'"),
        ("uq_jobs_running_key", ["key"], "state = 'running'"),
    ):
        where = sa.text(condition)
        op.create_index(name, "jobs", columns, unique=name[:2] == "uq", postgresql_where=where)


def _create_effects() -> None:
    op.create_table(
        "effects",
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False, comment="its name, such as comment:group:7"),
        sa.Column("state", sa.Text(), nullable=False, comment="planned, confirmed or ambiguous"),
        sa.Column("github_id", sa.BigInteger()),
        sa.Column(
            "content",
            sa.Text(),
            nullable=False,
            comment="what the newest plan wants to be shown",
        ),
        sa.Column("job_id", sa.BigInteger(), nullable=False, comment="job of the newest plan"),
        sa.Column(
            "token", sa.BigInteger(), nullable=False, comment="fencing token of the newest plan"
        ),
        sa.Column("evaluation_id", sa.BigInteger(), comment="its evaluation; null: no verdict"),
        now("updated_at"),
        sa.CheckConstraint(
            "state in ('planned','confirmed','ambiguous')", name=op.f("ck_effects_state")
        ),
        belongs_to("effects", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("repository_id", "key", name=op.f("pk_effects")),
        comment="writes to GitHub, planned before they are sent",
    )
    op.create_index(op.f("ix_effects_evaluation_id"), "effects", ["evaluation_id"])


def _create_confirmed_writes() -> None:
    op.create_table(
        "confirmed_writes",
        identity(),
        sa.Column(
            "key",
            sa.Text(),
            nullable=False,
            comment="the effect's name, such as comment:group:7",
        ),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("github_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("evaluation_id", sa.BigInteger(), comment="null: no verdict"),
        sa.Column("delivery_guid", sa.Text(), comment="delivery that caused it; null: none"),
        now("confirmed_at"),
        belongs_to("confirmed_writes", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_confirmed_writes")),
        comment="every write that GitHub confirmed, with the job and the delivery that caused it",
    )
    for column in ("repository_id", "job_id", "delivery_guid"):
        op.create_index(op.f(f"ix_confirmed_writes_{column}"), "confirmed_writes", [column])


def _create_job_causes() -> None:
    op.create_table(
        "job_causes",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("cause_id", sa.BigInteger(), nullable=False),
        belongs_to("job_causes", "job_id", "jobs"),
        belongs_to("job_causes", "cause_id", "jobs"),
        sa.PrimaryKeyConstraint("job_id", "cause_id", name=op.f("pk_job_causes")),
        comment="which job stored which; a ready job that absorbs others has several causes",
    )
    op.create_index(op.f("ix_job_causes_cause_id"), "job_causes", ["cause_id"])


def _create_command_answers() -> None:
    op.create_table(
        "command_answers",
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "source", sa.Text(), nullable=False, comment="the comment or review with commands"
        ),
        sa.Column("person_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False, comment="its issue or pull request"),
        sa.Column("answer", sa.Text(), nullable=False, comment="reply, refusal or silence"),
        now("answered_at"),
        belongs_to("command_answers", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("repository_id", "source", name=op.f("pk_command_answers")),
        comment="answers to commands, which are limited for each person; kept for 30 days",
    )
    op.create_index(
        "ix_command_answers_person",
        "command_answers",
        ["repository_id", "person_id", "answered_at"],
    )
    op.create_index("ix_command_answers_age", "command_answers", ["answered_at"])


def _create_etags() -> None:
    op.create_table(
        "etags",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        now("updated_at"),
        sa.PrimaryKeyConstraint("installation_id", "path", name=op.f("pk_etags")),
        comment="cached responses of GitHub; asking whether they changed costs no quota",
    )


def _create_write_limits() -> None:
    op.create_table(
        "write_limits",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("state", JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("installation_id", name=op.f("pk_write_limits")),
        comment="state of the write limiter, which all processes share, per installation",
    )
