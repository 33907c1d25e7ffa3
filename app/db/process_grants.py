"""What each process of the bot may do in the database: table privileges by role, and rules about rows.

A process that is not named at a table cannot use it. `app/db/process_roles.py` turns these values into SQL. A test
compares them with the tables, so a new table needs an entry here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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


WEB, GITHUB, VERIFY, AGENTS, WRITER, TRAIN = ProcessRole

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
    },
    "deliveries": {
        WEB: "select(id, guid, received_at), insert(guid, event, installation_id, repository_id)",
        GITHUB: _ALL,
    },
    "delivery_bodies": {WEB: "insert", GITHUB: _ALL},
    "job_causes": {GITHUB: _ALL, VERIFY: "insert", AGENTS: "insert", WRITER: "insert"},
    "confirmed_writes": {GITHUB: _ALL, WRITER: "select, insert"},
    "ignored_deliveries": {WEB: "select, insert, update", GITHUB: "select, insert, update"},
    "command_answers": {GITHUB: _ALL},
    "installation_controls": {
        WEB: "select(installation_id, paused_at)",
        GITHUB: "select, insert, update(account_id)",
        VERIFY: _READ,
        AGENTS: _READ,
        WRITER: _READ,
        TRAIN: _READ,
    },
    "purged_usage": {GITHUB: "select, insert, delete", AGENTS: _READ},
    "effects": {GITHUB: _ALL, WRITER: "select, insert, update"},
    "etags": {GITHUB: _ALL, WRITER: "select, insert, update"},
    "write_limits": {GITHUB: _ALL, WRITER: "select, insert, update"},
    # Installations, issues and pull requests.
    "installations": {
        GITHUB: _ALL,
        AGENTS: "select(id, account_id, suspended_at)",
        WRITER: "select(id, suspended_at)",
        TRAIN: "select(id, suspended_at)",
    },
    "repositories": {
        GITHUB: _ALL,
        VERIFY: "select(id, full_name)",
        AGENTS: _READ,
        WRITER: _READ,
        TRAIN: _READ,
    },
    "forgotten": {GITHUB: _ALL},
    "groups": {
        GITHUB: _ALL,
        VERIFY: "select(id, repository_id, issue_number)",
        AGENTS: "select(id, repository_id, issue_number)",
        WRITER: "select(id, repository_id, issue_number)",
        TRAIN: _READ,
    },
    "pull_requests": {
        GITHUB: _ALL,
        WRITER: "select(repository_id, number, base_ref)",
        TRAIN: _READ,
    },
    "approvals": {GITHUB: _ALL},
    "group_members": {GITHUB: _ALL, WRITER: "select(group_id, pull_number)"},
    # Evaluations and verdicts.
    "patches": {
        GITHUB: _ALL,
        VERIFY: _READ,
        AGENTS: "select, insert",
        WRITER: _READ,
        TRAIN: _READ,
    },
    "candidates": {
        GITHUB: _ALL,
        VERIFY: _READ,
        AGENTS: _READ,
        WRITER: "select(id, repository_id, pull_number, base_sha)",
        TRAIN: _READ,
    },
    "evaluations": {
        GITHUB: _ALL,
        VERIFY: "select, update(state, verifier, verdict, failure, verified_at, moved_from)",
        AGENTS: "select, update(alternatives_wanted, alternatives_lack, fingerprint)",
        TRAIN: _READ,
    },
    "evaluation_candidates": {
        GITHUB: _ALL,
        VERIFY: f"select, update({_OPINION})",
        AGENTS: _READ,
        TRAIN: _READ,
    },
    "votes": {
        GITHUB: _ALL,
        VERIFY: "select, insert",
        AGENTS: "select(evaluation_id, forced)",
        TRAIN: _READ,
    },
    # Agents.
    "attempts": {
        GITHUB: _ALL,
        VERIFY: _READ,
        AGENTS: "select, insert",
        WRITER: "select(id, repository_id, group_id, number, agent, model, base_sha, patch_sha256)",
        TRAIN: _READ,
    },
    "agent_runs": {GITHUB: _ALL, AGENTS: "select, insert, update(tokens, seconds, ended_at)"},
    "evaluation_alternatives": {
        GITHUB: _ALL,
        VERIFY: f"select, update({_OPINION})",
        AGENTS: "select, insert, delete",
        WRITER: "select(evaluation_id, attempt_id, verdict)",
        TRAIN: _READ,
    },
    "drafts": {GITHUB: _ALL, WRITER: "select, update(pull_number, not_opened)"},
    "hints": {GITHUB: _ALL, AGENTS: _READ},
    # Outcomes and learning.
    "outcome_events": {GITHUB: _ALL, TRAIN: _READ},
    "outcomes": {
        GITHUB: _ALL,
        VERIFY: "select(id, repository_id, pull_number, evaluation_id, kind)",
        TRAIN: _READ,
    },
    "label_checks": {GITHUB: _READ, TRAIN: _READ},
    "calibrators": {GITHUB: "select, insert, update", VERIFY: _READ, TRAIN: _READ},
    "models": {
        GITHUB: _READ,
        VERIFY: "select, update(state, why, share, changed_at)",
        TRAIN: "select, insert, update",
    },
    "model_aliases": {GITHUB: _READ, VERIFY: "select, insert", TRAIN: "select, insert"},
    "shadow_verdicts": {GITHUB: _ALL, VERIFY: "select, insert, update(verdict)", TRAIN: _READ},
    "trainings": {WEB: _READ, GITHUB: _READ, TRAIN: _ALL},
}
"""The privileges of each role on each table, as PostgreSQL's GRANT takes them."""

VIEWS: Final[Mapping[str, Mapping[ProcessRole, str]]] = {
    "judged_evaluations": {GITHUB: _READ, VERIFY: _READ},
}
"""The privileges on views. A view reads with its owner's rights, so it shows rows that a rule hides from the role."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The only job that a worker may store: the one that follows a job which it runs now."""

    after: str
    """The queue of the running job."""
    kind: str
    queue: str
    key_fields: tuple[str, ...]
    """Fields of the payload that make the key, behind the kind. Both jobs have the same payload."""


FOLLOW_UPS: Final[Mapping[ProcessRole, FollowUp]] = {
    VERIFY: FollowUp("verify", "publish_verdict", "github", ("repository", "issue")),
    AGENTS: FollowUp("agents", "verify_group", "verify", ("evaluation",)),
    WRITER: FollowUp("writer", "tell_draft", "github", ("repository", "draft")),
}


@dataclass(frozen=True, slots=True)
class RowRule:
    """A row-security policy. A role that has a rule for a table sees and changes only the rows of its rules."""

    role: ProcessRole
    table: str
    command: str
    """`all`, `select`, `insert`, `update` or `delete`."""
    using: str = ""
    """Condition on existing rows; empty: none of them."""
    check: str = ""
    """Condition on new rows; empty: the same as `using`."""


def _pick(queue: str, what: str) -> str:
    """Return SQL for the ids that jobs of a queue work on now. PostgreSQL computes it once a statement."""
    return f"any ((select r4p_ids_of_open_jobs('{queue}', '{what}'))::bigint[])"


def _list_job_rules() -> list[RowRule]:
    kinds = "kind in ('record_event', 'run_command', 'purge_data')"
    rules = [
        RowRule(WEB, "jobs", "select", "true"),
        RowRule(WEB, "jobs", "insert", check=f"{kinds} and state = 'ready'"),
        RowRule(WEB, "jobs", "update", f"state = 'dead' or {kinds}", "state = 'ready'"),
        RowRule(TRAIN, "jobs", "all", "queue = 'train'"),
    ]
    for role, follow in FOLLOW_UPS.items():
        own = f"queue = '{follow.after}'"
        allowed = f"from r4p_follow_ups('{follow.after}') as allowed"
        cause = "select from jobs where jobs.id = cause_id"
        ready = f"kind = '{follow.kind}' and state = 'ready' and wish = ''"
        same_key = f"{ready} and key in (select allowed.key {allowed})"
        job = "(select allowed.key, allowed.payload, allowed.installation_id, allowed.repository_id"
        same_job = (
            f"{ready} and queue = '{follow.queue}'"
            f" and (key, payload, installation_id, repository_id) in {job} {allowed})"
        )
        rules += [
            RowRule(role, "jobs", "select", f"{own} or ({same_key})"),
            RowRule(role, "jobs", "update", f"{own} or ({same_key})", f"{own} or ({same_job})"),
            RowRule(role, "jobs", "insert", check=same_job),
            RowRule(role, "job_causes", "insert", check=f"exists ({cause} and {own})"),
        ]
    return rules


def _list_evaluation_rules(role: ProcessRole, queue: str) -> list[RowRule]:
    evaluation, of_group = _pick(queue, "evaluation"), f"group_id = {_pick(queue, 'group')}"
    of_evaluation, of_earlier = (
        f"evaluation_id = {_pick(queue, what)}" for what in ("evaluation", "earlier")
    )
    patches = f"sha256 = any ((select r4p_patches_of_open_jobs('{queue}'))::text[])"
    return [
        # Earlier evaluations of the same issue hold earlier votes, and a verdict that may move to this one.
        RowRule(role, "evaluations", "select", of_group),
        RowRule(role, "evaluations", "update", f"id = {evaluation}"),
        RowRule(role, "attempts", "select", of_group),
        RowRule(role, "patches", "select", patches),
        RowRule(role, "votes", "select", of_earlier),
        RowRule(role, "evaluation_alternatives", "all", of_evaluation),
        RowRule(role, "evaluation_alternatives", "select", of_earlier),
    ]


ROW_RULES: Final[tuple[RowRule, ...]] = (
    *_list_job_rules(),
    *_list_evaluation_rules(VERIFY, "verify"),
    RowRule(VERIFY, "evaluation_candidates", "select", "true"),
    RowRule(
        VERIFY,
        "evaluation_candidates",
        "update",
        f"evaluation_id = {_pick('verify', 'evaluation')}",
    ),
    RowRule(VERIFY, "votes", "insert", check=f"evaluation_id = {_pick('verify', 'evaluation')}"),
    RowRule(VERIFY, "shadow_verdicts", "all", f"evaluation_id = {_pick('verify', 'evaluation')}"),
    # A worker may reject a canary that fails, and change nothing else about models.
    RowRule(VERIFY, "models", "select", "true"),
    RowRule(VERIFY, "models", "update", "state = 'canary'", "state = 'rejected'"),
    RowRule(VERIFY, "model_aliases", "select", "true"),
    RowRule(VERIFY, "model_aliases", "insert", check="alias = 'canary' and model_id is null"),
    *_list_evaluation_rules(AGENTS, "agents"),
    RowRule(
        AGENTS,
        "evaluation_candidates",
        "select",
        f"evaluation_id = {_pick('agents', 'evaluation')}",
    ),
    RowRule(AGENTS, "attempts", "insert", check=f"group_id = {_pick('agents', 'group')}"),
    RowRule(AGENTS, "patches", "insert", check="sha256 = encode(sha256(diff), 'hex')"),
    RowRule(AGENTS, "hints", "select", "attempt_id in (select id from attempts)"),
    RowRule(AGENTS, "repositories", "select", f"id = {_pick('agents', 'repository')}"),
    RowRule(WRITER, "repositories", "select", f"id = {_pick('writer', 'repository')}"),
    RowRule(WRITER, "drafts", "all", f"id = {_pick('writer', 'draft')}"),
    RowRule(WRITER, "attempts", "select", "id in (select attempt_id from drafts)"),
    RowRule(WRITER, "patches", "select", "sha256 in (select patch_sha256 from attempts)"),
    RowRule(WRITER, "effects", "select", "true"),
    RowRule(WRITER, "effects", "insert", check="starts_with(key, 'draft:')"),
    RowRule(WRITER, "effects", "update", "starts_with(key, 'draft:')"),
    RowRule(WRITER, "confirmed_writes", "all", "starts_with(key, 'draft:')"),
)
"""All rules about rows. A role with privileges on a table of a rule, but without a rule there, sees all its rows."""
