"""Progress of the demo in the bot's database: votes and outcomes."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Engine

from app.db.session import create_database_engine, transaction
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.db.store.queue import progress, upkeep
from app.jobs.job import VerifyGroup
from app.operator.bot import Bot, BotDown
from app.values.identifiers import IssueNumber, RepositoryId
from tests.builders.history import stored_outcomes
from tests.builders.history.stored_outcomes import OutcomeRow

Found = TypeVar("Found")

POLL_SECONDS = 0.2


class TookTooLong(Exception):
    """A wait of the demo took too long; the message names its aim and the jobs in the queue."""


@dataclass(frozen=True, slots=True)
class BotProgress:
    """An issue of the demo, seen from the database."""

    bot: Bot
    database: Engine
    repository: RepositoryId
    issue: IssueNumber

    @classmethod
    def over(cls, bot: Bot, repository: int, issue: int) -> "BotProgress":
        """Watch an issue of a running bot."""
        database = create_database_engine(bot.services.database_url, pool_size=1)
        return cls(bot, database, RepositoryId(repository), IssueNumber(issue))

    def is_published(self) -> Evaluation | None:
        """Return the published evaluation, or None."""
        with transaction(self.database) as connection:
            group = groups.find_group(connection, self.repository, self.issue)
            return evaluations.find_newest(connection, group.id, "published") if group else None

    def outcome_rows(self) -> tuple[OutcomeRow, ...]:
        """Return the outcomes of the pull requests so far."""
        with transaction(self.database) as connection:
            group = groups.find_group(connection, self.repository, self.issue)
            return stored_outcomes.list_rows(connection, group.id) if group else ()

    def progress(self) -> str:
        """Return the progress text of the running `verify_group` job, or "" without one."""
        with transaction(self.database) as connection:
            group = groups.find_group(connection, self.repository, self.issue)
            newest = evaluations.find_newest(connection, group.id, "collected") if group else None
            if newest is None:
                return ""
            return progress.read_progress(connection, VerifyGroup.build_key(newest.id)) or ""

    def wait(
        self, what: str, look: Callable[[], Found | None], seconds: float, tick: Callable[[], None]
    ) -> Found:
        """Call `look` until it returns a value; raises TookTooLong or BotDown."""
        deadline = time.monotonic() + seconds
        while (value := look()) is None:
            if time.monotonic() > deadline:
                raise TookTooLong(f"no {what} after {seconds:.0f} s; jobs: {self._queue()}")
            self.bot.check()
            tick()
            time.sleep(POLL_SECONDS)
        return value

    def _queue(self) -> str:
        with transaction(self.database) as connection:
            return ", ".join(str(count) for count in upkeep.count_jobs(connection))


__all__ = ["BotDown", "BotProgress", "TookTooLong"]
