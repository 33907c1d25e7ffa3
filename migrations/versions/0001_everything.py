"""Everything the first version keeps."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = (
    "calibrators",
    "deliveries",
    "etags",
    "forgotten",
    "ignored_deliveries",
    "installations",
    "jobs",
    "patches",
    "write_limits",
    "repositories",
    "effects",
    "groups",
    "outcome_events",
    "pull_requests",
    "candidates",
    "evaluations",
    "group_members",
    "outcomes",
    "attempts",
    "agent_runs",
    "drafts",
    "evaluation_alternatives",
    "evaluation_candidates",
    "hints",
    "votes",
)
"""In the order of creation: what refers comes after what is referred to."""


def upgrade() -> None:
    op.create_table(
        "calibrators",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("verifier", sa.Text(), nullable=False, comment="its name in the catalogue"),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_fingerprint", sa.Text(), nullable=False),
        sa.Column(
            "state", sa.Text(), nullable=False, comment="of one judge, one is active at most"
        ),
        sa.Column("why", sa.Text(), nullable=False, comment="why it was put into use, or was not"),
        sa.Column(
            "document",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="r4p.calibrator/1",
        ),
        sa.Column(
            "label_rule",
            sa.Integer(),
            nullable=False,
            comment="version of the rule of labels; 0: from a file",
        ),
        sa.Column("issues", sa.Integer(), nullable=False, comment="history it was fitted on"),
        sa.Column("correct", sa.Integer(), nullable=False),
        sa.Column("incorrect", sa.Integer(), nullable=False),
        sa.Column(
            "seen",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="the groups of that history",
        ),
        sa.Column(
            "brier", sa.Float(), nullable=False, comment="on issues held out; lower is better"
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "state in ('active','refused','retired')", name=op.f("ck_calibrators_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calibrators")),
        comment="fitted on what became of judged patches; a few numbers that name nobody",
    )
    op.create_index(
        "uq_calibrators_active",
        "calibrators",
        ["verifier", "engine", "model", "prompt_fingerprint"],
        unique=True,
        postgresql_where=sa.text("state = 'active'"),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("guid", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False, comment="raw bytes, as signed"),
        sa.Column(
            "received_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("guid", name=op.f("uq_deliveries_guid")),
        comment="webhook deliveries that were kept; ignored ones are only counted",
    )
    op.create_index(
        op.f("ix_deliveries_installation_id"), "deliveries", ["installation_id"], unique=False
    )
    op.create_table(
        "etags",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("installation_id", "path", name=op.f("pk_etags")),
        comment="answers GitHub lets us revalidate for free",
    )
    op.create_table(
        "forgotten",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "repository_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="0: everything of the installation",
        ),
        sa.Column(
            "forgotten_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("installation_id", "repository_id", name=op.f("pk_forgotten")),
        comment="what was purged, so that late deliveries don't bring it back",
    )
    op.create_table(
        "ignored_deliveries",
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("reason", name=op.f("pk_ignored_deliveries")),
    )
    op.create_table(
        "installations",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("suspended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installations")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column(
            "key", sa.Text(), nullable=True, comment="jobs with one key are one piece of work"
        ),
        sa.Column(
            "wish",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="the person's it is, if one's",
        ),
        sa.Column("payload", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "delivery_guid", sa.Text(), nullable=True, comment="the delivery it came from, if one"
        ),
        sa.Column("state", sa.Text(), server_default="ready", nullable=False),
        sa.Column(
            "attempt", sa.Integer(), server_default="0", nullable=False, comment="counted at claim"
        ),
        sa.Column(
            "token", sa.BigInteger(), server_default="0", nullable=False, comment="fencing token"
        ),
        sa.Column(
            "run_after", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True, comment="why the last attempt failed"),
        sa.Column("progress", sa.Text(), nullable=True, comment="how far it is, for people"),
        sa.Column(
            "waits_for",
            sa.Text(),
            nullable=True,
            comment="who was not ready at the last attempt; null: nobody else",
        ),
        sa.Column(
            "waits", sa.Integer(), server_default="0", nullable=False, comment="times in a row"
        ),
        sa.Column("waits_since", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('ready','running','done','dead','superseded')", name=op.f("ck_jobs_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        comment="the queue of record",
    )
    op.create_index(
        "ix_jobs_dead_key",
        "jobs",
        ["key", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'dead'"),
    )
    op.create_index(op.f("ix_jobs_delivery_guid"), "jobs", ["delivery_guid"], unique=False)
    op.create_index(
        "ix_jobs_due",
        "jobs",
        ["queue", "run_after", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'ready'"),
    )
    op.create_index(
        "ix_jobs_ended",
        "jobs",
        ["finished_at"],
        unique=False,
        postgresql_where=sa.text("state in ('done','superseded')"),
    )
    op.create_index(op.f("ix_jobs_installation_id"), "jobs", ["installation_id"], unique=False)
    op.create_index(
        "ix_jobs_lease",
        "jobs",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "uq_jobs_ready_key",
        "jobs",
        ["key", "wish"],
        unique=True,
        postgresql_where=sa.text("state = 'ready'"),
    )
    op.create_index(
        "uq_jobs_running_key",
        "jobs",
        ["key"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "patches",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("diff", sa.LargeBinary(), nullable=False),
        sa.Column(
            "edit",
            sa.Text(),
            nullable=False,
            comment="the same for diffs that make the same edit",
        ),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_patches")),
        comment="unified diffs by content",
    )
    op.create_table(
        "write_limits",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("state", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("installation_id", name=op.f("pk_write_limits")),
        comment="one shared limiter per installation",
    )
    op.create_table(
        "repositories",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("full_name", sa.Text(), nullable=False),
        sa.Column("default_branch", sa.Text(), nullable=True),
        sa.Column(
            "config_text",
            sa.Text(),
            nullable=True,
            comment="the last good .github/r4p.yml; null: none",
        ),
        sa.Column(
            "config_error",
            sa.Text(),
            nullable=True,
            comment="why the newest file is not used; null: it is",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["installation_id"],
            ["installations.id"],
            name=op.f("fk_repositories_installation_id_installations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repositories")),
    )
    op.create_index(
        op.f("ix_repositories_installation_id"), "repositories", ["installation_id"], unique=False
    )
    op.create_table(
        "effects",
        sa.Column("key", sa.Text(), nullable=False, comment="what it is for, e.g. comment:group:7"),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, comment="planned, confirmed or ambiguous"),
        sa.Column("github_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "digest", sa.Text(), nullable=True, comment="SHA-256 of what GitHub is known to show"
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "state in ('planned','confirmed','ambiguous')", name=op.f("ck_effects_state")
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_effects_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_effects")),
        comment="what we wrote on GitHub, planned before it is sent",
    )
    op.create_index(op.f("ix_effects_repository_id"), "effects", ["repository_id"], unique=False)
    op.create_table(
        "groups",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("issue_number", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("body", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column(
            "waiting",
            sa.Text(),
            nullable=True,
            comment="why no verdict is being made; null: nothing in the way",
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_groups_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_groups")),
        sa.UniqueConstraint(
            "repository_id", "issue_number", name=op.f("uq_groups_repository_id_issue_number")
        ),
        comment="an issue and the pull requests that claim to resolve it",
    )
    op.create_table(
        "outcome_events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("source", sa.Text(), nullable=False, comment="what it was read from, once"),
        sa.Column("delivery_guid", sa.Text(), nullable=True),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("issue_number", sa.BigInteger(), nullable=True),
        sa.Column("pull_number", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("actor_id", sa.BigInteger(), nullable=True),
        sa.Column(
            "permission",
            sa.Text(),
            nullable=True,
            comment="at that time; app: none applies; null: not known",
        ),
        sa.Column(
            "permission_asked_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when GitHub told it",
        ),
        sa.Column(
            "head_sha",
            sa.Text(),
            nullable=True,
            comment="null: it is about the heads judged in evaluation_id, if any",
        ),
        sa.Column(
            "evaluation_id",
            sa.BigInteger(),
            nullable=True,
            comment="the verdict that was public then; null: none",
        ),
        sa.Column(
            "data",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_outcome_events_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outcome_events")),
        sa.UniqueConstraint("source", name=op.f("uq_outcome_events_source")),
        comment="raw events, kept as they came; labels are derived and can be derived again",
    )
    op.create_index(
        "ix_outcome_events_head",
        "outcome_events",
        ["repository_id", "head_sha"],
        unique=False,
    )
    op.create_index(
        "ix_outcome_events_issue",
        "outcome_events",
        ["repository_id", "issue_number", "id"],
        unique=False,
    )
    op.create_index(
        "ix_outcome_events_pull",
        "outcome_events",
        ["repository_id", "pull_number", "id"],
        unique=False,
    )
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
            nullable=True,
            comment="who opened it; null: the account is gone, or nobody looked",
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_pull_requests_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("repository_id", "number", name=op.f("pk_pull_requests")),
    )
    op.create_table(
        "candidates",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), nullable=False),
        sa.Column("head_sha", sa.Text(), nullable=False),
        sa.Column("base_sha", sa.Text(), nullable=False),
        sa.Column("patch_sha256", sa.Text(), nullable=True, comment="null: could not be read"),
        sa.Column("unreadable", sa.Text(), nullable=True, comment="why there is no patch"),
        sa.Column(
            "read_again",
            sa.Boolean(),
            server_default="false",
            nullable=False,
            comment="what kept its patch from being read may pass",
        ),
        sa.Column("files", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["patch_sha256"], ["patches.sha256"], name=op.f("fk_candidates_patch_sha256_patches")
        ),
        sa.ForeignKeyConstraint(
            ["repository_id", "pull_number"],
            ["pull_requests.repository_id", "pull_requests.number"],
            name=op.f("fk_candidates_repository_id_pull_number_pull_requests"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
        sa.UniqueConstraint(
            "repository_id",
            "pull_number",
            "head_sha",
            "base_sha",
            name=op.f("uq_candidates_repository_id_pull_number_head_sha_base_sha"),
        ),
        comment="one pull request at one head on one base",
    )
    op.create_table(
        "evaluations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="collected", nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column(
            "mode",
            sa.Text(),
            nullable=False,
            comment="shadow, advisory or enforce, when it was made",
        ),
        sa.Column("votes", sa.Integer(), nullable=False, comment="votes asked for"),
        sa.Column(
            "fingerprint",
            sa.Text(),
            nullable=False,
            comment="issue text, candidates and their patches",
        ),
        sa.Column("issue_title", sa.Text(), nullable=False),
        sa.Column("issue_body", sa.Text(), nullable=False),
        sa.Column(
            "verifier",
            sa.Text(),
            nullable=True,
            comment="who judged; null: nobody yet, or it could not finish",
        ),
        sa.Column(
            "verdict",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="r4p.verdict/1",
        ),
        sa.Column(
            "alternatives_wanted",
            sa.Integer(),
            server_default="0",
            nullable=False,
            comment="how many an agent is still to write; 0: it can be judged",
        ),
        sa.Column(
            "alternatives_base",
            sa.Text(),
            nullable=True,
            comment="the commit that it works on; null: none was wanted",
        ),
        sa.Column(
            "alternatives_lack",
            sa.Text(),
            nullable=True,
            comment="why there are fewer than wanted",
        ),
        sa.Column(
            "asked_in", sa.Text(), nullable=True, comment="where it was asked for; null: nowhere"
        ),
        sa.Column(
            "asked_under",
            sa.BigInteger(),
            nullable=True,
            comment="the issue or pull request that was written under",
        ),
        sa.Column(
            "left_out",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "all_links_read",
            sa.Boolean(),
            server_default=sa.text("true"),
            nullable=False,
            comment="false: rivals may be missing",
        ),
        sa.Column(
            "failure",
            sa.Text(),
            nullable=True,
            comment="why there is no real verdict; null: there is one, or none yet",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state in ('collected','verified','published','superseded')",
            name=op.f("ck_evaluations_state"),
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.id"],
            name=op.f("fk_evaluations_group_id_groups"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
        comment="one snapshot of a group, judged once; the newest published one is current",
    )
    op.create_index(op.f("ix_evaluations_group_id"), "evaluations", ["group_id"], unique=False)
    op.create_table(
        "group_members",
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "strength",
            sa.Text(),
            nullable=True,
            comment="how the pull request is linked; null: only by command",
        ),
        sa.Column(
            "forced",
            sa.Boolean(),
            nullable=True,
            comment="true: added by command, false: removed by one",
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.id"],
            name=op.f("fk_group_members_group_id_groups"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("group_id", "pull_number", name=op.f("pk_group_members")),
    )
    op.create_table(
        "outcomes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("pull_number", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True, comment="what is known of why"),
        sa.Column(
            "value",
            sa.Float(),
            nullable=True,
            comment="a share for survival, a number of people for reactions",
        ),
        sa.Column(
            "head_sha",
            sa.Text(),
            nullable=True,
            comment="the pull request's own head that this is about",
        ),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("permission", sa.Text(), nullable=True),
        sa.Column(
            "evaluation_id",
            sa.BigInteger(),
            nullable=True,
            comment="the verdict on it that was public then",
        ),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("rule_version", sa.Integer(), nullable=False),
        sa.Column(
            "derived_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["event_id"],
            ["outcome_events.id"],
            name=op.f("fk_outcomes_event_id_outcome_events"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_outcomes_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outcomes")),
        sa.UniqueConstraint(
            "repository_id",
            "pull_number",
            "kind",
            "event_id",
            name=op.f("uq_outcomes_repository_id_pull_number_kind_event_id"),
        ),
        comment="derived from raw events by a versioned rule",
    )
    op.create_table(
        "evaluation_candidates",
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column("candidate_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("strength", sa.Text(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True, comment="null: not yet judged"),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("votes_correct", sa.Integer(), nullable=True),
        sa.Column("votes_incorrect", sa.Integer(), nullable=True),
        sa.Column("votes_none", sa.Integer(), nullable=True),
        sa.Column(
            "score",
            sa.Float(),
            nullable=True,
            comment="evidence: the model's belief; null: none that can be read",
        ),
        sa.Column(
            "forced_share",
            sa.Float(),
            nullable=True,
            comment="evidence: share of votes that were asked once more",
        ),
        sa.Column("consensus", sa.Float(), nullable=True, comment="evidence: how rivals agree"),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["candidate_id"],
            ["candidates.id"],
            name=op.f("fk_evaluation_candidates_candidate_id_candidates"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_evaluation_candidates_evaluation_id_evaluations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "evaluation_id", "candidate_id", name=op.f("pk_evaluation_candidates")
        ),
    )
    op.create_table(
        "votes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column(
            "seats",
            sa.ARRAY(sa.Text()),
            nullable=False,
            comment="patch id per seat; empty: padding",
        ),
        sa.Column(
            "correct", sa.ARRAY(sa.Text()), nullable=True, comment="boxed patch ids; null: no vote"
        ),
        sa.Column("forced", sa.Boolean(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_votes_evaluation_id_evaluations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_votes")),
        comment="every reply, kept whole: what training learns from",
    )
    op.create_index(op.f("ix_votes_evaluation_id"), "votes", ["evaluation_id"], unique=False)
    _create_alternatives()


def _create_alternatives() -> None:
    """What our own agents wrote, and what was said of it."""
    op.create_table(
        "attempts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "number",
            sa.Integer(),
            nullable=True,
            comment="of its patch among the group's, A1 and on; null: no new one",
        ),
        sa.Column("base_sha", sa.Text(), nullable=False, comment="the commit whose tree was given"),
        sa.Column("issue_sha256", sa.Text(), nullable=False, comment="of the issue's text"),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("stop", sa.Text(), nullable=False, comment="why it ended"),
        sa.Column(
            "failure", sa.Text(), nullable=True, comment="what failed, in words for the operator"
        ),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("patch_sha256", sa.Text(), nullable=True, comment="null: it handed in none"),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column(
            "trajectory",
            sa.LargeBinary(),
            nullable=True,
            comment="r4p.trajectory/1, zlib; null: its process died with it",
        ),
        sa.Column(
            "guided_by",
            sa.BigInteger(),
            nullable=True,
            comment="the earlier attempt that its hint is about; null: it had no hint",
        ),
        sa.Column(
            "guidance",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="the hint; null: none",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["groups.id"],
            name=op.f("fk_attempts_group_id_groups"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["guided_by"],
            ["attempts.id"],
            name=op.f("fk_attempts_guided_by_attempts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["patch_sha256"],
            ["patches.sha256"],
            name=op.f("fk_attempts_patch_sha256_patches"),
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_attempts_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(
            "cached_tokens between 0 and prompt_tokens and completion_tokens >= 0 and seconds >= 0",
            name=op.f("ck_attempts_figures"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("group_id", "number", name=op.f("uq_attempts_group_id_number")),
        comment="every attempt of an agent, kept whole: what training learns from",
    )
    op.create_index(
        "ix_attempts_repository_id", "attempts", ["repository_id", "created_at"], unique=False
    )
    op.create_table(
        "agent_runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "tokens",
            sa.BigInteger(),
            nullable=False,
            comment="without cached ones; at most these as long as it is at work",
        ),
        sa.Column(
            "seconds",
            sa.Float(),
            nullable=False,
            comment="of all attempts together; at most, as tokens are",
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint("tokens >= 0 and seconds >= 0", name=op.f("ck_agent_runs_figures")),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_agent_runs_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_runs")),
        comment="the bill: what an agent's process may cost, and what it did; whose worker died costs what it might have",
    )
    op.create_index(
        "ix_agent_runs_repository_id", "agent_runs", ["repository_id", "created_at"], unique=False
    )
    op.create_table(
        "drafts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "attempt_id",
            sa.BigInteger(),
            nullable=False,
            comment="which wrote the alternative",
        ),
        sa.Column(
            "asked_in", sa.Text(), nullable=False, comment="the comment or review that asked last"
        ),
        sa.Column("asked_under", sa.BigInteger(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column(
            "pull_number", sa.BigInteger(), nullable=True, comment="null: it is not open yet"
        ),
        sa.Column(
            "not_opened", sa.Text(), nullable=True, comment="why the last attempt came to nothing"
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["attempt_id"],
            ["attempts.id"],
            name=op.f("fk_drafts_attempt_id_attempts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["repository_id"],
            ["repositories.id"],
            name=op.f("fk_drafts_repository_id_repositories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drafts")),
        sa.UniqueConstraint("attempt_id", name=op.f("uq_drafts_attempt_id")),
        sa.UniqueConstraint(
            "repository_id", "pull_number", name=op.f("uq_drafts_repository_id_pull_number")
        ),
        comment="draft pull requests of alternatives: ours, so nobody's rivals",
    )
    op.create_table(
        "evaluation_alternatives",
        sa.Column("evaluation_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True, comment="null: not yet judged"),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("votes_correct", sa.Integer(), nullable=True),
        sa.Column("votes_incorrect", sa.Integer(), nullable=True),
        sa.Column("votes_none", sa.Integer(), nullable=True),
        sa.Column(
            "score",
            sa.Float(),
            nullable=True,
            comment="evidence: the model's belief; null: none that can be read",
        ),
        sa.Column(
            "forced_share",
            sa.Float(),
            nullable=True,
            comment="evidence: share of votes that were asked once more",
        ),
        sa.Column("consensus", sa.Float(), nullable=True, comment="evidence: how rivals agree"),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["attempt_id"],
            ["attempts.id"],
            name=op.f("fk_evaluation_alternatives_attempt_id_attempts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name=op.f("fk_evaluation_alternatives_evaluation_id_evaluations"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "evaluation_id", "attempt_id", name=op.f("pk_evaluation_alternatives")
        ),
        comment="patches of our own that were judged beside pull requests",
    )
    op.create_table(
        "hints",
        sa.Column(
            "attempt_id",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="which wrote the alternative",
        ),
        sa.Column(
            "source",
            sa.Text(),
            nullable=False,
            comment="who speaks: maintainer, check, verdict",
        ),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column(
            "said_by",
            sa.Text(),
            nullable=False,
            comment="the login, the check or the verifier",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["attempt_id"],
            ["attempts.id"],
            name=op.f("fk_hints_attempt_id_attempts"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("attempt_id", name=op.f("pk_hints")),
        comment="what was said against an alternative; one second attempt is made with it",
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
