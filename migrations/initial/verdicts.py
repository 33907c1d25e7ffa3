"""Create the tables of candidates, evaluations, checklists and votes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, identity, moment, now, opinion

TABLES = ("patches", "candidates", "evaluations", "evaluation_candidates", "rubrics", "votes")
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_patches()
    _create_candidates()
    _create_evaluations()
    _create_evaluation_candidates()
    _create_rubrics()
    _create_votes()


def _create_patches() -> None:
    op.create_table(
        "patches",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("diff", sa.LargeBinary(), nullable=False),
        sa.Column("edit", sa.Text(), nullable=False, comment="fingerprint that equal edits share"),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_patches")),
        comment="unified diffs by the SHA-256 of their content",
    )


def _create_candidates() -> None:
    op.create_table(
        "candidates",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.Text(), nullable=False),
        sa.Column("base_sha", sa.Text(), nullable=False),
        sa.Column("patch_sha256", sa.Text(), comment="null: unreadable patch"),
        sa.Column("unreadable", sa.Text(), comment="why there is no patch"),
        sa.Column(
            "read_again",
            sa.Boolean(),
            server_default="false",
            nullable=False,
            comment="true: the patch may be readable later",
        ),
        sa.Column("files", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "normalised_sha256",
            sa.Text(),
            comment="hash without blanks and comments; null: every byte counts",
        ),
        now("created_at"),
        sa.ForeignKeyConstraint(
            ["patch_sha256"], ["patches.sha256"], name=op.f("fk_candidates_patch_sha256_patches")
        ),
        sa.ForeignKeyConstraint(
            ["repository_id", "pull_number"],
            ["pull_requests.repository_id", "pull_requests.number"],
            name=op.f("fk_candidates_repository_id_pull_number_pull_requests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
        sa.UniqueConstraint(
            "repository_id",
            "pull_number",
            "head_sha",
            "base_sha",
            name=op.f("uq_candidates_repository_id_pull_number_head_sha_base_sha"),
        ),
        comment="candidates: a pull request at one head commit on one base commit",
    )
    op.create_index(op.f("ix_candidates_patch_sha256"), "candidates", ["patch_sha256"])


def _create_evaluations() -> None:
    op.create_table(
        "evaluations",
        identity(),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="collected", nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column(
            "mode",
            sa.Text(),
            nullable=False,
            comment="shadow, advisory or enforce at that time",
        ),
        sa.Column("votes", sa.Integer(), nullable=False, comment="number of requested votes"),
        sa.Column(
            "fingerprint",
            sa.Text(),
            nullable=False,
            comment="hash of issue text and patches",
        ),
        sa.Column("issue_title", sa.Text(), nullable=False),
        sa.Column("issue_body", sa.Text(), nullable=False),
        sa.Column(
            "verifier",
            sa.Text(),
            comment="name of the verifier; null: not judged yet, or it failed",
        ),
        sa.Column("verdict", JSONB(), comment="r4p.verdict/1"),
        *_how_evaluations_came_about(),
        sa.Column(
            "failure",
            sa.Text(),
            comment="why the verdict is not real; null: it is real, or there is none yet",
        ),
        now("created_at"),
        moment("verified_at"),
        moment("published_at"),
        sa.CheckConstraint(
            "state in ('collected','verified','published','superseded')",
            name=op.f("ck_evaluations_state"),
        ),
        belongs_to("evaluations", "group_id", "groups"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
        comment="snapshots of groups, each judged once; the newest published one is current",
    )
    op.create_index(op.f("ix_evaluations_group_id"), "evaluations", ["group_id"])
    op.create_index("ix_evaluations_created_at", "evaluations", ["created_at"])


def _how_evaluations_came_about() -> list[sa.Column[object]]:
    return [
        sa.Column(
            "alternatives_wanted",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="alternatives that agents still have to write; 0: the group can be judged",
        ),
        sa.Column(
            "tree_base",
            sa.Text(),
            comment="commit whose source tree was handed over; null: none was",
        ),
        sa.Column("alternatives_lack", sa.Text(), comment="why there are fewer than wanted"),
        sa.Column("asked_in", sa.Text(), comment="comment or review that asked; null: none"),
        sa.Column("asked_under", sa.BigInteger(), comment="issue or pull request of that comment"),
        sa.Column(
            "caused_by",
            sa.ARRAY(sa.Text()),
            server_default="{}",
            nullable=False,
            comment="logins and pull requests whose changes led to it",
        ),
        sa.Column("left_out", JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False),
        sa.Column(
            "all_links_read",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="false: the issue has more links than the bot reads",
        ),
        sa.Column(
            "moved_from",
            sa.BigInteger(),
            comment="evaluation that gave the verdict; null: this one",
        ),
    ]


def _create_evaluation_candidates() -> None:
    op.create_table(
        "evaluation_candidates",
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column("candidate_id", sa.BigInteger(), nullable=False),
        sa.Column("strength", sa.Text()),
        *opinion(),
        belongs_to("evaluation_candidates", "candidate_id", "candidates"),
        belongs_to("evaluation_candidates", "evaluation_id", "evaluations"),
        sa.PrimaryKeyConstraint(
            "evaluation_id", "candidate_id", name=op.f("pk_evaluation_candidates")
        ),
    )
    op.create_index(
        op.f("ix_evaluation_candidates_candidate_id"), "evaluation_candidates", ["candidate_id"]
    )


def _create_rubrics() -> None:
    op.create_table(
        "rubrics",
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "digest",
            sa.Text(),
            nullable=False,
            comment="hash of the issue's text, the base commit, the model and the prompt",
        ),
        sa.Column("document", JSONB(), nullable=False, comment="r4p.rubric/1"),
        now("created_at"),
        belongs_to("rubrics", "evaluation_id", "evaluations"),
        sa.PrimaryKeyConstraint("evaluation_id", "digest", name=op.f("pk_rubrics")),
        comment="checklists that the engine wrote for an issue; its later evaluations use them again",
    )


def _create_votes() -> None:
    op.create_table(
        "votes",
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "number", sa.Integer(), autoincrement=False, nullable=False, comment="its place, from 0"
        ),
        now("created_at"),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column(
            "seats",
            sa.ARRAY(sa.Text()),
            nullable=False,
            comment="patch id of each seat; empty: padding",
        ),
        sa.Column("correct", sa.ARRAY(sa.Text()), comment="boxed patch ids; null: unreadable"),
        sa.Column("forced", sa.Boolean(), nullable=False),
        sa.Column("failure", sa.Text()),
        sa.Column("reply", sa.Text(), nullable=False),
        belongs_to("votes", "evaluation_id", "evaluations"),
        sa.PrimaryKeyConstraint("evaluation_id", "number", "created_at", name=op.f("pk_votes")),
        comment="replies of the engine in full, one partition a month",
        postgresql_partition_by="RANGE (created_at)",
    )
