"""The bot's database records about one repository."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select, text

from app.db.store.issues import groups
from app.db.tables.schema import deliveries, evaluations, installations, jobs, repositories
from app.db.tables.schema import groups as group_table
from tests.builders.history import stored_outcomes
from tests.builders.history.stored_outcomes import OutcomeRow
from tests.github.repo import Repo
from tests.stories.stage import Stage


@dataclass
class BotRecords:
    """A repository with the App on it, and the bot's records about it."""

    stage: Stage
    repo: Repo
    installation: int

    def evaluations(self) -> list[str]:
        """Return the states of all evaluations, oldest first."""
        query = (
            select(evaluations.c.state)
            .join(group_table)
            .where(group_table.c.repository_id == self.repo.id)
            .order_by(evaluations.c.id)
        )
        with self.stage.database.connect() as connection:
            return list(connection.scalars(query))

    def count_jobs(self) -> dict[str, int]:
        """Count the jobs of each kind, without `record_event`."""
        counts = Counter(kind for kind, _, _ in self.jobs(jobs.c.kind != "record_event"))
        return dict(counts)

    def outcomes(self, issue: int) -> list[tuple[int, str, str | None]]:
        """Return the outcomes of an issue's rivals: pull request, kind, reason."""
        rows = self.outcome_rows(issue)
        return [(row.pull, row.kind.value, row.reason) for row in rows]

    def outcome_rows(self, issue: int) -> tuple[OutcomeRow, ...]:
        """Return the whole outcome rows of an issue's rivals."""
        with self.stage.database.connect() as connection:
            group = groups.find_group(connection, self.repo.id, issue)
            return stored_outcomes.list_rows(connection, group.id) if group else ()

    def has_reached(self, state: str) -> bool:
        """Return whether the newest evaluation has reached a state."""
        order = ["collected", "verified", "published"]
        states = self.evaluations()
        return bool(states) and order.index(states[-1]) >= order.index(state)

    def is_running(self, kind: str) -> bool:
        """Return whether a job of this kind runs."""
        return bool(self.jobs((jobs.c.kind == kind) & (jobs.c.state == "running")))

    def is_postponed(self, kind: str) -> bool:
        """Return whether a job of this kind waits after a failed attempt."""
        waits = (jobs.c.state == "ready") & jobs.c.error.is_not(None)
        return bool(self.jobs((jobs.c.kind == kind) & waits))

    def waiting(self, issue: int) -> str | None:
        """Return the reason why the bot does not judge an issue."""
        with self.stage.database.connect() as connection:
            return groups.find_group(connection, self.repo.id, issue).waiting

    def checkout(self) -> Path:
        """Return the folder of the repository's git objects."""
        return self.stage.checkouts / f"{self.repo.id}.git"

    def count_rows(self) -> dict[str, int]:
        """Count the installation's rows in each table."""
        tables = (installations.c.id, repositories.c.installation_id, deliveries.c.installation_id)
        with self.stage.database.connect() as connection:
            return {
                column.table.name: count
                for column in tables
                if (
                    count := connection.execute(
                        select(text("count(*)"))
                        .select_from(column.table)
                        .where(column == self.installation)
                    ).scalar()
                )
            }

    def due_within(self, seconds: float) -> list[tuple[str, str, str | None]]:
        soon = text(f"now() + interval '{seconds} s'")
        return self.jobs(jobs.c.state.in_(["ready", "running"]) & (jobs.c.run_after < soon))

    def jobs(self, where: object) -> list[tuple[str, str, str | None]]:
        # A purge is stored as work of the whole App; its payload names the installation.
        own = jobs.c.payload["installation"].as_integer() == self.installation
        query = (
            select(jobs.c.kind, jobs.c.state, jobs.c.error).where(own, where).order_by(jobs.c.id)
        )
        with self.stage.database.connect() as connection:
            return [tuple(row) for row in connection.execute(query)]
