"""How Alembic reaches the database: on the connection that `app.db.migrate` hands it."""

from alembic import context
from sqlalchemy import text

from app.db.tables.schema import metadata

_LOCK = 0x5234505F  # one starter migrates, the others wait and find nothing to do


def migrate() -> None:
    """Run in one transaction, so that a failed revision leaves nothing behind."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, compare_server_default=True)
    with context.begin_transaction():
        connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        context.run_migrations()


migrate()
