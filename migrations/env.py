"""Run the revisions on the connection that `app.db.migrate` passes in."""

from functools import cache

from alembic import context
from sqlalchemy import text

from app.db.tables.schema import metadata

_LOCK = 0x5234505F  # one process migrates; the others wait, then find nothing to do


def migrate() -> None:
    """Run the revisions in one transaction, so that a failed one leaves nothing behind."""
    connection = context.config.attributes["connection"]

    @cache  # read when the comparison asks: a query before the transaction would open another one
    def list_partitions() -> frozenset[str]:
        rows = connection.scalars(text("select relname from pg_class where relispartition"))
        return frozenset(rows)

    context.configure(
        connection=connection,
        target_metadata=metadata,
        compare_server_default=True,
        # The comparison leaves out partitions, because every month adds some.
        include_name=lambda name, kind, _: kind != "table" or name not in list_partitions(),
    )
    with context.begin_transaction():
        connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        # A wait for a lock on a table makes all later users of the table wait too.
        connection.execute(text("set local lock_timeout = '30s'"))
        context.run_migrations()


migrate()
