"""Tables of the agents' attempts, their runs, hints and draft pull requests."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import belongs_to, identity, metadata, moment, now
from app.db.tables.groups import groups, repositories
from app.db.tables.verdicts import build_opinion_columns, evaluations, patches

attempts = Table(
    "attempts",
    metadata,
    identity(),
    belongs_to("repository_id", repositories),
    belongs_to("group_id", groups),
    Column(
        "number",
        Integer,
        comment="number of the alternative in its group (A1, A2, …); null: no new edit",
    ),
    Column("base_sha", Text, nullable=False, comment="commit that the agent saw"),
    Column("issue_sha256", Text, nullable=False, comment="SHA-256 of the issue's text"),
    Column("agent", Text, nullable=False),
    Column("engine", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("stop", Text, nullable=False, comment="reason of the end"),
    Column("failure", Text, comment="error message for the operator"),
    Column("steps", Integer, nullable=False),
    Column(
        "patch_sha256", Text, ForeignKey(patches.c.sha256), index=True, comment="null: no patch"
    ),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column(
        "trajectory",
        LargeBinary,
        comment="r4p.trajectory/1, compressed by zlib; null: the agent's process died",
    ),
    Column(
        "guided_by",
        BigInteger,
        ForeignKey("attempts.id", ondelete="CASCADE"),
        index=True,
        comment="the earlier attempt that its hint is about; null: it had no hint",
    ),
    Column("guidance", JSONB, comment="the hint; null: none"),
    now("created_at"),
    UniqueConstraint("group_id", "number"),
    CheckConstraint(
        "cached_tokens between 0 and prompt_tokens and completion_tokens >= 0 and seconds >= 0",
        name="figures",
    ),
    Index("ix_attempts_repository_id", "repository_id", "created_at"),
    comment="attempts of agents with their trajectories; training reads them",
)

agent_runs = Table(
    "agent_runs",
    metadata,
    identity(),
    belongs_to("repository_id", repositories),
    Column(
        "tokens",
        BigInteger,
        nullable=False,
        comment="tokens without cached ones; the reserved maximum while the run is open",
    ),
    Column(
        "seconds",
        Float,
        nullable=False,
        comment="duration of all attempts; the reserved maximum while the run is open",
    ),
    moment("ended_at"),
    now("created_at"),
    CheckConstraint("tokens >= 0 and seconds >= 0", name="figures"),
    Index("ix_agent_runs_repository_id", "repository_id", "created_at"),
    comment="cost of agents' processes; a run without an end costs its reserved maximum",
)

evaluation_alternatives = Table(
    "evaluation_alternatives",
    metadata,
    belongs_to("evaluation_id", evaluations, primary_key=True),
    belongs_to("attempt_id", attempts, primary_key=True, index=True),
    *build_opinion_columns(),
    comment="alternatives in evaluations, with their verdicts",
)


drafts = Table(
    "drafts",
    metadata,
    identity(),
    belongs_to("repository_id", repositories),
    belongs_to(
        "attempt_id", attempts, unique=True, comment="the attempt that wrote the alternative"
    ),
    Column("asked_in", Text, nullable=False, comment="the comment or review that asked last"),
    Column("asked_under", BigInteger, nullable=False),
    Column("asked_by", Text, nullable=False),
    Column("pull_number", BigInteger, comment="null: not open yet"),
    Column("not_opened", Text, comment="why the last attempt to open it failed"),
    now("created_at"),
    UniqueConstraint("repository_id", "pull_number"),
    comment="draft pull requests that show alternatives; they are no rivals",
)


hints = Table(
    "hints",
    metadata,
    belongs_to(
        "attempt_id",
        attempts,
        primary_key=True,
        autoincrement=False,
        comment="the attempt that wrote the alternative",
    ),
    Column("source", Text, nullable=False, comment="maintainer, check or verdict"),
    Column("words", Text, nullable=False),
    Column("said_by", Text, nullable=False, comment="login, or name of the check or verifier"),
    now("created_at"),
    comment="criticism of alternatives; each hint leads to one second attempt",
)
