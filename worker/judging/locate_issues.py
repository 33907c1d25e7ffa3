"""What is a pull request about that names no issue? One that GitHub knows, or our own configuration."""

from dataclasses import dataclass

from app.db.session import transaction
from app.db.store.issues import groups
from app.github.api import graphql_reader
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.facts import State
from app.github.http.connection import Connection as GitHub
from app.jobs.job import EvaluateIssue, LocateIssues, Planned
from worker.publishing import config_check
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class LocateIssuesHandler:
    """Looks up the issues that GitHub says a pull request closes, and has them evaluated.

    The same question tells what it does to our configuration: one that breaks it gets a red check.
    """

    github: GitHub
    publisher: Publisher
    quiet_seconds: float
    """As long as after any other event: a burst is one evaluation."""

    def __call__(self, context: Context, job: LocateIssues) -> None:
        """Plan an evaluation per issue of the same repository; none for a pull request that is closed."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
        if stored is None or stored.suspended:
            return
        try:
            found = graphql_reader.pull_issues(self.github, stored.ref, job.pull)
        except NotFound:
            return
        if found.pull.state is not State.OPEN:
            return
        config_check.warn(self.publisher, stored.ref, found)
        here = stored.ref.full_name.lower()
        numbers = [issue.number for issue in found.closes if issue.repository.lower() == here]
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
