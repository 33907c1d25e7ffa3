"""`r4p backup` and `r4p restore` with a database of one's own: nothing is lost, and nothing is replaced."""

import json
import resource
import tarfile
from contextlib import contextmanager
from io import BytesIO

import pytest
from sqlalchemy import Engine, select
from typer.testing import CliRunner

from app.cli import main
from app.db import migrate, process_roles
from app.db.process_roles import read_separation
from app.db.session import create_database_engine
from app.db.tables.schema import metadata
from app.operator.backup.postgres_tools import hide_password
from app.operator.embedded import Embedded
from tests.app.db.rows import fill

pytestmark = pytest.mark.services


@pytest.fixture
def run(database_url, monkeypatch):
    def run(*arguments, url=database_url):
        monkeypatch.setenv("R4P_DATABASE_URL", url)
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def empty_url(services):
    yield services.embedded.create_database("restored")
    services.embedded.drop_database("restored")


@pytest.fixture
def archive(database, run, tmp_path):
    """A backup of a database with a row in each table."""
    with database.begin() as connection:
        fill(connection)
    target = tmp_path / "backup.tar"
    result = run("backup", target)
    assert (result.exit_code, "MB with the database" in result.stdout) == (0, True)
    return target


def read_all(database: Engine):
    """Every row of every table, by the table's name."""
    with database.connect() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def rewrite(source, target, **changes):
    """Copy an archive with other values in its manifest."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for member in old:
            file = old.extractfile(member)
            if member.name == "manifest.json":
                text = json.dumps(json.load(file) | changes).encode()
                member.size, file = len(text), BytesIO(text)
            new.addfile(member, file)
    return target


@contextmanager
def limit_files(size):
    """Let this process write no file over `size` bytes, as on a disk that fills up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_with_the_file(archive, run):
    target = archive.with_name("second.tar")
    with limit_files(archive.stat().st_size - 1):
        result = run("backup", target)
    assert result.exit_code == 2
    assert f"{target}: File too large; nothing was changed" in result.stderr
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]


def test_every_row_is_there_again(database, archive, run, empty_url):
    result = run("restore", archive, url=empty_url)
    assert (result.exit_code, result.stderr) == (0, "")
    restored = create_database_engine(empty_url, pool_size=1)
    before = read_all(database)
    assert all(before.values())
    assert read_all(restored) == before
    restored.dispose()


def test_the_roles_of_the_processes_keep_their_privileges(run, tmp_path):
    archive = tmp_path / "roles.tar"
    with Embedded(
        tmp_path / "old"
    ) as server:  # roles belong to a server, so not to that of all tests
        migrate.upgrade(server.database_url)
        process_roles.create_roles(server.database_url)
        assert run("backup", archive, url=server.database_url).exit_code == 0
    with Embedded(tmp_path / "new") as server:
        assert run("restore", archive, url=server.database_url).exit_code == 0
        restored = create_database_engine(server.database_url, pool_size=1)
        with restored.connect() as connection:
            assert read_separation(connection).are_granted
        restored.dispose()


def test_only_the_owner_may_read_a_backup(archive):
    assert archive.stat().st_mode & 0o077 == 0


def test_nothing_is_replaced(archive, run, tmp_path, database, database_url):
    taken = tmp_path / "taken.tar"
    taken.write_text("mine")
    before = read_all(database)
    data = tmp_path / "data"
    (data / "logs").mkdir(parents=True)
    for arguments, why in (
        (["backup", taken], "exists: give another file"),
        (["restore", archive], "tables already: give R4P_DATABASE_URL an empty one"),
        (["restore", archive, "--data", data], "is not empty: give --data a new folder"),
        (["restore", archive, "--data", taken], "is not empty: give --data a new folder"),
    ):
        result = run(*arguments)
        assert (result.exit_code, why in result.stderr) == (2, True)
    assert taken.read_text() == "mine"
    assert read_all(database) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.tar", "data", "taken.tar"]


def test_a_file_that_is_no_whole_backup_changes_nothing(archive, run, tmp_path, empty_url):
    torn, text = tmp_path / "torn.tar", tmp_path / "text.tar"
    torn.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    text.write_text("no archive")
    newer = rewrite(archive, tmp_path / "newer.tar", revision="from_the_future", version="9.9.9")
    other = rewrite(archive, tmp_path / "other.tar", dump_sha256="0" * 64)
    for source, why in (
        (torn, "can't be extracted"),
        (text, "it is no backup of this bot"),
        (tmp_path / "missing.tar", "No such file"),
        (newer, "by version 9.9.9 with the newer schema from_the_future"),
        (other, "is damaged"),
    ):
        result = run("restore", source, url=empty_url)
        assert (result.exit_code, why in result.stderr) == (2, True), result.stderr
        data = tmp_path / "new"
        assert run("restore", source, "--data", data).exit_code == 2
        assert not data.exists()
    database = create_database_engine(empty_url, pool_size=1)
    with database.connect() as connection:
        assert connection.exec_driver_sql("select to_regclass('jobs')").scalar() is None
    database.dispose()


def test_what_can_not_be_backed_up_is_told_in_one_line(run, tmp_path, empty_url):
    target = tmp_path / "backup.tar"
    for arguments, url, why in (
        ([], empty_url, "nothing to back up"),
        (["--data", tmp_path], empty_url, "is no folder of `r4p up`"),
        ([], "postgresql://nobody@/none?host=/nowhere", "can't be used"),
    ):
        result = run("backup", target, *arguments, url=url)
        assert why in result.stderr
        assert result.exit_code in {2, 5}
        assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_password_is_no_argument_of_a_program():
    place, environment = hide_password("postgresql://r4p:a-secret@host/db?sslmode=require")
    assert "a-secret" not in place
    assert "sslmode=require" in place
    assert environment == {"PGPASSWORD": "a-secret"}
