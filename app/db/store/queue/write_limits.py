"""Store the write limits per installation and change them under a row lock."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeVar

from sqlalchemy import Engine, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.session import transaction
from app.db.tables.schema import write_limits
from app.github.http.rate_limiter import WriteLimits
from app.values.identifiers import InstallationId

Decided = TypeVar("Decided")


@dataclass(frozen=True, slots=True)
class PostgresLimiter:
    """Implements `LimiterStore` with one row per installation."""

    database: Engine

    def change(
        self,
        installation: InstallationId,
        step: Callable[[WriteLimits], tuple[WriteLimits, Decided]],
    ) -> Decided:
        """Apply a step to the stored limits under a row lock."""
        mine = write_limits.c.installation_id == installation
        with transaction(self.database) as connection:
            connection.execute(
                insert(write_limits)
                .values(installation_id=installation, state=asdict(WriteLimits()))
                .on_conflict_do_nothing()
            )
            state = connection.execute(
                select(write_limits.c.state).where(mine).with_for_update()
            ).scalar_one()
            limits, decided = step(_limits(state))
            connection.execute(update(write_limits).where(mine).values(state=asdict(limits)))
        return decided

    def load(self, installation: InstallationId) -> WriteLimits:
        """Load the limits."""
        with transaction(self.database) as connection:
            state = connection.execute(
                select(write_limits.c.state).where(write_limits.c.installation_id == installation)
            ).scalar_one_or_none()
        return WriteLimits() if state is None else _limits(state)


def _limits(state: dict[str, object]) -> WriteLimits:
    return WriteLimits(**{**state, "writes": tuple(state["writes"])})  # type: ignore[arg-type]  # as dumped above
