"""Record an opinion that a person gave on a page, as the commands `agree` and `disagree` do."""

import logging
from datetime import datetime

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import evaluations, groups
from app.github.api import rest_reader
from app.github.http.connection import GitHub
from app.jobs.job import EvaluateIssue, Planned
from app.jobs.outcome_jobs import RecordOpinion
from app.outcomes import Details, EventKind, OutcomeEvent
from app.policy.commands import Verb, is_allowed
from app.policy.event_policy import BY_COMMAND
from app.values.identifiers import AlternativeNumber, PullNumber
from worker.outcomes import second_attempts
from worker.outcomes.record_event import plan_permission_jobs, record_outcomes
from worker.outcomes.second_attempts import MaintainerRemark
from worker.queue.context import Context

log = logging.getLogger(__name__)


def record_opinion(github: GitHub, context: Context, job: RecordOpinion) -> None:
    """Record the opinion that `job` holds, if GitHub says that the person may give the command.

    A disagreement about the whole verdict or about an alternative may lead to a second attempt. Nothing is written on
    GitHub.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
    if stored is None:
        return
    permission = rest_reader.read_permission(github, stored.ref, job.login)
    verb = Verb.AGREE if job.is_right else Verb.DISAGREE
    if not is_allowed(verb, permission):
        log.info("opinion %s is not recorded: %s has %s", job.name, job.login, permission)
        return
    event = build_event(job)
    with context.transaction() as connection:
        seen = record_outcomes(connection, job.repository, [event])
        context.enqueue(connection, plan_permission_jobs(stored.ref, seen))
        if verb is Verb.DISAGREE and event.pull is None:
            context.enqueue(connection, _plan_second_attempt(connection, job))


def build_event(job: RecordOpinion) -> OutcomeEvent:
    """Build the raw outcome event of the opinion, like that of a command in a comment on the issue (pure)."""
    is_alternative = job.about.startswith("A")
    kinds = {
        (True, False): EventKind.AGREED,
        (False, False): EventKind.DISAGREED,
        (True, True): EventKind.ALTERNATIVE_AGREED,
        (False, True): EventKind.ALTERNATIVE_DISAGREED,
    }
    about = job.about if is_alternative else None
    return OutcomeEvent(
        kind=kinds[job.is_right, is_alternative],
        source=f"page:{job.name}",
        occurred_at=datetime.fromisoformat(job.moment),
        pull=PullNumber(int(job.about[1:])) if job.about.startswith("#") else None,
        issue=job.issue,
        actor=job.login,
        actor_id=job.person,
        details=Details(state=job.reason or None, about=about),
    )


def _plan_second_attempt(connection: Connection, job: RecordOpinion) -> list[Planned]:
    """Save the reason as a hint for a second attempt, and plan the evaluation that judges it."""
    group = groups.find_group(connection, job.repository, job.issue)
    if group is None:
        return []
    evaluation = evaluations.find_newest(connection, group.id, "verified", "published")
    if evaluation is None:
        return []
    number = AlternativeNumber(int(job.about[1:])) if job.about else None
    remark = MaintainerRemark(number, job.reason, job.login)
    leads = second_attempts.leave_hints_of_maintainer(connection, evaluation, remark)
    if not second_attempts.has_second_attempts(leads):
        return []
    wish = f"{BY_COMMAND}:page:{job.name}"
    wanted = EvaluateIssue(job.installation, job.repository, job.issue, BY_COMMAND)
    return [Planned(wanted, wish=wish)]
