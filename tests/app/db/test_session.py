"""What a command says whose database can't be used."""

import subprocess
import sys

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from app.db import migrate
from app.db.session import DOWN, open_engine, transaction
from app.db.store.queue import upkeep
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
