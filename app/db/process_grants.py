"""What each process of the bot may do in the database: table privileges by role.

A process that is not named at a table cannot use it. `row_rules.py` limits the rows, and `process_roles.py` turns both
into SQL. A test compares the tables, so a new table needs an entry here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ProcessRole(StrEnum):
    """Names of the database roles, one per process. The scheduler (beat) has none, because it uses no database."""

    WEB = "r4p_web"
    GITHUB = "r4p_github"
    """The worker of the queues `events` and `github`."""
    VERIFY = "r4p_verify"
    AGENTS = "r4p_agents"
    WRITER = "r4p_writer"
    TRAIN = "r4p_train"
    TESTS = "r4p_tests"


WEB, GITHUB, VERIFY, AGENTS, WRITER, TRAIN, TESTS = ProcessRole

_ALL: Final = "select, insert, update, delete"
_READ: Final = "select"
_WORK: Final = (
    "state, attempt, token, run_after, lease_until, claimed_at, finished_at, error, progress, waits_for, waits,"
    " waits_since"
)
"""Columns of `jobs` that claiming, waiting and finishing change."""
_PLAN: Final = (
    "kind, queue, key, wish, payload, installation_id, repository_id, delivery_guid, run_after"
)
"""Columns of `jobs` that storing a job fills."""
_WORKS: Final = f"select, update({_WORK})"
_WORKS_AND_PLANS: Final = f"select, insert({_PLAN}), update({_WORK}, payload, delivery_guid)"
_OPINION: Final = "verdict, probability, votes_correct, votes_incorrect, votes_none, score, forced_share, consensus, reason"

GRANTS: Final[Mapping[str, Mapping[ProcessRole, str]]] = {
    # The queue of record and the exchange with GitHub.
    "jobs": {
        WEB: f"select, insert({_PLAN}), update({_WORK}, payload, delivery_guid)",
        GITHUB: _ALL,
        VERIFY: _WORKS_AND_PLANS,
        AGENTS: _WORKS_AND_PLANS,
        WRITER: _WORKS_AND_PLANS,
        TRAIN: _WORKS,
        TESTS: _WORKS_AND_PLANS,
    },
    "deliveries": {
        WEB: "select(id, guid, event, received_at), insert(guid, event, installation_id, repository_id)",
        GITHUB: _ALL,
    },
    "delivery_bodies": {WEB: "insert", GITHUB: _ALL},
    "job_causes": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: "insert",
        AGENTS: "insert",
        WRITER: "insert",
        TESTS: "insert",
    },
    "confirmed_writes": {WEB: _READ, GITHUB: _ALL, WRITER: "select, insert"},
    "ignored_deliveries": {WEB: "select, insert, update", GITHUB: "select, insert, update"},
    "command_answers": {GITHUB: _ALL},
    "installation_controls": {
        WEB: "select(installation_id, paused_at, limits)",
        GITHUB: "select, insert, update(account_id)",
        VERIFY: _READ,
        AGENTS: _READ,
        WRITER: _READ,
        TRAIN: _READ,
        TESTS: _READ,
    },
    "purged_usage": {WEB: _READ, GITHUB: "select, insert, delete", AGENTS: _READ},
    "effects": {GITHUB: _ALL, WRITER: "select, insert, update"},
    "etags": {GITHUB: _ALL, WRITER: "select, insert, update"},
    "write_limits": {GITHUB: _ALL, WRITER: "select, insert, update"},
    # Installations, issues and pull requests.
    "installations": {
        WEB: "select(id, account_id)",
        GITHUB: _ALL,
        AGENTS: "select(id, account_id, suspended_at)",
        WRITER: "select(id, suspended_at)",
        TRAIN: "select(id, suspended_at)",
    },
    "repositories": {
        WEB: "select(id, installation_id, full_name, config_text, config_error, default_text)",
        GITHUB: _ALL,
        VERIFY: "select(id, full_name)",
        AGENTS: _READ,
        WRITER: _READ,
        TRAIN: _READ,
    },
    "forgotten": {GITHUB: _ALL},
    "groups": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: "select(id, repository_id, issue_number)",
        AGENTS: "select(id, repository_id, issue_number)",
        WRITER: "select(id, repository_id, issue_number)",
        TRAIN: _READ,
    },
    "pull_requests": {
        WEB: _READ,
        GITHUB: _ALL,
        WRITER: "select(repository_id, number, base_ref)",
        TRAIN: _READ,
    },
    "approvals": {GITHUB: _ALL},
    "delegations": {GITHUB: _ALL},
    "group_members": {WEB: _READ, GITHUB: _ALL, WRITER: "select(group_id, pull_number)"},
    # Evaluations and verdicts.
    "patches": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: _READ,
        AGENTS: "select, insert",
        WRITER: _READ,
        TRAIN: _READ,
        TESTS: _READ,
    },
    "candidates": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: _READ,
        AGENTS: _READ,
        WRITER: "select(id, repository_id, pull_number, base_sha)",
        TRAIN: _READ,
        TESTS: "select(id, pull_number, patch_sha256)",
    },
    "evaluations": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: "select, update(state, verifier, verdict, failure, verified_at, moved_from)",
        AGENTS: "select, update(alternatives_wanted, alternatives_lack, fingerprint)",
        TRAIN: _READ,
        TESTS: "select(id, group_id, state, alternatives_wanted)",
    },
    "evaluation_candidates": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: f"select, update({_OPINION})",
        AGENTS: _READ,
        TRAIN: _READ,
        TESTS: "select(evaluation_id, candidate_id, position)",
    },
    "rubrics": {GITHUB: _ALL, VERIFY: "select, insert"},
    "votes": {
        WEB: "select(evaluation_id, number, seats, correct, forced, failure)",
        GITHUB: _ALL,
        VERIFY: "select, insert",
        AGENTS: "select(evaluation_id, forced)",
        TRAIN: _READ,
    },
    # Agents.
    "attempts": {
        WEB: "select(id, group_id, number, agent, model, steps, base_sha, patch_sha256, guided_by)",
        GITHUB: _ALL,
        VERIFY: _READ,
        AGENTS: "select, insert",
        WRITER: "select(id, repository_id, group_id, number, agent, model, base_sha, patch_sha256)",
        TRAIN: _READ,
        TESTS: "select(id, group_id, number, patch_sha256)",
    },
    "agent_runs": {
        WEB: "select(repository_id, tokens, seconds, created_at, ended_at)",
        GITHUB: _ALL,
        AGENTS: "select, insert, update(tokens, seconds, ended_at)",
    },
    "evaluation_alternatives": {
        WEB: _READ,
        GITHUB: _ALL,
        VERIFY: f"select, update({_OPINION})",
        AGENTS: "select, insert, delete",
        WRITER: "select(evaluation_id, attempt_id, verdict)",
        TRAIN: _READ,
        TESTS: "select(evaluation_id, attempt_id)",
    },
    # Evidence.
    "group_tests": {
        WEB: "select(finished_at, failure)",
        GITHUB: _ALL,
        TESTS: "select, update(finished_at, failure, expected, flaky, results)",
    },
    "reproduction_tests": {
        WEB: "select(evaluation_id, created_at, tokens)",
        GITHUB: _ALL,
        VERIFY: "select, update(finished_at, failure, scripts, tokens, example_path, example_text)",
        TESTS: "select(evaluation_id, created_at, finished_at, failure, scripts)",
    },
    "test_baselines": {GITHUB: _ALL, TESTS: "select, insert"},
    "drafts": {GITHUB: _ALL, WRITER: "select, update(pull_number, not_opened)"},
    "hints": {GITHUB: _ALL, AGENTS: _READ},
    # Outcomes and learning.
    "outcome_events": {
        WEB: "select(id, repository_id, issue_number, pull_number, kind, actor, permission, occurred_at)",
        GITHUB: _ALL,
        TRAIN: _READ,
    },
    "outcomes": {WEB: _READ, GITHUB: _ALL, TRAIN: _READ},
    "label_checks": {GITHUB: _READ, TRAIN: _READ},
    "calibrators": {GITHUB: "select, insert, update", VERIFY: _READ, TRAIN: _READ},
    "models": {
        WEB: _READ,
        GITHUB: _READ,
        VERIFY: "select, update(state, why, share, changed_at)",
        TRAIN: "select, insert, update",
    },
    "model_aliases": {WEB: _READ, GITHUB: _READ, VERIFY: "select, insert", TRAIN: "select, insert"},
    "shadow_verdicts": {GITHUB: _ALL, VERIFY: "select, insert, update(verdict)", TRAIN: _READ},
    "trainings": {WEB: _READ, GITHUB: _READ, TRAIN: _ALL},
}
"""The privileges of each role on each table, as PostgreSQL's GRANT takes them."""

VIEWS: Final[Mapping[str, Mapping[ProcessRole, str]]] = {
    "judged_evaluations": {GITHUB: _READ, VERIFY: _READ},
}
"""The privileges on views. A view reads with its owner's rights, so it shows rows that a rule hides from the role."""
