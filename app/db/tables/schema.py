"""All tables of the database. Called tables because "model" is the language model here."""

from app.db.tables.alternatives import agent_runs, attempts, drafts, evaluation_alternatives, hints
from app.db.tables.columns import metadata
from app.db.tables.evidence import group_tests, reproduction_tests, test_baselines
from app.db.tables.groups import (
    approvals,
    delegations,
    forgotten,
    group_members,
    groups,
    installations,
    pull_requests,
    repositories,
)
from app.db.tables.models import calibrators, model_aliases, models, shadow_verdicts, trainings
from app.db.tables.outcomes import label_checks, outcome_events, outcomes
from app.db.tables.queue import (
    command_answers,
    confirmed_writes,
    deliveries,
    delivery_bodies,
    effects,
    etags,
    ignored_deliveries,
    installation_controls,
    job_causes,
    jobs,
    purged_usage,
    write_limits,
)
from app.db.tables.verdicts import candidates, evaluation_candidates, evaluations, patches, votes

__all__ = [
    "agent_runs",
    "approvals",
    "attempts",
    "calibrators",
    "candidates",
    "command_answers",
    "confirmed_writes",
    "delegations",
    "deliveries",
    "delivery_bodies",
    "drafts",
    "effects",
    "etags",
    "evaluation_alternatives",
    "evaluation_candidates",
    "evaluations",
    "forgotten",
    "group_members",
    "group_tests",
    "groups",
    "hints",
    "ignored_deliveries",
    "installation_controls",
    "installations",
    "job_causes",
    "jobs",
    "label_checks",
    "metadata",
    "model_aliases",
    "models",
    "outcome_events",
    "outcomes",
    "patches",
    "pull_requests",
    "purged_usage",
    "repositories",
    "reproduction_tests",
    "shadow_verdicts",
    "test_baselines",
    "trainings",
    "votes",
    "write_limits",
]
