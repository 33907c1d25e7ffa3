"""Carry out `/r4p ok`: let the bot judge the pull requests of people whom the settings do not trust by themselves."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app import comments
from app.db.store.issues import approvals, groups
from app.db.store.queue import jobs
from app.events import CommentEvent, ReviewEvent
from app.jobs.job import EvaluateIssue, Job, LocateIssues, Planned
from app.policy.commands import Command
from app.policy.event_policy import BY_APPROVAL
from app.values.identifiers import PullNumber, RepositoryRef
from worker.commands.command_subject import CommandResult
from worker.queue.context import Context


def approve_pulls(
    context: Context,
    repository: RepositoryRef,
    event: CommentEvent | ReviewEvent,
    command: Command,
) -> CommandResult:
    """Record the approval with its author, and look at the issues of the pull requests again.

    Without numbers the command is about the pull request on which it stands. It names no future pull request.
    """
    here = (PullNumber(event.number),) if event.on_pull_request else ()
    pulls = command.pulls or here
    if not pulls:
        return _fail(event, "`/r4p ok` names no pull request")
    with context.transaction() as connection:
        seen = groups.list_known_pulls(connection, repository.id)
        for pull in pulls:
            if pull not in seen.union(here):
                return _fail(event, f"#{pull} is no pull request that the bot has seen")
        approvals.approve(connection, repository.id, pulls, event.author)
        if not jobs.has_job_for(connection, event.delivery, EvaluateIssue.kind):
            context.enqueue(connection, _plan_again(connection, repository, pulls))
    return CommandResult()


def _fail(event: CommentEvent | ReviewEvent, problem: str) -> CommandResult:
    fix = "write `/r4p ok` on the pull request, or with its number on its issue"
    text = comments.write_failed_reply(event.command_source, problem, fix)
    return CommandResult(text, is_done=False)


def _plan_again(
    connection: Connection, repository: RepositoryRef, pulls: Sequence[PullNumber]
) -> list[Planned]:
    """Plan an evaluation of each issue of the pull requests, or the search for the issue of one without any."""
    place = (repository.installation, repository.id)
    planned: dict[str, Planned] = {}
    for pull in pulls:
        issues = groups.list_issues_of_pull(connection, repository.id, pull)
        looks: list[Job] = [EvaluateIssue(*place, issue, BY_APPROVAL) for issue in issues]
        for job in looks or [LocateIssues(*place, pull)]:
            planned[job.key] = Planned(job)
    return list(planned.values())
