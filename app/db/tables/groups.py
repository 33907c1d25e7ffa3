"""Tables of installations, repositories, groups and pull requests."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Table, Text, UniqueConstraint

from app.db.tables.columns import belongs_to, identity, metadata, moment, now

installations = Table(
    "installations",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("account", Text, nullable=False),
    Column("account_id", BigInteger, comment="GitHub's id of the account; null: not told yet"),
    moment("suspended_at"),
    moment("resumed_at"),
    now("created_at"),
)

repositories = Table(
    "repositories",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    belongs_to("installation_id", installations, index=True),
    Column("full_name", Text, nullable=False),
    Column("default_branch", Text),
    Column("config_text", Text, comment="the last valid .github/r4p.yml; null: none"),
    Column("config_error", Text, comment="why the newest file is not used; null: it is used"),
    Column("default_text", Text, comment="the organisation's default settings; null: none"),
    Column(
        "changes_read_until",
        DateTime(timezone=True),
        comment="reconciling read all changes on GitHub up to here; null: none yet",
    ),
    now("created_at"),
)

forgotten = Table(
    "forgotten",
    metadata,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "repository_id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="0: the whole installation",
    ),
    now("forgotten_at"),
    comment="tombstones of purged data: late deliveries must not restore it",
)

groups = Table(
    "groups",
    metadata,
    identity(),
    belongs_to("repository_id", repositories),
    Column("issue_number", BigInteger, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("body", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False, server_default="open"),
    Column("waiting", Text, comment="why the group gets no verdict now; null: no obstacle"),
    Column("paused_by", Text, comment="who wrote `/r4p pause`; null: not paused"),
    now("updated_at"),
    now("read_at"),
    UniqueConstraint("repository_id", "issue_number"),
    comment="issues, each with the pull requests that claim to resolve it",
)

pull_requests = Table(
    "pull_requests",
    metadata,
    belongs_to("repository_id", repositories, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False, server_default="open", comment="open, closed or merged"),
    Column("head_sha", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column("base_ref", Text, nullable=False, server_default=""),
    Column("author", Text, comment="login of the author; null: account gone, or not read"),
    now("updated_at"),
)

approvals = Table(
    "approvals",
    metadata,
    belongs_to("repository_id", repositories, primary_key=True),
    Column("pull_number", BigInteger, primary_key=True, autoincrement=False),
    Column("actor_id", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    now("approved_at"),
    comment="pull requests that somebody with triage permission let the bot judge",
)

delegations = Table(
    "delegations",
    metadata,
    belongs_to("group_id", groups, primary_key=True),
    Column("login", Text, primary_key=True, comment="in lower case"),
    Column("actor", Text, nullable=False, comment="who wrote `/r4p delegate`"),
    now("delegated_at"),
    comment="people who may use some commands on one issue",
)

group_members = Table(
    "group_members",
    metadata,
    belongs_to("group_id", groups, primary_key=True),
    Column("pull_number", BigInteger, primary_key=True, autoincrement=False),
    Column("strength", Text, comment="how the pull request is linked; null: only by command"),
    Column("forced", Boolean, comment="true: added by command, false: removed by one"),
)
