"""Answers that GitHub lets us revalidate for free, per installation."""

from dataclasses import dataclass

from sqlalchemy import Engine, func, select
from sqlalchemy.dialects.postgresql import insert

from app.db.session import transaction
from app.db.tables.schema import etags
from app.github.http.etag_store import CachedAnswer
from app.values.identifiers import InstallationId


@dataclass(frozen=True, slots=True)
class PostgresEtags:
    """Implements `EtagStore` with one row per installation and path."""

    database: Engine

    def get(self, installation: InstallationId, path: str) -> CachedAnswer | None:
        """Return the last response for a path, or None."""
        with transaction(self.database) as connection:
            row = connection.execute(
                select(etags.c.etag, etags.c.body).where(
                    etags.c.installation_id == installation, etags.c.path == path
                )
            ).one_or_none()
        return None if row is None else CachedAnswer(row.etag, bytes(row.body).decode())

    def put(self, installation: InstallationId, path: str, cached: CachedAnswer) -> None:
        """Store a response in place of an earlier one."""
        values = {"etag": cached.etag, "body": cached.body.encode(), "updated_at": func.now()}
        with transaction(self.database) as connection:
            connection.execute(
                insert(etags)
                .values(installation_id=installation, path=path, **values)
                .on_conflict_do_update(index_elements=["installation_id", "path"], set_=values)
            )
