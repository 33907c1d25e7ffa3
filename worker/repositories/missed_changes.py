"""Look again at what changed on GitHub without a webhook: pull requests, issues, links and commands.

GitHub lists the issues and pull requests of a repository by the time of their last change. The bot
keeps the time up to which it read this list, so nothing is left out, however long it was away.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from math import ceil
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
from app.jobs.job import EvaluateIssue, LocateIssues, Planned, Reconcile, RunCommand
from app.policy.commands import can_hold_command
from app.policy.event_policy import plan_jobs
from app.values.identifiers import IssueNumber, PullNumber, RepositoryRef
from worker.queue.context import Context
from worker.repositories.change_list import Changes, read_changes
from worker.repositories.rebuilt_delivery import rebuild_comment, rebuild_review
from worker.repositories.repository_config import get_quiet_seconds

FIRST_LOOK: Final = timedelta(days=1)
"""The first look at a repository reads all that is open, and carries out lost commands of this time."""
BEFORE_GITHUB: Final = datetime(2008, 1, 1, tzinfo=UTC)
OVERLAP: Final = timedelta(minutes=1)
"""Changes this young are read again the next time: GitHub's clock and lists may lag behind."""
MOST_PAGES: Final = 10
"""Most pages of each list in one run. A run that ends before a list does is followed by another one at once."""
MOST_OPEN_PAGES: Final = 200
"""The same for the first look, whose newest threads come last in the list and first in the queue."""
COMMAND_AGE: Final = timedelta(days=3)
"""A lost command that is older is not carried out: nobody expects it any more."""
REREADS_AN_HOUR: Final = 2_000
"""Most open groups of one installation that are read again in an hour, because GitHub may not date a manual link as a
change. GitHub allows an installation 5,000 reads an hour."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """Reads the changes of a repository and plans the jobs that their webhooks would have caused."""

    github: GitHub
    least_quiet_seconds: float
    """Shortest delay of an evaluation, so that a burst of events leads to one."""
    mention: str | None
    """The App's name in commands."""
    interval: timedelta = timedelta(minutes=15)
    """Time between two looks at a repository."""

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
            changed = self._read_threads(stored.ref, read_until)
            lost = self._read_commands(stored.ref, changed.entries, max(since, now - COMMAND_AGE))
        except (NotFound, Unprocessable):
            return  # deleted or uninstalled: the webhook about it is late or lost
        quiet = get_quiet_seconds(stored, self.least_quiet_seconds)
        stops = [end for end in (changed.read_until, lost.read_until) if end]
        with context.transaction() as connection:
            looks = _plan_looks(connection, job, changed.entries)
            context.enqueue(connection, [Planned(again, quiet) for again in looks])
            for delivery in lost.entries:
                self._run_lost_command(context, connection, delivery)
            if changed.entries or read_until is None:
                until = find_read_until(changed.entries, since, now, stops)
                reconciliation.save_read_until(connection, job.repository, until)
            again = [Planned(job)] if stops else self._plan_rereads(connection, job, now)
            context.enqueue(connection, again)

    def _read_threads(
        self, repository: RepositoryRef, read_until: datetime | None
    ) -> Changes[Thread]:
        """Return the threads that changed after `read_until`, each once; None: the open ones."""
        is_first = read_until is None
        state = "open" if is_first else "all"
        list_page = partial(rest_reader.list_changed_threads, self.github, repository, state=state)
        since, most = read_until or BEFORE_GITHUB, MOST_OPEN_PAGES if is_first else MOST_PAGES
        changes = read_changes(list_page, since, most)
        newest = {thread.number: thread for thread in changes.entries if thread.updated_at > since}
        return Changes(tuple(newest.values()), changes.read_until)

    def _read_commands(
        self, repository: RepositoryRef, threads: Collection[Thread], since: datetime
    ) -> Changes[Delivery]:
        """Return the webhook deliveries about comments and reviews since `since` that look like commands."""
        if not threads:
            return Changes((), None)
        recent = [thread for thread in threads if thread.updated_at >= since]
        pulls = [PullNumber(thread.number) for thread in recent if thread.is_pull]
        # This query also checks the repository's id, which no answer about comments names.
        reviews = graphql_reader.list_new_reviews(self.github, repository, pulls, since)
        list_page = partial(rest_reader.list_changed_comments, self.github, repository)
        comments = read_changes(list_page, since, MOST_PAGES)
        lost = [
            rebuild_comment(repository, comment)
            for comment in comments.entries
            if comment.created_at >= since and can_hold_command(comment.body, self.mention)
        ]
        lost += [
            rebuild_review(repository, review)
            for review in reviews
            if can_hold_command(review.body, self.mention)
        ]
        return Changes(tuple(lost), comments.read_until)

    def _plan_rereads(self, connection: Connection, job: Reconcile, now: datetime) -> list[Planned]:
        """Plan to read the open groups again that the bot read longest ago."""
        place = (job.installation, job.repository)
        counts = reconciliation.count_open_groups(connection, *place)
        runs = max(1, timedelta(hours=1) // self.interval)
        limit = find_reread_limit(*counts, runs)
        if limit * runs < counts[0]:
            log.warning(
                "repository %d: of %d open groups, %d are read again now; the others go first the next time",
                *(job.repository, counts[0], limit),
            )
        unread = reconciliation.list_unread_issues(
            connection, job.repository, now - self.interval, limit
        )
        # These groups show no change, so that they need not wait for the end of a burst.
        return [
            Planned(EvaluateIssue(*place, issue, "reconcile"), self.least_quiet_seconds)
            for issue in unread
        ]

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
    threads: Collection[Thread], since: datetime, now: datetime, stops: Sequence[datetime]
) -> datetime:
    """Return the time after which the next look begins (pure).

    `threads` changed after `since`. `stops` holds the time up to which each list was read whose reading ended early. The
    last minute before `now` is read again.
    """
    if stops:
        return min(stops)
    last = max((thread.updated_at for thread in threads), default=since)
    return max(since, min(last, now - OVERLAP))


def find_reread_limit(here: int, everywhere: int, runs: int) -> int:
    """Return how many groups of a repository one of `runs` runs an hour reads again (pure).

    The repository has `here` open groups, and its installation `everywhere`. Each repository gets its share.
    """
    share = REREADS_AN_HOUR * here // (runs * max(1, everywhere))
    return min(ceil(here / runs), max(1, share))


def _plan_looks(
    connection: Connection, job: Reconcile, threads: Collection[Thread]
) -> list[EvaluateIssue | LocateIssues]:
    here = job.repository
    pulls = [PullNumber(thread.number) for thread in threads if thread.is_pull]
    issues = [IssueNumber(thread.number) for thread in threads if not thread.is_pull]
    linked = {pull: groups.list_issues_of_pull(connection, here, pull) for pull in pulls}
    grouped = reconciliation.select_grouped(connection, here, issues)
    return plan_looks(job, threads, linked, sorted(grouped))


def plan_looks(
    job: Reconcile,
    threads: Collection[Thread],
    linked: Mapping[PullNumber, Sequence[IssueNumber]],
    issues: Sequence[IssueNumber],
) -> list[EvaluateIssue | LocateIssues]:
    """Return the jobs that look again at changed issues and pull requests, each once (pure).

    `threads` changed on GitHub, `linked` holds the issues whose groups contain a pull request, and `issues` are the
    issues of `threads` with a group. An open pull request is also searched for new issues, the last changed one first.
    """
    place = (job.installation, job.repository)
    again = dict.fromkeys([*issues, *chain.from_iterable(linked.values())])
    looks: list[EvaluateIssue | LocateIssues] = [
        EvaluateIssue(*place, issue, "reconcile") for issue in again
    ]
    looks += [
        LocateIssues(*place, PullNumber(thread.number))
        for thread in sorted(threads, key=lambda thread: thread.updated_at, reverse=True)
        if thread.is_pull and thread.is_open
    ]
    return looks
