"""Store what all processes share about an installation: cached responses and write limits."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from sqlalchemy import Engine, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.session import transaction
from app.db.tables.schema import etags, write_limits
from app.github.http.connection import CachedAnswer
from app.github.http.rate_limiter import WriteLimits
from app.values.identifiers import InstallationId


@dataclass(frozen=True, slots=True)
class PostgresEtags:
    """Caches GitHub's responses in PostgreSQL. It implements `EtagStore` with one row per installation and path."""

    database: Engine

    def get(self, installation: InstallationId, path: str) -> CachedAnswer | None:
        """Return an installation's last stored response for `path` (with its query), or None."""
        with transaction(self.database) as connection:
            row = connection.execute(
                select(etags.c.etag, etags.c.body).where(
                    etags.c.installation_id == installation, etags.c.path == path
                )
            ).one_or_none()
        return None if row is None else CachedAnswer(row.etag, bytes(row.body).decode())

    def put(self, installation: InstallationId, path: str, cached: CachedAnswer) -> None:
        """Store a response with its ETag for an installation and a `path`, in place of an earlier one."""
        values = {"etag": cached.etag, "body": cached.body.encode(), "updated_at": func.now()}
        with transaction(self.database) as connection:
            connection.execute(
                insert(etags)
                .values(installation_id=installation, path=path, **values)
                .on_conflict_do_update(index_elements=["installation_id", "path"], set_=values)
            )


Decided = TypeVar("Decided")


@dataclass(frozen=True, slots=True)
class PostgresLimiter:
    """Stores write limits in PostgreSQL. It implements `LimiterStore` with one row per installation."""

    database: Engine

    def change(
        self,
        installation: InstallationId,
        step: Callable[[WriteLimits], tuple[WriteLimits, Decided]],
    ) -> Decided:
        """Replace an installation's stored write limits by the result of `step`, under a row lock.

        `step` gets the limits (new ones if none are stored) and returns the changed limits and a decision, which this
        method returns.
        """
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
            limits, decided = step(_read_limits(state))
            connection.execute(update(write_limits).where(mine).values(state=asdict(limits)))
        return decided

    def load(self, installation: InstallationId) -> WriteLimits:
        """Load an installation's write limits without a lock; new limits if none are stored."""
        with transaction(self.database) as connection:
            state = connection.execute(
                select(write_limits.c.state).where(write_limits.c.installation_id == installation)
            ).scalar_one_or_none()
        return WriteLimits() if state is None else _read_limits(state)


def _read_limits(state: dict[str, Any]) -> WriteLimits:
    times = {name: tuple(state.get(name, ())) for name in ("writes", "replies")}
    return WriteLimits(**(state | times))
