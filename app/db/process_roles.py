"""Create the database roles of the bot's processes, and give each its privileges and row rules."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import ProgrammingError

from app.db.process_grants import GRANTS, VIEWS, ProcessRole
from app.db.row_functions import list_functions
from app.db.row_rules import ROW_RULES, RowRule
from app.db.session import open_engine

_LOCK: Final = 0x52345052
"""Advisory lock: one process changes the roles at a time."""

_OLD_POLICIES: Final = """
select policyname, tablename from pg_policies
where schemaname = current_schema() and policyname like 'r4p\\_%'
"""


class NoRoles(Exception):
    """The database's user may not create roles. The message names the fix."""


@dataclass(frozen=True, slots=True)
class Separation:
    """How the processes are separated in a database: the role of this connection, and the roles that have privileges."""

    user: str
    is_owner: bool
    """True if this user owns the tables, so that no privilege and no row rule restricts it."""
    are_granted: bool
    """True if the roles of the processes exist and have privileges here."""


def create_roles(database_url: str, *, can_log_in: bool = False) -> None:
    """Create the roles that are missing, and grant all of them their privileges.

    A new role cannot log in before somebody gives it a password; with `can_log_in` it can, as far as the server's rules
    allow. Raises NoRoles.
    """
    with open_engine(database_url) as database, database.begin() as connection:
        add_missing_roles(connection, can_log_in=can_log_in)
        grant_privileges(connection)


def add_missing_roles(connection: Connection, *, can_log_in: bool = False) -> None:
    """Create the roles that are missing, without privileges. Raises NoRoles."""
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    existing = set(connection.scalars(text("select rolname from pg_roles")))
    for role in ProcessRole:
        if role.value not in existing:
            _create_role(connection, role, "login" if can_log_in else "nologin")


def refresh_grants(database_url: str) -> None:
    """Grant the privileges again after a migration, if the roles had privileges in this database before it."""
    with open_engine(database_url) as database, database.begin() as connection:
        if read_separation(connection).are_granted:
            grant_privileges(connection)


def build_role_url(database_url: str, process: str) -> str:
    """Return the URL with which the process named `process` logs in as its own role, without a password.

    A process that has no role, such as the scheduler, gets the URL unchanged.
    """
    # A role is named for its process: ProcessRole.WEB is "r4p_web".
    role = f"r4p_{process}"
    if role not in set(ProcessRole):
        return database_url
    return make_url(database_url).set(username=role).render_as_string(hide_password=False)


def read_separation(connection: Connection) -> Separation:
    """Read how the processes are separated in the connection's database."""
    row = connection.execute(
        text(
            """
            select current_user as name, pg_has_role(current_user, relowner, 'usage') as is_owner,
                relrowsecurity as are_granted
            from pg_class where oid = 'jobs'::regclass
            """
        )
    ).one()
    return Separation(row.name, row.is_owner, row.are_granted)


def grant_privileges(connection: Connection) -> None:
    """Replace all privileges and row rules of the processes' roles by those of `process_grants`."""
    schema = connection.dialect.identifier_preparer.quote_identifier(
        connection.scalar(text("select current_schema()"))
    )
    for name, table in connection.execute(text(_OLD_POLICIES)).all():
        connection.exec_driver_sql(f"drop policy {name} on {table}")
    for statement in list_statements(schema):
        connection.exec_driver_sql(statement)


def list_statements(schema: str) -> Iterator[str]:
    """Yield the SQL statements that set the privileges and row rules; `schema` is the tables' quoted schema."""
    roles = ", ".join(ProcessRole)
    yield f"revoke all on all tables in schema {schema} from {roles}"
    yield f"grant usage on schema {schema} to {roles}"
    for table, privileges in {**GRANTS, **VIEWS}.items():
        for role, granted in privileges.items():
            yield f"grant {granted} on {table} to {role}"
    yield from list_functions(schema)
    yield f"grant execute on function maintain_partitions(regclass, integer) to {ProcessRole.GITHUB}"
    for table, rules in groupby(sorted(ROW_RULES, key=_get_table), key=_get_table):
        yield from _list_policies(table, list(rules))


def _list_policies(table: str, rules: list[RowRule]) -> Iterator[str]:
    """Yield the statements that create the policies of one table, one policy per role and command."""
    unlimited = [role for role in GRANTS[table] if role not in {rule.role for rule in rules}]
    for rule in [*rules, *(RowRule(role, table, "all", "true") for role in unlimited)]:
        using = f" using ({rule.using})" if rule.using else ""
        check = f" with check ({rule.check})" if rule.check else ""
        name = f"{rule.role}_{rule.command}"
        yield f"create policy {name} on {table} for {rule.command} to {rule.role}{using}{check}"
    yield f"alter table {table} enable row level security"


def _get_table(rule: RowRule) -> str:
    return rule.table


def _create_role(connection: Connection, role: ProcessRole, login: str) -> None:
    try:
        connection.exec_driver_sql(f"create role {role} {login}")
    except ProgrammingError as error:
        why = " ".join(str(error.orig).split())
        raise NoRoles(
            f"the role {role} can't be created ({why}); let a user with CREATEROLE run `create role {role} nologin`,"
            " then run this command again"
        ) from error
