"""Look again at what changed on GitHub without a webhook: pull requests, issues, links and commands.

GitHub lists the issues and pull requests of a repository by the time of their last change. The bot
keeps the time up to which it read this list, so nothing is left out, however long it was away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups, reconciliation
from app.db.store.queue import deliveries, jobs
from app.db.store.queue.deliveries import Delivery
from app.events import CommentEvent, ReviewEvent, parse
from app.github.api import graphql_reader, rest_reader
from app.github.api.rest_reader import Thread
from app.github.errors import NotFound, Unprocessable
from app.github.http.connection import GitHub
from app.github.http.transport import PER_PAGE
from app.jobs.job import EvaluateIssue, LocateIssues, Planned, Reconcile, RunCommand
from app.policy.commands import can_hold_command
from app.policy.event_policy import plan_jobs
from app.values.identifiers import IssueNumber, PullNumber, RepositoryRef
from worker.queue.context import Context
from worker.repositories.rebuilt_delivery import rebuild_comment, rebuild_review
from worker.repositories.repository_config import get_quiet_seconds

FIRST_LOOK: Final = timedelta(days=1)
"""How far the first look at a repository goes back."""
OVERLAP: Final = timedelta(minutes=1)
"""Changes this young are read again the next time: GitHub's clock and lists may lag behind."""
MOST_PAGES: Final = 10
"""Most pages of one run. A run that ends before the list does is followed by another one at once."""
COMMAND_AGE: Final = timedelta(days=3)
"""A lost command that is older is not carried out: nobody expects it any more."""
READ_EVERY: Final = timedelta(hours=1)
"""How often an open group is read again at least, because GitHub may not date a manual link as a change."""
MOST_UNREAD: Final = 25
"""Most groups of one run that are read again for this reason."""


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """Reads the changes of a repository and plans the jobs that their webhooks would have caused."""

    github: GitHub
    least_quiet_seconds: float
    """Shortest delay of an evaluation, so that a burst of events leads to one."""
    mention: str | None
    """The App's name in commands."""

    def __call__(self, context: Context, job: Reconcile) -> None:
        """Look again at everything that changed in the repository of `job` since the last look.

        An evaluation of an unchanged group changes nothing, and a command runs once for each comment. An unchanged list
        costs no quota of GitHub's API.
        """
        now = datetime.now(UTC)
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
            read_until = reconciliation.load_read_until(connection, job.repository)
        if stored is None:
            return
        since = read_until or now - FIRST_LOOK
        try:
            threads, is_complete = self._read_changes(stored.ref, since)
            lost = self._read_commands(stored.ref, threads, max(since, now - COMMAND_AGE))
        except (NotFound, Unprocessable):
            return  # deleted or uninstalled: the webhook about it is late or lost
        quiet = get_quiet_seconds(stored.config_text, self.least_quiet_seconds)
        with context.transaction() as connection:
            planned = self._plan_looks(connection, job, threads, now)
            context.enqueue(connection, [Planned(again, quiet) for again in planned])
            for delivery in lost:
                self._run_lost_command(context, connection, delivery)
            if threads:
                until = find_read_until(threads, since, now, is_complete=is_complete)
                reconciliation.save_read_until(connection, job.repository, until)
            if not is_complete:
                context.enqueue(connection, [Planned(job)])

    def _read_changes(
        self, repository: RepositoryRef, since: datetime
    ) -> tuple[tuple[Thread, ...], bool]:
        """Return the threads that changed after `since`, oldest change first, and whether these are all."""
        changed: list[Thread] = []
        for page in range(1, MOST_PAGES + 1):
            listed = rest_reader.list_changed_threads(self.github, repository, since, page)
            changed += [thread for thread in listed if thread.updated_at > since]
            if len(listed) < PER_PAGE:
                return tuple(changed), True
        return tuple(changed), False

    def _read_commands(
        self, repository: RepositoryRef, threads: Sequence[Thread], since: datetime
    ) -> list[Delivery]:
        """Return the webhook deliveries about comments and reviews since `since` that look like commands."""
        if not threads:
            return []
        pulls = [PullNumber(thread.number) for thread in threads if thread.is_pull]
        # This query also checks the repository's id, which no answer about comments names.
        reviews = graphql_reader.list_new_reviews(self.github, repository, pulls, since)
        comments = [
            rebuild_comment(repository, thread, comment)
            for thread in threads
            if thread.comments
            for comment in rest_reader.list_new_comments(
                self.github, repository, thread.number, since
            )
            if can_hold_command(comment.body, self.mention)
        ]
        return comments + [
            rebuild_review(repository, review)
            for review in reviews
            if can_hold_command(review.body, self.mention)
        ]

    def _plan_looks(
        self, connection: Connection, job: Reconcile, threads: Sequence[Thread], now: datetime
    ) -> list[EvaluateIssue | LocateIssues]:
        here = job.repository
        pulls = [PullNumber(thread.number) for thread in threads if thread.is_pull]
        issues = [IssueNumber(thread.number) for thread in threads if not thread.is_pull]
        linked = {pull: groups.list_issues_of_pull(connection, here, pull) for pull in pulls}
        grouped = reconciliation.select_grouped(connection, here, issues)
        unread = reconciliation.list_unread_issues(connection, here, now - READ_EVERY, MOST_UNREAD)
        return plan_looks(job, threads, linked, [*sorted(grouped), *unread])

    def _run_lost_command(
        self, context: Context, connection: Connection, delivery: Delivery
    ) -> None:
        """Store a comment or review as its webhook would have been stored, unless a job for it exists."""
        event = parse(delivery.event, delivery.guid, delivery.body)
        if not isinstance(event, CommentEvent | ReviewEvent):
            return
        key = RunCommand.build_key(event.command_source)
        if jobs.has_job(connection, key, RunCommand.kind):
            return
        deliveries.store_rebuilt(connection, delivery)
        planned = [Planned(again) for again in plan_jobs(event, self.mention)]
        context.enqueue(connection, planned, delivery=delivery.guid)


def find_read_until(
    threads: Sequence[Thread], since: datetime, now: datetime, *, is_complete: bool
) -> datetime:
    """Return the time after which the next look begins (pure).

    `threads` changed after `since`, oldest change first. The last minute before `now` is read again, except when more
    changes follow (`is_complete` False): the next run then goes on behind the last thread.
    """
    last = threads[-1].updated_at
    return max(since, min(last, now - OVERLAP)) if is_complete else last


def plan_looks(
    job: Reconcile,
    threads: Sequence[Thread],
    linked: Mapping[PullNumber, Sequence[IssueNumber]],
    issues: Sequence[IssueNumber],
) -> list[EvaluateIssue | LocateIssues]:
    """Return the jobs that look again at changed issues and pull requests, each once (pure).

    `threads` changed on GitHub, `linked` holds the issues whose groups contain a pull request, and `issues` are issues
    with a group that must be read again. An open pull request is also searched for new issues.
    """
    place = (job.installation, job.repository)
    again = dict.fromkeys([*issues, *chain.from_iterable(linked.values())])
    looks: list[EvaluateIssue | LocateIssues] = [
        EvaluateIssue(*place, issue, "reconcile") for issue in again
    ]
    looks += [
        LocateIssues(*place, PullNumber(thread.number))
        for thread in threads
        if thread.is_pull and thread.is_open
    ]
    return looks
