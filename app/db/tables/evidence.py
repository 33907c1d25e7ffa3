"""Tables of the tests that run on the candidates of a group, and of what they showed on the base."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    false,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import metadata, moment, now
from app.db.tables.groups import repositories
from app.db.tables.verdicts import evaluations

group_tests = Table(
    "group_tests",
    metadata,
    Column(
        "evaluation_id",
        BigInteger,
        ForeignKey(evaluations.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("command", Text, nullable=False),
    Column("environment", Text, nullable=False, comment="name of the test environment"),
    Column("seconds", Integer, nullable=False, comment="time limit of one run"),
    Column(
        "reproduction",
        Boolean,
        nullable=False,
        server_default=false(),
        comment="whether the repository wants tests written for the issue",
    ),
    Column("base_branch", Text, comment="branch of base_sha; null: no commit to test on"),
    Column("base_sha", Text, comment="commit on which the tests run"),
    now("created_at"),
    moment("started_at"),
    moment("finished_at"),
    Column("failure", Text, comment="why there is no evidence, for people; null: there is some"),
    Column("expected", Integer, comment="tests that pass on the base in every run"),
    Column("flaky", Integer, comment="tests that pass on the base in some runs only"),
    Column("results", JSONB, comment="evidence by patch id, as in r4p.verdict/1; null: none yet"),
    Index("ix_group_tests_started_at", "started_at"),
    comment="the repository's tests on one frozen group",
)

reproduction_tests = Table(
    "reproduction_tests",
    metadata,
    Column(
        "evaluation_id",
        BigInteger,
        ForeignKey(evaluations.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("wanted", Integer, nullable=False, comment="tests that the engine is asked for"),
    Column("example_path", Text, comment="test file of the base that the engine sees"),
    Column("example_text", Text, comment="its text; null once the engine has ended"),
    now("created_at"),
    moment("finished_at"),
    Column("failure", Text, comment="why there is no script, for people"),
    Column("scripts", JSONB, comment="texts of the scripts; null: none yet"),
    Column("tokens", Integer, nullable=False, server_default="0", comment="cost of the replies"),
    Index("ix_reproduction_tests_created_at", "created_at"),
    comment="tests that the engine writes for the issue of one frozen group",
)

test_baselines = Table(
    "test_baselines",
    metadata,
    Column(
        "repository_id",
        BigInteger,
        ForeignKey(repositories.c.id, ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("base_sha", Text, primary_key=True),
    Column("command", Text, primary_key=True),
    Column("environment", Text, primary_key=True, comment="digest of its packages and its Python"),
    Column("document", LargeBinary, nullable=False, comment="r4p.baseline/1, compressed by zlib"),
    now("created_at"),
    Index("ix_test_baselines_created_at", "created_at"),
    comment="which tests pass on a commit; kept for 30 days",
)
