"""What a command says whose database can't be used, and how long a connection may work and wait."""

import asyncio
import subprocess
import sys

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError

from app.db import migrate, session
from app.db.session import DOWN, TimeLimits, create_database_engine, open_engine, transaction
from app.db.store.queue import deliveries, upkeep
from app.settings import build_child_environment
from tests.services import free_port

COMMANDS = (
    "jobs",
    "models list",
    "labels summary",
    "labels explain octo/repo#1",
    "train status",
    "train start",
    "train dataset build --out out",
    "outcomes rederive",
    "migrate",
)


@pytest.fixture
def nowhere():
    """The URL of a database that is not there, with a password in it."""
    return f"postgresql://r4p:secret@127.0.0.1:{free_port()}/r4p?sslpassword=secret"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_its_database_says_so_in_one_line(command, nowhere, tmp_path):
    told = {"R4P_DATABASE_URL": nowhere, "R4P_TRAIN_PLAN": "cpu-smoke"}
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *command.split()],
        env=build_child_environment(told),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (DOWN, "")
    assert line.startswith(
        f"r4p: {nowhere.partition('?')[0].replace('secret', '***')} can't be used"
    )
    assert "Connection refused" in line
    assert line.endswith("set R4P_DATABASE_URL to another one")
    assert "secret" not in line


@pytest.mark.services
def test_a_database_that_is_not_there_is_named(database_url, capsys):
    url = make_url(database_url).set(database="another").render_as_string(hide_password=False)
    with pytest.raises(SystemExit) as raised:
        migrate.upgrade(url)
    assert raised.value.code == DOWN
    assert 'database "another" does not exist' in capsys.readouterr().err


@pytest.mark.services
def test_a_database_of_another_revision_is_told_what_to_do(empty_url, capsys):
    with (
        pytest.raises(SystemExit) as raised,
        open_engine(empty_url) as database,
        transaction(database) as connection,
    ):
        upkeep.list_dead(connection, 1)
    assert raised.value.code == DOWN
    (line,) = capsys.readouterr().err.splitlines()
    assert 'relation "jobs" does not exist' in line
    assert line.endswith("r4p migrate")


@pytest.mark.services
@pytest.mark.parametrize("statement", ["selec 1", "select 1/0"])
def test_a_mistake_of_ours_keeps_its_traceback(database_url, statement):
    with (
        pytest.raises(DBAPIError),
        open_engine(database_url) as database,
        transaction(database) as connection,
    ):
        connection.execute(text(statement))


@pytest.mark.services
def test_an_error_of_ours_is_left_as_it_is(database_url):
    with (
        pytest.raises(ZeroDivisionError),
        open_engine(database_url) as database,
        transaction(database),
    ):
        raise ZeroDivisionError


SHORT = TimeLimits(statement=0.3, lock=0.1, idle=0)
LIMITS = "select array_agg(setting::int order by name) from pg_settings where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')"


@pytest.mark.services
def test_statement_that_never_ends_is_stopped_with_a_clear_error(database_url, capsys):
    with (
        pytest.raises(SystemExit) as raised,
        open_engine(database_url, SHORT) as database,
        transaction(database) as connection,
    ):
        connection.execute(text("select pg_sleep(3600)"))
    assert raised.value.code == DOWN
    (line,) = capsys.readouterr().err.splitlines()
    assert "canceling statement due to statement timeout" in line
    assert line.endswith("pg_stat_activity, then try again")


@pytest.mark.services
def test_wait_for_a_lock_ends_and_the_connection_still_works(database):
    hurried = create_database_engine(
        database.url.render_as_string(hide_password=False).replace("+psycopg", ""), limits=SHORT
    )
    lock = text("lock table jobs")
    with database.begin() as holder:
        holder.execute(lock)
        with pytest.raises(OperationalError, match="lock timeout"), hurried.begin() as waiter:
            waiter.execute(lock)
    with hurried.begin() as again:
        again.execute(lock)
    hurried.dispose()


@pytest.mark.services
def test_transaction_that_stands_still_loses_its_locks_to_the_next_one(database):
    url = database.url.render_as_string(hide_password=False).replace("+psycopg", "")
    patient = create_database_engine(url, limits=TimeLimits(statement=0, lock=0, idle=0.2))
    lock = text("lock table jobs")
    paused = patient.connect()
    paused.execute(lock)
    with database.begin() as other:
        other.execute(lock)  # returns once PostgreSQL has ended the paused transaction
    with pytest.raises(DBAPIError):
        paused.execute(text("select 1"))
    paused.close()
    patient.dispose()


@pytest.mark.services
def test_every_process_has_limits_and_a_migration_only_those_of_its_own(database_url):
    shown = {}
    for name in ("WEB", "HEALTH", "WORKER", "COMMAND", "MIGRATION"):
        limits = getattr(session, f"{name}_LIMITS")
        with open_engine(database_url, limits) as database, transaction(database) as connection:
            shown[name] = connection.scalar(text(LIMITS))
        assert shown[name] == [limits.idle * 1000, limits.lock * 1000, limits.statement * 1000]
    assert {name for name, values in shown.items() if 0 in values} == {"MIGRATION"}
    assert asyncio.run(_read_limits_of_webhook(database_url)) == shown["WEB"]


async def _read_limits_of_webhook(database_url):
    async with (
        deliveries.create_pool(database_url, size=1) as pool,
        pool.connection() as connection,
    ):
        return (await (await connection.execute(LIMITS)).fetchone())[0]
