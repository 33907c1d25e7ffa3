"""Find the issues of a pull request that names none."""

from dataclasses import dataclass

from app.db.session import transaction
from app.db.store.issues import groups
from app.github.api import graphql_reader
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.facts import IssueState
from app.github.http.connection import GitHub
from app.jobs.job import EvaluateIssue, LocateIssues, Planned
from worker.publishing import publish_verdict
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class LocateIssuesHandler:
    """Asks GitHub which issues a pull request closes, and plans their evaluation.

    The same query shows whether the pull request breaks the bot's configuration; it then gets a
    failing check run.
    """

    github: GitHub
    publisher: Publisher
    quiet_seconds: float
    """Delay after an event, so that a burst of events leads to one evaluation."""

    def __call__(self, context: Context, job: LocateIssues) -> None:
        """Plan an evaluation per issue of the same repository; closed pull requests get none."""
        with transaction(context.database) as connection:
            stored = groups.load_repository(connection, job.repository)
        if stored is None or stored.suspended:
            return
        try:
            pull_issues = graphql_reader.read_pull(self.github, stored.ref, job.pull)
        except NotFound:
            return
        if pull_issues.pull.state is not IssueState.OPEN:
            return
        publish_verdict.report_broken_config(self.publisher, stored.ref, pull_issues)
        here = stored.ref.full_name.lower()
        numbers = [issue.number for issue in pull_issues.closes if issue.repository.lower() == here]
        with context.transaction() as connection:
            context.enqueue(
                connection,
                [
                    Planned(
                        EvaluateIssue(job.installation, job.repository, number, "pull_request"),
                        self.quiet_seconds,
                    )
                    for number in numbers
                ],
            )
