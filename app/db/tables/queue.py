"""Tables of the queue of record and of the exchange with GitHub."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.columns import belongs_to, identity, metadata, moment, now
from app.db.tables.groups import repositories

deliveries = Table(
    "deliveries",
    metadata,
    identity(),
    Column("guid", Text, nullable=False, unique=True),
    Column("event", Text, nullable=False),
    Column("installation_id", BigInteger, index=True),
    Column("repository_id", BigInteger),
    now("received_at"),
    comment="stored webhook deliveries; ignored ones are only counted",
)

delivery_bodies = Table(
    "delivery_bodies",
    metadata,
    Column("delivery_id", BigInteger, primary_key=True, autoincrement=False),
    Column("received_at", DateTime(timezone=True), primary_key=True, comment="as in deliveries"),
    Column("body", LargeBinary, nullable=False, comment="raw bytes of the signed body"),
    comment="bodies of deliveries, one partition a month; no foreign key, so that dropping a month locks no delivery",
    postgresql_partition_by="RANGE (received_at)",
)

ignored_deliveries = Table(
    "ignored_deliveries",
    metadata,
    Column("reason", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    identity(),
    Column("kind", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("key", Text, comment="jobs with equal keys do the same work"),
    Column(
        "wish", Text, nullable=False, server_default="", comment="who asked for it; empty: none"
    ),
    Column("payload", JSONB, nullable=False),
    Column("installation_id", BigInteger, nullable=False, index=True),
    Column("repository_id", BigInteger),
    Column("delivery_guid", Text, index=True, comment="delivery that caused the job; null: none"),
    Column("state", Text, nullable=False, server_default="ready"),
    Column("attempt", Integer, nullable=False, server_default="0", comment="number of claims"),
    Column("token", BigInteger, nullable=False, server_default="0", comment="fencing token"),
    now("run_after"),
    now("created_at"),
    moment("lease_until"),
    moment("claimed_at"),
    moment("finished_at"),
    Column("error", Text, comment="why the last attempt failed"),
    Column("progress", Text, comment="progress of the running job, as text for people"),
    Column("waits_for", Text, comment="what was not ready at the last attempt; null: nothing"),
    Column("waits", Integer, nullable=False, server_default="0", comment="waits in a row"),
    moment("waits_since"),
    CheckConstraint("state in ('ready','running','done','dead','superseded')", name="state"),
    Index(
        "ix_jobs_turn",
        "queue",
        "installation_id",
        "run_after",
        "id",
        postgresql_where=text("state = 'ready'"),
    ),
    Index(
        "ix_jobs_running_turn",
        "queue",
        "installation_id",
        postgresql_where=text("lease_until is not null"),
    ),
    Index(
        "uq_jobs_ready_key", "key", "wish", unique=True, postgresql_where=text("state = 'ready'")
    ),
    Index("uq_jobs_running_key", "key", unique=True, postgresql_where=text("state = 'running'")),
    Index("ix_jobs_lease", "lease_until", postgresql_where=text("state = 'running'")),
    Index(
        "ix_jobs_ended",
        "finished_at",
        postgresql_where=text("state in ('done','superseded')"),
    ),
    Index("ix_jobs_dead_key", "key", "id", postgresql_where=text("state = 'dead'")),
    Index("ix_jobs_command_key", "key", postgresql_where=text("kind = 'run_command'")),
    comment="the queue of record",
)

installation_controls = Table(
    "installation_controls",
    metadata,
    Column(
        "installation_id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="0: all installations",
    ),
    Column(
        "account_id",
        BigInteger,
        index=True,
        comment="the account of a removed installation, whose next one inherits this row",
    ),
    moment("paused_at"),
    Column(
        "limits",
        JSONB,
        nullable=False,
        server_default=text("'{}'"),
        comment="limits that replace the operator's settings, by name",
    ),
    comment="what the operator decided about installations: pauses and limits of their own",
)

purged_usage = Table(
    "purged_usage",
    metadata,
    identity(),
    Column("repository_id", BigInteger, nullable=False),
    Column("account_id", BigInteger, comment="the account that owned it; null: not known"),
    Column("day", Date, nullable=False, comment="in UTC"),
    Column("evaluations", BigInteger, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    comment="what purged repositories used today, so that a repository added again has no new budget",
)

effects = Table(
    "effects",
    metadata,
    belongs_to("repository_id", repositories, primary_key=True),
    Column("key", Text, primary_key=True, comment="its name, such as comment:group:7"),
    Column("state", Text, nullable=False, comment="planned, confirmed or ambiguous"),
    Column("github_id", BigInteger),
    Column("content", Text, nullable=False, comment="what the newest plan wants to be shown"),
    Column("job_id", BigInteger, nullable=False, comment="job of the newest plan"),
    Column("token", BigInteger, nullable=False, comment="fencing token of the newest plan"),
    Column("evaluation_id", BigInteger, index=True, comment="its evaluation; null: no verdict"),
    now("updated_at"),
    CheckConstraint("state in ('planned','confirmed','ambiguous')", name="state"),
    comment="writes to GitHub, planned before they are sent",
)

confirmed_writes = Table(
    "confirmed_writes",
    metadata,
    identity(),
    Column("key", Text, nullable=False, comment="the effect's name, such as comment:group:7"),
    belongs_to("repository_id", repositories, index=True),
    Column("github_id", BigInteger, nullable=False),
    Column("job_id", BigInteger, nullable=False, index=True),
    Column("evaluation_id", BigInteger, comment="null: no verdict"),
    Column("delivery_guid", Text, index=True, comment="delivery that caused it; null: none"),
    now("confirmed_at"),
    comment="every write that GitHub confirmed, with the job and the delivery that caused it",
)

job_causes = Table(
    "job_causes",
    metadata,
    belongs_to("job_id", jobs, primary_key=True),
    belongs_to("cause_id", jobs, primary_key=True, index=True),
    comment="which job stored which; a ready job that absorbs others has several causes",
)

command_answers = Table(
    "command_answers",
    metadata,
    belongs_to("repository_id", repositories, primary_key=True),
    Column("source", Text, primary_key=True, comment="the comment or review with commands"),
    Column("person_id", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False, comment="its issue or pull request"),
    Column("answer", Text, nullable=False, comment="reply, refusal or silence"),
    now("answered_at"),
    Index("ix_command_answers_person", "repository_id", "person_id", "answered_at"),
    Index("ix_command_answers_age", "answered_at"),
    comment="answers to commands, which are limited for each person; kept for 30 days",
)

etags = Table(
    "etags",
    metadata,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column("path", Text, primary_key=True),
    Column("etag", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    now("updated_at"),
    comment="cached responses of GitHub; asking whether they changed costs no quota",
)

write_limits = Table(
    "write_limits",
    metadata,
    Column("installation_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", JSONB, nullable=False),
    comment="state of the write limiter, which all processes share, per installation",
)
