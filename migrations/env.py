"""Run the revisions on the connection that `app.db.migrate` passes in."""

from alembic import context
from sqlalchemy import text

from app.db.tables.schema import metadata

_LOCK = 0x5234505F  # one process migrates; the others wait, then find nothing to do


def migrate() -> None:
    """Run the revisions in one transaction, so that a failed one leaves nothing behind."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, compare_server_default=True)
    with context.begin_transaction():
        connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        context.run_migrations()


migrate()
