"""Which rows of a table each process of the bot may read and change: PostgreSQL's row-security policies.

A worker reaches the rows of the jobs that it runs now, so a worker that is taken over reaches no other tenant.
`row_functions.py` holds the functions that the conditions call, and guards the table `jobs` further.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.db.process_grants import AGENTS, TESTS, TRAIN, VERIFY, WEB, WRITER, ProcessRole


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
    TESTS: FollowUp("tests", "publish_verdict", "github", ("repository", "issue")),
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


def _pick(what: str) -> str:
    """Return SQL for the ids that the role's jobs work on now. PostgreSQL computes it once a statement."""
    return f"any ((select r4p_ids_of_open_jobs('{what}'))::bigint[])"


_SAME_KEY: Final = "key in (select key from r4p_follow_ups())"
_SAME_JOB: Final = (
    "(key, payload, installation_id, repository_id) in"
    " (select key, payload, installation_id, repository_id from r4p_follow_ups())"
)
_SAME_DELIVERY: Final = (
    "(delivery_guid is null or delivery_guid in (select delivery_guid from r4p_follow_ups()))"
)


_OF_PATCHES: Final = "sha256 = any ((select r4p_patches_of_open_jobs())::text[])"


def _list_job_rules() -> list[RowRule]:
    kinds = (
        "kind in ('record_event', 'run_command', 'purge_data', 'record_opinion', 'change_model')"
    )
    rules = [
        RowRule(WEB, "jobs", "select", "true"),
        RowRule(WEB, "jobs", "insert", check=f"{kinds} and state = 'ready'"),
        RowRule(WEB, "jobs", "update", f"state = 'dead' or {kinds}", "state = 'ready'"),
        RowRule(TRAIN, "jobs", "all", "queue = 'train'"),
    ]
    for role, follow in FOLLOW_UPS.items():
        own = f"queue = '{follow.after}'"
        cause = "select from jobs where jobs.id = cause_id"
        ready = f"kind = '{follow.kind}' and state = 'ready' and wish = ''"
        same_key = f"{ready} and {_SAME_KEY}"
        same_job = f"{ready} and queue = '{follow.queue}' and {_SAME_JOB}"
        rules += [
            RowRule(role, "jobs", "select", f"{own} or ({same_key})"),
            RowRule(role, "jobs", "update", f"{own} or ({same_key})", f"{own} or ({same_job})"),
            RowRule(role, "jobs", "insert", check=f"{same_job} and {_SAME_DELIVERY}"),
            RowRule(
                role,
                "job_causes",
                "insert",
                check=f"r4p_is_follow_up(job_id) and exists ({cause} and {own} and state = 'running')",
            ),
        ]
    return rules


def _list_evaluation_rules(role: ProcessRole) -> list[RowRule]:
    of_group, of_earlier = f"group_id = {_pick('group')}", f"evaluation_id = {_pick('earlier')}"
    return [
        RowRule(role, "repositories", "select", f"id = {_pick('repository')}"),
        RowRule(role, "groups", "select", f"id = {_pick('group')}"),
        # Earlier evaluations of the same issue hold earlier votes, and a verdict that may move to this one.
        RowRule(role, "evaluations", "select", of_group),
        RowRule(role, "attempts", "select", of_group),
        RowRule(role, "candidates", "select", f"id = {_pick('candidate')}"),
        RowRule(role, "patches", "select", _OF_PATCHES),
        RowRule(role, "votes", "select", of_earlier),
        RowRule(role, "evaluation_candidates", "select", of_earlier),
        RowRule(role, "evaluation_alternatives", "select", of_earlier),
    ]


_OF_EVALUATION: Final = f"evaluation_id = {_pick('evaluation')}"
_VERIFIED: Final = f"state = 'verified' and coalesce(moved_from, id) = {_pick('earlier')}"
_OWN_GROUP: Final = "(group_id, repository_id) in (select id, repository_id from groups)"
_OWN_ATTEMPT: Final = f"{_OWN_GROUP} and (guided_by is null or guided_by = {_pick('attempt')})"
_OF_DRAFT: Final = (
    "(repository_id, key) in (select repository_id, 'draft:' || attempt_id from drafts)"
)
_OF_ONBOARDING: Final = f"key = 'onboarding' and repository_id = {_pick('repository')}"
_OF_WRITTEN_PULL: Final = f"({_OF_DRAFT} or ({_OF_ONBOARDING}))"
"""Pull requests that the writer App opens: the draft of its job, and the setup of its job's repository."""
_OF_COMMENT: Final = "key in (select 'comment:group:' || group_id from attempts)"
_OF_WRITER: Final = "installation_id not in (select id from installations)"
"""Cached answers and write limits of the writer App itself; the bot's own App has other installations."""

ROW_RULES: Final[tuple[RowRule, ...]] = (
    *_list_job_rules(),
    *_list_evaluation_rules(VERIFY),
    RowRule(VERIFY, "evaluations", "update", f"id = {_pick('evaluation')}", _VERIFIED),
    RowRule(VERIFY, "evaluation_candidates", "update", _OF_EVALUATION),
    RowRule(VERIFY, "evaluation_alternatives", "update", _OF_EVALUATION),
    RowRule(VERIFY, "votes", "insert", check=_OF_EVALUATION),
    RowRule(VERIFY, "reproduction_tests", "all", _OF_EVALUATION),
    # A checklist is for the whole issue, so that its next evaluation needs no new one.
    RowRule(VERIFY, "rubrics", "select", f"evaluation_id = {_pick('earlier')}"),
    RowRule(VERIFY, "rubrics", "insert", check=_OF_EVALUATION),
    RowRule(VERIFY, "shadow_verdicts", "all", _OF_EVALUATION),
    RowRule(
        VERIFY,
        "calibrators",
        "select",
        f"installation_id is null or installation_id = {_pick('installation')}",
    ),
    # A worker may reject a canary that fails, and change nothing else about models.
    RowRule(VERIFY, "models", "select", "true"),
    RowRule(VERIFY, "models", "update", "state = 'canary'", "state = 'rejected'"),
    RowRule(VERIFY, "model_aliases", "select", "true"),
    RowRule(VERIFY, "model_aliases", "insert", check="alias = 'canary' and model_id is null"),
    *_list_evaluation_rules(AGENTS),
    RowRule(AGENTS, "evaluations", "update", f"id = {_pick('evaluation')}"),
    RowRule(AGENTS, "attempts", "insert", check=_OWN_ATTEMPT),
    RowRule(AGENTS, "agent_runs", "all", f"repository_id = {_pick('repository')}"),
    RowRule(
        AGENTS,
        "evaluation_alternatives",
        "insert",
        check=f"{_OF_EVALUATION} and attempt_id = {_pick('attempt')}",
    ),
    RowRule(AGENTS, "evaluation_alternatives", "delete", _OF_EVALUATION),
    RowRule(AGENTS, "patches", "insert", check="sha256 = encode(sha256(diff), 'hex')"),
    RowRule(AGENTS, "hints", "select", "attempt_id in (select id from attempts)"),
    RowRule(TESTS, "evaluations", "select", f"id = {_pick('evaluation')}"),
    RowRule(TESTS, "evaluation_candidates", "select", _OF_EVALUATION),
    RowRule(TESTS, "evaluation_alternatives", "select", _OF_EVALUATION),
    RowRule(TESTS, "candidates", "select", f"id = {_pick('candidate')}"),
    RowRule(TESTS, "attempts", "select", f"id = {_pick('attempt')}"),
    RowRule(TESTS, "patches", "select", _OF_PATCHES),
    RowRule(TESTS, "group_tests", "all", _OF_EVALUATION),
    RowRule(TESTS, "reproduction_tests", "select", _OF_EVALUATION),
    RowRule(TESTS, "test_baselines", "all", f"repository_id = {_pick('repository')}"),
    RowRule(WRITER, "repositories", "select", f"id = {_pick('repository')}"),
    RowRule(WRITER, "drafts", "all", f"id = {_pick('draft')}"),
    RowRule(WRITER, "attempts", "select", "id in (select attempt_id from drafts)"),
    RowRule(WRITER, "patches", "select", "sha256 in (select patch_sha256 from attempts)"),
    RowRule(WRITER, "groups", "select", "id in (select group_id from attempts)"),
    RowRule(WRITER, "group_members", "select", "group_id in (select group_id from attempts)"),
    RowRule(WRITER, "pull_requests", "select", f"repository_id = {_pick('repository')}"),
    RowRule(WRITER, "candidates", "select", f"repository_id = {_pick('repository')}"),
    RowRule(WRITER, "evaluation_alternatives", "select", "attempt_id in (select id from attempts)"),
    RowRule(WRITER, "effects", "select", f"{_OF_WRITTEN_PULL} or {_OF_COMMENT}"),
    RowRule(WRITER, "effects", "insert", check=_OF_WRITTEN_PULL),
    RowRule(WRITER, "effects", "update", _OF_WRITTEN_PULL),
    RowRule(WRITER, "confirmed_writes", "all", _OF_WRITTEN_PULL),
    RowRule(WRITER, "etags", "all", _OF_WRITER),
    RowRule(WRITER, "write_limits", "all", _OF_WRITER),
)
"""All rules about rows. A role with privileges on a table of a rule, but without a rule there, sees all its rows."""
