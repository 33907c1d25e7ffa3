"""Tables of evaluations, candidates, patches, checklists and votes."""

from typing import Any

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
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import belongs_to, identity, metadata, moment, now
from app.db.tables.groups import groups, pull_requests

patches = Table(
    "patches",
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("diff", LargeBinary, nullable=False),
    Column("edit", Text, nullable=False, comment="fingerprint that equal edits share"),
    comment="unified diffs by the SHA-256 of their content",
)

candidates = Table(
    "candidates",
    metadata,
    identity(),
    Column("repository_id", BigInteger, nullable=False),
    Column("pull_number", BigInteger, nullable=False),
    Column("head_sha", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column(
        "patch_sha256",
        Text,
        ForeignKey(patches.c.sha256),
        index=True,
        comment="null: unreadable patch",
    ),
    Column("unreadable", Text, comment="why there is no patch"),
    Column(
        "read_again",
        Boolean,
        nullable=False,
        server_default="false",
        comment="true: the patch may be readable later",
    ),
    Column("files", Integer, nullable=False, server_default="0"),
    Column(
        "normalised_sha256",
        Text,
        comment="hash without blanks and comments; null: every byte counts",
    ),
    now("created_at"),
    ForeignKeyConstraint(
        ["repository_id", "pull_number"],
        [pull_requests.c.repository_id, pull_requests.c.number],
        ondelete="CASCADE",
    ),
    UniqueConstraint("repository_id", "pull_number", "head_sha", "base_sha"),
    comment="candidates: a pull request at one head commit on one base commit",
)

evaluations = Table(
    "evaluations",
    metadata,
    identity(),
    belongs_to("group_id", groups, index=True),
    Column("state", Text, nullable=False, server_default="collected"),
    Column("trigger", Text, nullable=False),
    Column("mode", Text, nullable=False, comment="shadow, advisory or enforce at that time"),
    Column("votes", Integer, nullable=False, comment="number of requested votes"),
    Column("fingerprint", Text, nullable=False, comment="hash of issue text and patches"),
    Column("issue_title", Text, nullable=False),
    Column("issue_body", Text, nullable=False),
    Column("verifier", Text, comment="name of the verifier; null: not judged yet, or it failed"),
    Column("verdict", JSONB, comment="r4p.verdict/1"),
    Column(
        "alternatives_wanted",
        Integer,
        nullable=False,
        server_default="0",
        comment="alternatives that agents still have to write; 0: the group can be judged",
    ),
    Column("tree_base", Text, comment="commit whose source tree was handed over; null: none was"),
    Column("alternatives_lack", Text, comment="why there are fewer than wanted"),
    Column("asked_in", Text, comment="comment or review that asked; null: none"),
    Column("asked_under", BigInteger, comment="issue or pull request of that comment"),
    Column(
        "caused_by",
        ARRAY(Text),
        nullable=False,
        server_default="{}",
        comment="logins and pull requests whose changes led to it",
    ),
    Column("left_out", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    Column(
        "all_links_read",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="false: the issue has more links than the bot reads",
    ),
    Column("moved_from", BigInteger, comment="evaluation that gave the verdict; null: this one"),
    Column(
        "failure",
        Text,
        comment="why the verdict is not real; null: it is real, or there is none yet",
    ),
    now("created_at"),
    moment("verified_at"),
    moment("published_at"),
    CheckConstraint("state in ('collected','verified','published','superseded')", name="state"),
    Index("ix_evaluations_created_at", "created_at"),
    comment="snapshots of groups, each judged once; the newest published one is current",
)


def build_opinion_columns() -> list[Column[Any]]:
    """Build the table columns for a patch's position in an evaluation, the verdict on it and its evidence."""
    return [
        Column("position", Integer, nullable=False),
        Column("verdict", Text, comment="null: not yet judged"),
        Column("probability", Float),
        Column("votes_correct", Integer),
        Column("votes_incorrect", Integer),
        Column("votes_none", Integer),
        Column("score", Float, comment="evidence: the model's belief; null: unreadable"),
        Column("forced_share", Float, comment="evidence: share of votes with a forced answer"),
        Column("consensus", Float, comment="evidence: the belief of the consensus model"),
        Column("reason", Text),
    ]


evaluation_candidates = Table(
    "evaluation_candidates",
    metadata,
    belongs_to("evaluation_id", evaluations, primary_key=True),
    belongs_to("candidate_id", candidates, primary_key=True, index=True),
    Column("strength", Text),
    *build_opinion_columns(),
)

rubrics = Table(
    "rubrics",
    metadata,
    belongs_to("evaluation_id", evaluations, primary_key=True),
    Column(
        "digest",
        Text,
        primary_key=True,
        comment="hash of the issue's text, the base commit, the model and the prompt",
    ),
    Column("document", JSONB, nullable=False, comment="r4p.rubric/1"),
    now("created_at"),
    comment="checklists that the engine wrote for an issue; its later evaluations use them again",
)

votes = Table(
    "votes",
    metadata,
    belongs_to("evaluation_id", evaluations, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False, comment="its place, from 0"),
    Column("created_at", DateTime(timezone=True), primary_key=True, server_default=func.now()),
    Column("seed", BigInteger, nullable=False),
    Column("seats", ARRAY(Text), nullable=False, comment="patch id of each seat; empty: padding"),
    Column("correct", ARRAY(Text), comment="boxed patch ids; null: unreadable"),
    Column("forced", Boolean, nullable=False),
    Column("failure", Text),
    Column("reply", Text, nullable=False),
    comment="replies of the engine in full, one partition a month",
    postgresql_partition_by="RANGE (created_at)",
)
