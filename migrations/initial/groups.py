"""Create the tables of installations, repositories and groups."""

import sqlalchemy as sa
from alembic import op

from migrations.columns import belongs_to, identity, moment, now

TABLES = (
    "installations",
    "repositories",
    "forgotten",
    "groups",
    "pull_requests",
    "approvals",
    "delegations",
    "group_members",
)
"""In the order of creation."""


def create() -> None:
    """Create the tables and their indexes."""
    _create_installations()
    _create_repositories()
    _create_forgotten()
    _create_groups()
    _create_pull_requests()
    _create_approvals()
    _create_delegations()
    _create_group_members()


def _create_installations() -> None:
    op.create_table(
        "installations",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column(
            "account_id", sa.BigInteger(), comment="GitHub's id of the account; null: not told yet"
        ),
        moment("suspended_at"),
        moment("resumed_at"),
        now("created_at"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installations")),
    )


def _create_repositories() -> None:
    op.create_table(
        "repositories",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("full_name", sa.Text(), nullable=False),
        sa.Column("default_branch", sa.Text()),
        sa.Column("config_text", sa.Text(), comment="the last valid .github/r4p.yml; null: none"),
        sa.Column(
            "config_error", sa.Text(), comment="why the newest file is not used; null: it is used"
        ),
        sa.Column(
            "default_text", sa.Text(), comment="the organisation's default settings; null: none"
        ),
        sa.Column(
            "changes_read_until",
            sa.DateTime(timezone=True),
            comment="reconciling read all changes on GitHub up to here; null: none yet",
        ),
        now("created_at"),
        belongs_to("repositories", "installation_id", "installations"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repositories")),
    )
    op.create_index(op.f("ix_repositories_installation_id"), "repositories", ["installation_id"])


def _create_forgotten() -> None:
    op.create_table(
        "forgotten",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "repository_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="0: the whole installation",
        ),
        now("forgotten_at"),
        sa.PrimaryKeyConstraint("installation_id", "repository_id", name=op.f("pk_forgotten")),
        comment="tombstones of purged data: late deliveries must not restore it",
    )


def _create_groups() -> None:
    op.create_table(
        "groups",
        identity(),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("issue_number", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("body", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column(
            "waiting", sa.Text(), comment="why the group gets no verdict now; null: no obstacle"
        ),
        sa.Column("paused_by", sa.Text(), comment="who wrote `/r4p pause`; null: not paused"),
        now("updated_at"),
        now("read_at"),
        belongs_to("groups", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_groups")),
        sa.UniqueConstraint(
            "repository_id", "issue_number", name=op.f("uq_groups_repository_id_issue_number")
        ),
        comment="issues, each with the pull requests that claim to resolve it",
    )


def _create_pull_requests() -> None:
    op.create_table(
        "pull_requests",
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "state",
            sa.Text(),
            server_default="open",
            nullable=False,
            comment="open, closed or merged",
        ),
        sa.Column("head_sha", sa.Text(), nullable=False),
        sa.Column("base_sha", sa.Text(), nullable=False),
        sa.Column("base_ref", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "author",
            sa.Text(),
            comment="login of the author; null: account gone, or not read",
        ),
        now("updated_at"),
        belongs_to("pull_requests", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("repository_id", "number", name=op.f("pk_pull_requests")),
    )


def _create_approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("actor_id", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        now("approved_at"),
        belongs_to("approvals", "repository_id", "repositories"),
        sa.PrimaryKeyConstraint("repository_id", "pull_number", name=op.f("pk_approvals")),
        comment="pull requests that somebody with triage permission let the bot judge",
    )


def _create_delegations() -> None:
    op.create_table(
        "delegations",
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False, comment="in lower case"),
        sa.Column("actor", sa.Text(), nullable=False, comment="who wrote `/r4p delegate`"),
        now("delegated_at"),
        belongs_to("delegations", "group_id", "groups"),
        sa.PrimaryKeyConstraint("group_id", "login", name=op.f("pk_delegations")),
        comment="people who may use some commands on one issue",
    )


def _create_group_members() -> None:
    op.create_table(
        "group_members",
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "strength", sa.Text(), comment="how the pull request is linked; null: only by command"
        ),
        sa.Column("forced", sa.Boolean(), comment="true: added by command, false: removed by one"),
        belongs_to("group_members", "group_id", "groups"),
        sa.PrimaryKeyConstraint("group_id", "pull_number", name=op.f("pk_group_members")),
    )
