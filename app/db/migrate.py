"""Migrate a database to a revision; `migrations/` holds the revisions."""

from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, inspect

import migrations
from app.db.session import MIGRATION_LIMITS, open_engine


def upgrade(database_url: str, revision: str = "head") -> None:
    """Migrate a database up to a schema revision; `head` is the newest.

    If several processes call this at once, one migrates and the others wait. Raises SystemExit when the database is
    unusable.
    """
    _run(database_url, lambda config: command.upgrade(config, revision))


def downgrade(database_url: str, revision: str) -> None:
    """Migrate a database down to an older schema revision and lose the data of dropped tables.

    The revision `base` is the empty database. Raises SystemExit when the database is unusable.
    """
    _run(database_url, lambda config: command.downgrade(config, revision))


def read_revision(connection: Connection) -> str | None:
    """Return the schema revision of a database; None: it has no schema."""
    return MigrationContext.configure(connection).get_current_revision()


def find_newest_revision() -> str | None:
    """Return the newest schema revision, which this version of the bot needs."""
    return ScriptDirectory(str(Path(migrations.__file__).parent)).get_current_head()


def count_tables(connection: Connection) -> int:
    """Count the tables and views of any program in the schema of this connection."""
    schema = inspect(connection)
    return len(schema.get_table_names()) + len(schema.get_view_names())


def is_known_revision(revision: str) -> bool:
    """Return whether this version of the bot has the schema revision, so that it can migrate a database from there."""
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    try:
        return scripts.get_revision(revision) is not None
    except CommandError:
        return False


def build_configuration(connection: Connection) -> Config:
    """Build the Alembic configuration that runs the revisions of `migrations/` on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    # Alembic warns without a separator; there is only one path, so any choice works.
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _run(database_url: str, action: Callable[[Config], None]) -> None:
    with open_engine(database_url, MIGRATION_LIMITS) as database, database.connect() as connection:
        action(build_configuration(connection))
