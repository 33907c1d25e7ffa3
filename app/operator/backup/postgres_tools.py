"""Run `pg_dump` and `pg_restore` on a database, with the oldest installed version that fits its server."""

import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.operator.embedded_servers import EmbeddedError, find_postgres_program
from app.settings import build_child_environment

_NEW_SETTINGS: Final = 17
"""Since this version, `pg_restore` sends a setting that older servers refuse."""


class BackupError(Exception):
    """A backup or a restore is impossible or failed. The message names the fix."""


def dump_database(database_url: str, target: Path) -> None:
    """Write the whole database into `target`, in PostgreSQL's custom format and as one snapshot. Raises BackupError."""
    server = read_server_version(database_url)
    program = _find_program("pg_dump", server)
    options = ("--format=custom", "--no-owner", "--no-privileges", f"--file={target}")
    _run(program, database_url, *options)


def load_dump(dump: Path, database_url: str) -> None:
    """Fill an empty database from a dump, wholly or not at all. Raises BackupError."""
    server = read_server_version(database_url)
    program = _find_program("pg_restore", server)
    if server < _NEW_SETTINGS <= _read_program_version(program):
        raise BackupError(
            f"{program} can't fill PostgreSQL {server}: install postgresql-client-{server}, or use a newer server"
        )
    options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
    _run(program, database_url, *options, str(dump))


def read_server_version(database_url: str) -> int:
    """Return the major version of the database's server. Raises BackupError when it does not answer."""
    try:
        with psycopg.connect(database_url, connect_timeout=5) as connection:
            return connection.info.server_version // 10_000
    except psycopg.OperationalError as error:
        why = " ".join(str(error).split())
        raise BackupError(f"the database does not answer: {why}") from None


def hide_password(database_url: str) -> tuple[str, dict[str, str]]:
    """Split a URL into a connection string without the password, and the environment variable that holds it."""
    parts = {name: str(value) for name, value in conninfo_to_dict(database_url).items()}
    password = parts.pop("password", None)
    return make_conninfo(**parts), {"PGPASSWORD": password} if password else {}


def _find_program(name: str, server: int) -> str:
    """Find the oldest installed program that is not older than the server, because `pg_dump` refuses newer servers."""
    programs = {_read_program_version(path): path for path in reversed(_list_programs(name))}
    fitting = [version for version in programs if version >= server]
    if not fitting:
        raise BackupError(
            f"{name} of PostgreSQL {server} or newer is missing: install postgresql-client-{server}"
        )
    return programs[min(fitting)]


def _list_programs(name: str) -> list[str]:
    """List the installed programs: that on the PATH first, then that of the embedded PostgreSQL."""
    installed = shutil.which(name)
    programs = [installed] if installed else []
    with suppress(EmbeddedError):  # the extra `embedded` is not installed
        programs.append(find_postgres_program(name))
    return programs


def _read_program_version(program: str) -> int:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    number = re.search(r"\d+", done.stdout)
    return int(number[0]) if number else 0


def _run(program: str, database_url: str, *arguments: str) -> None:
    """Run a program of PostgreSQL on a database. Other users of the machine see its arguments, but no password there."""
    place, secret = hide_password(database_url)
    command = [program, f"--dbname={place}", "--no-password", *arguments]
    done = subprocess.run(
        command,
        env=build_child_environment(secret),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = " ".join(done.stderr.split())[-500:] or f"it ended with {done.returncode}"
        raise BackupError(f"{Path(program).name} failed: {lines}")
