"""Create the tables of the tests that run on candidates."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from migrations.columns import belongs_to, moment, now

TABLES = ("group_tests", "reproduction_tests", "test_baselines")
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_group_tests()
    _create_reproduction_tests()
    _create_test_baselines()


def _create_group_tests() -> None:
    op.create_table(
        "group_tests",
        sa.Column("evaluation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("environment", sa.Text(), nullable=False, comment="name of the test environment"),
        sa.Column("seconds", sa.Integer(), nullable=False, comment="time limit of one run"),
        sa.Column(
            "reproduction",
            sa.Boolean(),
            server_default=sa.false(),
            nullable=False,
            comment="whether the repository wants tests written for the issue",
        ),
        sa.Column(
            "base_branch", sa.Text(), comment="branch of base_sha; null: no commit to test on"
        ),
        sa.Column("base_sha", sa.Text(), comment="commit on which the tests run"),
        now("created_at"),
        moment("started_at"),
        moment("finished_at"),
        sa.Column(
            "failure",
            sa.Text(),
            comment="why there is no evidence, for people; null: there is some",
        ),
        sa.Column("expected", sa.Integer(), comment="tests that pass on the base in every run"),
        sa.Column("flaky", sa.Integer(), comment="tests that pass on the base in some runs only"),
        sa.Column(
            "results", JSONB(), comment="evidence by patch id, as in r4p.verdict/1; null: none yet"
        ),
        belongs_to("group_tests", "evaluation_id", "evaluations"),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_group_tests")),
        comment="the repository's tests on one frozen group",
    )
    op.create_index("ix_group_tests_started_at", "group_tests", ["started_at"])


def _create_reproduction_tests() -> None:
    op.create_table(
        "reproduction_tests",
        sa.Column("evaluation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "wanted", sa.Integer(), nullable=False, comment="tests that the engine is asked for"
        ),
        sa.Column("example_path", sa.Text(), comment="test file of the base that the engine sees"),
        sa.Column("example_text", sa.Text(), comment="its text; null once the engine has ended"),
        now("created_at"),
        moment("finished_at"),
        sa.Column("failure", sa.Text(), comment="why there is no script, for people"),
        sa.Column("scripts", JSONB(), comment="texts of the scripts; null: none yet"),
        sa.Column(
            "tokens",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="cost of the replies",
        ),
        belongs_to("reproduction_tests", "evaluation_id", "evaluations"),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_reproduction_tests")),
        comment="tests that the engine writes for the issue of one frozen group",
    )
    op.create_index("ix_reproduction_tests_created_at", "reproduction_tests", ["created_at"])


def _create_test_baselines() -> None:
    op.create_table(
        "test_baselines",
        sa.Column("repository_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("base_sha", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column(
            "environment",
            sa.Text(),
            nullable=False,
            comment="digest of its packages and its Python",
        ),
        sa.Column(
            "document",
            sa.LargeBinary(),
            nullable=False,
            comment="r4p.baseline/1, compressed by zlib",
        ),
        now("created_at"),
        belongs_to("test_baselines", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint(
            "repository_id",
            "base_sha",
            "command",
            "environment",
            name=op.f("pk_test_baselines"),
        ),
        comment="which tests pass on a commit; kept for 30 days",
    )
    op.create_index("ix_test_baselines_created_at", "test_baselines", ["created_at"])
