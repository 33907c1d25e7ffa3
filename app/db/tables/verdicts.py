"""Tables of evaluations, candidates, patches and votes."""

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import identity, metadata, moment, now
from app.db.tables.groups import groups, pull_requests

patches = Table(
    "patches",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("diff", LargeBinary, nullable=False),
    Column("edit", Text, nullable=False, comment="the same for diffs that make the same edit"),
    comment="unified diffs by content",
)

candidates = Table(
    "candidates",
    metadata,
    identity(),
    Column("repository_id", BigInteger, nullable=False),
    Column("pull_number", BigInteger, nullable=False),
    Column("head_sha", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column("patch_sha256", Text, ForeignKey(patches.c.sha256), comment="null: could not be read"),
    Column("unreadable", Text, comment="why there is no patch"),
    Column(
        "read_again",
        Boolean,
        nullable=False,
        server_default="false",
        comment="what kept its patch from being read may pass",
    ),
    Column("files", Integer, nullable=False, server_default="0"),
    now("created_at"),
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
    identity(),
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
    Column("verifier", Text, comment="who judged; null: nobody yet, or it could not finish"),
    Column("verdict", JSONB, comment="r4p.verdict/1"),
    Column(
        "alternatives_wanted",
        Integer,
        nullable=False,
        server_default="0",
        comment="how many an agent is still to write; 0: it can be judged",
    ),
    Column("alternatives_base", Text, comment="the commit that it works on; null: none was wanted"),
    Column("alternatives_lack", Text, comment="why there are fewer than wanted"),
    Column("asked_in", Text, comment="where it was asked for; null: nowhere"),
    Column("asked_under", BigInteger, comment="the issue or pull request that was written under"),
    Column("left_out", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    Column(
        "all_links_read",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="false: rivals may be missing",
    ),
    Column(
        "failure", Text, comment="why there is no real verdict; null: there is one, or none yet"
    ),
    now("created_at"),
    moment("verified_at"),
    moment("published_at"),
    CheckConstraint("state in ('collected','verified','published','superseded')", name="state"),
    comment="one snapshot of a group, judged once; the newest published one is current",
)


def build_opinion_columns() -> list[Column[Any]]:
    """Build the columns of a patch's position in an evaluation and of the verdict on it."""
    return [
        Column("position", Integer, nullable=False),
        Column("verdict", Text, comment="null: not yet judged"),
        Column("probability", Float),
        Column("votes_correct", Integer),
        Column("votes_incorrect", Integer),
        Column("votes_none", Integer),
        Column("score", Float, comment="evidence: the model's belief; null: none that can be read"),
        Column("forced_share", Float, comment="evidence: share of votes that were asked once more"),
        Column("consensus", Float, comment="evidence: how rivals agree"),
        Column("reason", Text),
    ]


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
    Column("strength", Text),
    *build_opinion_columns(),
)

votes = Table(
    "votes",
    metadata,
    identity(),
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
