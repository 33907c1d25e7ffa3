"""Find the issues of a pull request that names none."""

from app.db.session import transaction
from app.db.store.issues import groups
from app.github.api import graphql_reader
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.facts import IssueState
from app.github.http.connection import GitHub
from app.jobs.job import EvaluateIssue, LocateIssues, Planned
from worker.publishing import config_check
from worker.queue.context import Context


def locate_issues(
    github: GitHub, quiet_seconds: float, context: Context, job: LocateIssues
) -> None:
    """Plan an evaluation of each issue of the same repository that an open pull request closes.

    `job` names the pull request. If the pull request makes the bot's settings file invalid, it gets a failing check
    run. `quiet_seconds` is the delay before the evaluations, so that a burst of events leads to one evaluation.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
    if stored is None:
        return
    try:
        pull_issues = graphql_reader.read_pull(github, stored.ref, job.pull)
    except NotFound:
        return
    if pull_issues.pull.state is not IssueState.OPEN:
        return
    publisher = Publisher(github.for_replies, context.open_effects())
    config_check.report_broken_config(publisher, stored.ref, pull_issues)
    here = stored.ref.full_name.lower()
    place = (job.installation, job.repository)
    planned = [
        Planned(EvaluateIssue(*place, issue.number, "pull_request"), quiet_seconds)
        for issue in pull_issues.closes
        if issue.repository.lower() == here
    ]
    with context.transaction() as connection:
        context.enqueue(connection, planned)
