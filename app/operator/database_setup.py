"""The database's schema, roles and pauses: what `r4p migrate` changes and what `r4p doctor` says about them."""

import sys

from app.db import migrate as migrations
from app.db import process_roles
from app.db.process_roles import NoRoles
from app.db.session import open_database
from app.db.store.queue import installation_controls
from app.db.store.queue.installation_controls import ALL
from app.settings import DatabaseSettings, load


def migrate(*, with_roles: bool) -> int:
    """Migrate the database of R4P_DATABASE_URL, and grant the processes' roles their privileges.

    `with_roles` creates the roles that are missing. Returns the exit code: 1 if they cannot be created.
    """
    url = load(DatabaseSettings).database_url
    migrations.upgrade(url)
    if not with_roles:
        process_roles.refresh_grants(url)
        return 0
    try:
        process_roles.create_roles(url)
    except NoRoles as error:
        sys.stderr.write(
            f"r4p migrate: the schema is up to date, but {error}. Until then all processes share one role.\n"
        )
        return 1
    return 0


def describe_separation() -> tuple[bool, str]:
    """Read how the processes are separated in the database of R4P_DATABASE_URL.

    Returns whether each process can have a role of its own, and a sentence for the operator.
    """
    with open_database() as database, database.connect() as connection:
        separation = process_roles.read_separation(connection)
    if not separation.are_granted:
        fix = "`r4p migrate --roles` creates one role for each process"
        return False, f"all processes share the role {separation.user}: {fix}"
    if separation.is_owner:
        return (
            True,
            f"the roles are ready; {separation.user} owns the tables, so give it to no process",
        )
    return True, f"this process has the role {separation.user}"


def describe_pauses() -> tuple[bool, str]:
    """Read the operator's pauses from the database of R4P_DATABASE_URL.

    Returns whether nothing is paused, and a sentence for the operator with the command that ends each pause.
    """
    with open_database() as database, database.connect() as connection:
        pauses = installation_controls.list_paused(connection)
    if not pauses:
        return True, "no installation is paused"
    return False, "; ".join(
        f"{'all installations are' if which == ALL else f'installation {which} is'} paused since "
        f"{since:%Y-%m-%d %H:%M %Z}: `r4p installations resume {which or '--all'}` ends it"
        for which, since in pauses.items()
    )
