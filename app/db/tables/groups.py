"""Tables of installations, repositories, groups and pull requests."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Table, Text, UniqueConstraint

from app.db.tables.columns import identity, metadata, moment, now

installations = Table(
    "installations",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("account", Text, nullable=False),
    moment("suspended_at"),
    now("created_at"),
)

repositories = Table(
    "repositories",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column(
        "installation_id",
        BigInteger,
        ForeignKey(installations.c.id, ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("full_name", Text, nullable=False),
    Column("default_branch", Text),
    Column("config_text", Text, comment="the last good .github/r4p.yml; null: none"),
    Column("config_error", Text, comment="why the newest file is not used; null: it is"),
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
        comment="0: everything of the installation",
    ),
    now("forgotten_at"),
    comment="what was purged, so that late deliveries don't bring it back",
)

groups = Table(
    "groups",
    metadata,
    identity(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("issue_number", BigInteger, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("body", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False, server_default="open"),
    Column("waiting", Text, comment="why no verdict is being made; null: nothing in the way"),
    now("updated_at"),
    UniqueConstraint("repository_id", "issue_number"),
    comment="an issue and the pull requests that claim to resolve it",
)

pull_requests = Table(
    "pull_requests",
    metadata,
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False, server_default="open", comment="open, closed or merged"),
    Column("head_sha", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column("base_ref", Text, nullable=False, server_default=""),
    Column("author", Text, comment="who opened it; null: the account is gone, or nobody looked"),
    now("updated_at"),
)

group_members = Table(
    "group_members",
    metadata,
    Column("group_id", BigInteger, ForeignKey(groups.c.id, ondelete="CASCADE"), primary_key=True),
    Column("pull_number", BigInteger, primary_key=True, autoincrement=False),
    Column("strength", Text, comment="how the pull request is linked; null: only by command"),
    Column("forced", Boolean, comment="true: added by command, false: removed by one"),
)
