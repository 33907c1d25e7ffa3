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

from app.db.tables.columns import identity, metadata, moment, now
from app.db.tables.groups import groups, repositories
from app.db.tables.verdicts import build_opinion_columns, evaluations, patches

attempts = Table(
    "attempts",
    metadata,
    identity(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column("group_id", BigInteger, ForeignKey(groups.c.id, ondelete="CASCADE"), nullable=False),
    Column(
        "number", Integer, comment="of its patch among the group's, A1 and on; null: no new one"
    ),
    Column("base_sha", Text, nullable=False, comment="the commit whose tree was given"),
    Column("issue_sha256", Text, nullable=False, comment="of the issue's text"),
    Column("agent", Text, nullable=False),
    Column("engine", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("stop", Text, nullable=False, comment="why it ended"),
    Column("failure", Text, comment="what failed, in words for the operator"),
    Column("steps", Integer, nullable=False),
    Column("patch_sha256", Text, ForeignKey(patches.c.sha256), comment="null: it handed in none"),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("seconds", Float, nullable=False),
    Column(
        "trajectory", LargeBinary, comment="r4p.trajectory/1, zlib; null: its process died with it"
    ),
    Column(
        "guided_by",
        BigInteger,
        ForeignKey("attempts.id", ondelete="CASCADE"),
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
    comment="every attempt of an agent, kept whole: what training learns from",
)

agent_runs = Table(
    "agent_runs",
    metadata,
    identity(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column(
        "tokens",
        BigInteger,
        nullable=False,
        comment="without cached ones; at most these as long as it is at work",
    ),
    Column(
        "seconds", Float, nullable=False, comment="of all attempts together; at most, as tokens are"
    ),
    moment("ended_at"),
    now("created_at"),
    CheckConstraint("tokens >= 0 and seconds >= 0", name="figures"),
    Index("ix_agent_runs_repository_id", "repository_id", "created_at"),
    comment="the bill: what an agent's process may cost, and what it did; whose worker died costs what it might have",
)

evaluation_alternatives = Table(
    "evaluation_alternatives",
    metadata,
    Column(
        "evaluation_id",
        BigInteger,
        ForeignKey(evaluations.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column(
        "attempt_id",
        BigInteger,
        ForeignKey(attempts.c.id, ondelete="CASCADE"),
        primary_key=True,
    ),
    *build_opinion_columns(),
    comment="patches of our own that were judged beside pull requests",
)


drafts = Table(
    "drafts",
    metadata,
    identity(),
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        nullable=False,
    ),
    Column(
        "attempt_id",
        BigInteger,
        ForeignKey(attempts.c.id, ondelete="CASCADE"),
        nullable=False,
        unique=True,
        comment="which wrote the alternative",
    ),
    Column("asked_in", Text, nullable=False, comment="the comment or review that asked last"),
    Column("asked_under", BigInteger, nullable=False),
    Column("asked_by", Text, nullable=False),
    Column("pull_number", BigInteger, comment="null: it is not open yet"),
    Column("not_opened", Text, comment="why the last attempt came to nothing"),
    now("created_at"),
    UniqueConstraint("repository_id", "pull_number"),
    comment="draft pull requests of alternatives: ours, so nobody's rivals",
)


hints = Table(
    "hints",
    metadata,
    Column(
        "attempt_id",
        BigInteger,
        ForeignKey(attempts.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="which wrote the alternative",
    ),
    Column("source", Text, nullable=False, comment="who speaks: maintainer, check, verdict"),
    Column("words", Text, nullable=False),
    Column("said_by", Text, nullable=False, comment="the login, the check or the verifier"),
    now("created_at"),
    comment="what was said against an alternative; one second attempt is made with it",
)
