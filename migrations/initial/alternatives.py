"""Create the tables of attempts, drafts and hints."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, identity, moment, now, opinion

TABLES = ("attempts", "agent_runs", "drafts", "evaluation_alternatives", "hints")
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_attempts()
    _create_agent_runs()
    _create_drafts()
    _create_evaluation_alternatives()
    _create_hints()


def _create_attempts() -> None:
    op.create_table(
        "attempts",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "number",
            sa.Integer(),
            comment="number of the alternative in its group (A1, A2, …); null: no new edit",
        ),
        sa.Column("base_sha", sa.Text(), nullable=False, comment="commit that the agent saw"),
        sa.Column("issue_sha256", sa.Text(), nullable=False, comment="SHA-256 of the issue's text"),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("stop", sa.Text(), nullable=False, comment="reason of the end"),
        sa.Column("failure", sa.Text(), comment="error message for the operator"),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("patch_sha256", sa.Text(), comment="null: no patch"),
        *_bill_of_attempts(),
        sa.Column(
            "trajectory",
            sa.LargeBinary(),
            comment="r4p.trajectory/1, compressed by zlib; null: the agent's process died",
        ),
        *_hint_of_attempts(),
        now("created_at"),
        belongs_to("attempts", "group_id", "groups"),
        belongs_to("attempts", "guided_by", "attempts"),
        sa.ForeignKeyConstraint(
            ["patch_sha256"], ["patches.sha256"], name=op.f("fk_attempts_patch_sha256_patches")
        ),
        belongs_to("attempts", "repository_id", "repositories"),
        sa.CheckConstraint(
            "cached_tokens between 0 and prompt_tokens and completion_tokens >= 0 and seconds >= 0",
            name=op.f("ck_attempts_figures"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("group_id", "number", name=op.f("uq_attempts_group_id_number")),
        comment="attempts of agents with their trajectories; training reads them",
    )
    op.create_index("ix_attempts_repository_id", "attempts", ["repository_id", "created_at"])
    op.create_index(op.f("ix_attempts_guided_by"), "attempts", ["guided_by"])
    op.create_index(op.f("ix_attempts_patch_sha256"), "attempts", ["patch_sha256"])


def _bill_of_attempts() -> list[sa.Column[object]]:
    return [
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
    ]


def _hint_of_attempts() -> list[sa.Column[object]]:
    return [
        sa.Column(
            "guided_by",
            sa.BigInteger(),
            comment="the earlier attempt that its hint is about; null: it had no hint",
        ),
        sa.Column("guidance", JSONB(), comment="the hint; null: none"),
    ]


def _create_agent_runs() -> None:
    op.create_table(
        "agent_runs",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "tokens",
            sa.BigInteger(),
            nullable=False,
            comment="tokens without cached ones; the reserved maximum while the run is open",
        ),
        sa.Column(
            "seconds",
            sa.Float(),
            nullable=False,
            comment="duration of all attempts; the reserved maximum while the run is open",
        ),
        moment("ended_at"),
        now("created_at"),
        sa.CheckConstraint("tokens >= 0 and seconds >= 0", name=op.f("ck_agent_runs_figures")),
        belongs_to("agent_runs", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_runs")),
        comment="cost of agents' processes; a run without an end costs its reserved maximum",
    )
    op.create_index("ix_agent_runs_repository_id", "agent_runs", ["repository_id", "created_at"])


def _create_drafts() -> None:
    op.create_table(
        "drafts",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "attempt_id",
            sa.BigInteger(),
            nullable=False,
            comment="the attempt that wrote the alternative",
        ),
        sa.Column(
            "asked_in", sa.Text(), nullable=False, comment="the comment or review that asked last"
        ),
        sa.Column("asked_under", sa.BigInteger(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), comment="null: not open yet"),
        sa.Column("not_opened", sa.Text(), comment="why the last attempt to open it failed"),
        now("created_at"),
        belongs_to("drafts", "attempt_id", "attempts"),
        belongs_to("drafts", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drafts")),
        sa.UniqueConstraint("attempt_id", name=op.f("uq_drafts_attempt_id")),
        sa.UniqueConstraint(
            "repository_id", "pull_number", name=op.f("uq_drafts_repository_id_pull_number")
        ),
        comment="draft pull requests that show alternatives; they are no rivals",
    )


def _create_evaluation_alternatives() -> None:
    op.create_table(
        "evaluation_alternatives",
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        *opinion(),
        belongs_to("evaluation_alternatives", "attempt_id", "attempts"),
        belongs_to("evaluation_alternatives", "evaluation_id", "evaluations"),
        sa.PrimaryKeyConstraint(
            "evaluation_id", "attempt_id", name=op.f("pk_evaluation_alternatives")
        ),
        comment="alternatives in evaluations, with their verdicts",
    )
    op.create_index(
        op.f("ix_evaluation_alternatives_attempt_id"), "evaluation_alternatives", ["attempt_id"]
    )


def _create_hints() -> None:
    op.create_table(
        "hints",
        sa.Column(
            "attempt_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="the attempt that wrote the alternative",
        ),
        sa.Column("source", sa.Text(), nullable=False, comment="maintainer, check or verdict"),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column(
            "said_by", sa.Text(), nullable=False, comment="login, or name of the check or verifier"
        ),
        now("created_at"),
        belongs_to("hints", "attempt_id", "attempts"),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_hints")),
        comment="criticism of alternatives; each hint leads to one second attempt",
    )
