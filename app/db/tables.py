"""The tables. Called tables because "model" is the language model here."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _now(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def _time(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True))


deliveries = Table(
    "deliveries",
    metadata,
    _id(),
    Column("guid", Text, nullable=False, unique=True),
    Column("event", Text, nullable=False),
    Column("installation_id", BigInteger, index=True),
    Column("repository_id", BigInteger),
    Column("body", LargeBinary, nullable=False, comment="raw bytes, as signed"),
    _now("received_at"),
    comment="webhook deliveries that were kept; ignored ones are only counted",
)

ignored_deliveries = Table(
    "ignored_deliveries",
    metadata,
    Column("day", Text, primary_key=True, comment="UTC date"),
    Column("reason", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("kind", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("key", Text, comment="jobs with one key are one piece of work"),
    Column("payload", JSONB, nullable=False),
    Column("installation_id", BigInteger, nullable=False, index=True),
    Column("repository_id", BigInteger),
    Column("delivery_guid", Text, index=True, comment="the delivery it came from, if one"),
    Column("state", Text, nullable=False, server_default="ready"),
    Column("attempt", Integer, nullable=False, server_default="0", comment="counted at claim"),
    Column("token", BigInteger, nullable=False, server_default="0", comment="fencing token"),
    _now("run_after"),
    _now("created_at"),
    _time("lease_until"),
    _time("claimed_at"),
    _time("finished_at"),
    Column("error", Text, comment="why the last attempt failed"),
    Column("progress", Text, comment="how far it is, for people"),
    CheckConstraint("state in ('ready','running','done','dead','superseded')", name="state"),
    Index("ix_jobs_due", "queue", "run_after", "id", postgresql_where=text("state = 'ready'")),
    Index("uq_jobs_ready_key", "key", unique=True, postgresql_where=text("state = 'ready'")),
    Index("uq_jobs_running_key", "key", unique=True, postgresql_where=text("state = 'running'")),
    Index("ix_jobs_lease", "lease_until", postgresql_where=text("state = 'running'")),
    Index("ix_jobs_dead_key", "key", "id", postgresql_where=text("state = 'dead'")),
    comment="the queue of record",
)

installations = Table(
    "installations",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("account", Text, nullable=False),
    _time("suspended_at"),
    _now("created_at"),
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
    _now("created_at"),
)

groups = Table(
    "groups",
    metadata,
    _id(),
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
    _now("updated_at"),
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
    Column("title", Text, nullable=False, server_default=""),
    Column("author", Text),
    Column("author_is_bot", Boolean, nullable=False, server_default=text("false")),
    Column("state", Text, nullable=False, server_default="open", comment="open, closed or merged"),
    Column("is_draft", Boolean, nullable=False, server_default=text("false")),
    Column("head_sha", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column("base_ref", Text, nullable=False, server_default=""),
    Column("merge_sha", Text),
    _time("merged_at"),
    _now("updated_at"),
)

group_members = Table(
    "group_members",
    metadata,
    Column("group_id", BigInteger, ForeignKey(groups.c.id, ondelete="CASCADE"), primary_key=True),
    Column("pull_number", BigInteger, primary_key=True, autoincrement=False),
    Column("strength", Text, comment="how the pull request is linked; null: only by command"),
    Column("forced", Boolean, comment="true: added by command, false: removed by one"),
)

patches = Table(
    "patches",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("diff", LargeBinary, nullable=False),
    comment="unified diffs by content",
)

candidates = Table(
    "candidates",
    metadata,
    _id(),
    Column("repository_id", BigInteger, nullable=False),
    Column("pull_number", BigInteger, nullable=False),
    Column("head_sha", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column("patch_sha256", Text, ForeignKey(patches.c.sha256), comment="null: could not be read"),
    Column("unreadable", Text, comment="why there is no patch"),
    Column("files", Integer, nullable=False, server_default="0"),
    _now("created_at"),
    ForeignKeyConstraint(
        ["repository_id", "pull_number"],
        [pull_requests.c.repository_id, pull_requests.c.number],
        ondelete="CASCADE",
    ),
    UniqueConstraint("repository_id", "pull_number", "head_sha", "base_sha"),
    comment="one pull request at one head on one base",
)

evaluations = Table(
    "evaluations",
    metadata,
    _id(),
    Column(
        "group_id",
        BigInteger,
        ForeignKey(groups.c.id, ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("state", Text, nullable=False, server_default="collected"),
    Column("trigger", Text, nullable=False),
    Column("mode", Text, nullable=False, comment="shadow, advisory or enforce, when it was made"),
    Column("votes", Integer, nullable=False, comment="votes asked for"),
    Column("fingerprint", Text, nullable=False, comment="issue text, candidates and their patches"),
    Column("issue_title", Text, nullable=False),
    Column("issue_body", Text, nullable=False),
    Column("verdict", JSONB, comment="r4p.verdict/1"),
    Column("left_out", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    Column(
        "failure", Text, comment="why there is no real verdict; null: there is one, or none yet"
    ),
    _now("created_at"),
    _time("verified_at"),
    _time("published_at"),
    CheckConstraint("state in ('collected','verified','published','superseded')", name="state"),
    comment="one snapshot of a group, judged once; the newest published one is current",
)

evaluation_candidates = Table(
    "evaluation_candidates",
    metadata,
    Column(
        "evaluation_id",
        BigInteger,
        ForeignKey(evaluations.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column(
        "candidate_id",
        BigInteger,
        ForeignKey(candidates.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", Integer, nullable=False),
    Column("strength", Text),
    Column("verdict", Text, comment="null: not yet judged"),
    Column("probability", Float),
    Column("votes_correct", Integer),
    Column("votes_incorrect", Integer),
    Column("votes_none", Integer),
    Column("reason", Text),
)

votes = Table(
    "votes",
    metadata,
    _id(),
    Column(
        "evaluation_id",
        BigInteger,
        ForeignKey(evaluations.c.id, ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("seed", BigInteger, nullable=False),
    Column("seats", ARRAY(Text), nullable=False, comment="patch id per seat; empty: padding"),
    Column("correct", ARRAY(Text), comment="boxed patch ids; null: no vote"),
    Column("forced", Boolean, nullable=False),
    Column("failure", Text),
    Column("reply", Text, nullable=False),
    comment="every reply, kept whole: what training learns from",
)

effects = Table(
    "effects",
    metadata,
    Column("key", Text, primary_key=True, comment="what it is for, e.g. comment:group:7"),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("state", Text, nullable=False, comment="planned, confirmed or ambiguous"),
    Column("github_id", BigInteger),
    Column("digest", Text, comment="SHA-256 of what GitHub is known to show"),
    _now("updated_at"),
    CheckConstraint("state in ('planned','confirmed','ambiguous')", name="state"),
    comment="what we wrote on GitHub, planned before it is sent",
)

outcome_events = Table(
    "outcome_events",
    metadata,
    _id(),
    Column("source", Text, nullable=False, unique=True, comment="what it was read from, once"),
    Column("delivery_guid", Text),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("issue_number", BigInteger),
    Column("pull_number", BigInteger),
    Column("kind", Text, nullable=False),
    Column("actor", Text),
    Column("actor_id", BigInteger),
    Column("permission", Text, comment="at that time; null: not known"),
    Column("head_sha", Text),
    Column("evaluation_id", BigInteger, comment="the verdict that was public then; null: none"),
    Column("data", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("occurred_at", DateTime(timezone=True), nullable=False),
    Index("ix_outcome_events_pull", "repository_id", "pull_number", "id"),
    Index("ix_outcome_events_issue", "repository_id", "issue_number", "id"),
    comment="raw events, kept as they came; labels are derived and can be derived again",
)

outcomes = Table(
    "outcomes",
    metadata,
    _id(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("pull_number", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("reason", Text, comment="what is known of why"),
    Column("value", Float, comment="a share for survival; null elsewhere"),
    Column("head_sha", Text),
    Column("actor", Text),
    Column("permission", Text),
    Column(
        "event_id",
        BigInteger,
        ForeignKey(outcome_events.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("rule_version", Integer, nullable=False),
    _now("derived_at"),
    UniqueConstraint("repository_id", "pull_number", "kind", "event_id"),
    comment="derived from raw events by a versioned rule",
)

etags = Table(
    "etags",
    metadata,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column("path", Text, primary_key=True),
    Column("etag", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    _now("updated_at"),
    comment="answers GitHub lets us revalidate for free",
)

write_limits = Table(
    "write_limits",
    metadata,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", JSONB, nullable=False),
    comment="one shared limiter per installation",
)
