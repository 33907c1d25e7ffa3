"""`r4p backup` and `r4p restore`: neither replaces anything that exists."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from app.db import migrate, process_roles
from app.db.process_roles import NoRoles
from app.db.session import open_engine
from app.operator.backup import archive
from app.operator.backup.archive import DUMP, FILES, Manifest
from app.operator.backup.postgres_tools import BackupError, dump_database, load_dump
from app.operator.embedded import Embedded, EmbeddedError
from app.operator.embedded_servers import Postgres
from app.settings import DatabaseSettings, data_folder, load
from model.commands.exit_codes import Exit, format_count, stop
from model.commands.output import show_progress


def backup(target: Path, data: Path | None) -> None:
    """Back the bot up into the file `target`, also while it runs, and print what the file holds.

    `data` is the folder of `r4p up`; None: only the database of R4P_DATABASE_URL. Ends the process with an exit code
    when that is impossible.
    """
    with _report_errors("backup", target), show_progress() as (say, _):
        if target.exists():
            raise BackupError(f"{target} exists: give another file, or remove it")
        if data is not None and not (data / "services" / "postgres" / "PG_VERSION").exists():
            raise BackupError(f"{data} is no folder of `r4p up`: correct --data")
        with _open_database(data) as database_url:
            manifest = _write(target, data, database_url, say)
    files = f" and {format_count(manifest.files, 'file')} of {data}" if data else ""
    size = target.stat().st_size / 1e6
    typer.echo(f"{target}: {size:.1f} MB with the database{files}. It holds secrets: keep it safe.")


def restore(source: Path, data: Path | None) -> None:
    """Restore the bot from the file `source`: into the new folder `data`, or into the empty database of R4P_DATABASE_URL.

    The database is then migrated to this version's revision. A failed restore leaves nothing behind. Ends the process
    with an exit code when that is impossible.
    """
    with _report_errors("restore", data or source), show_progress() as (say, _):
        manifest = archive.read_manifest(source)
        if not migrate.is_known_revision(manifest.revision):
            raise BackupError(
                f"{source} was written by version {manifest.version} with the newer schema {manifest.revision}:"
                " install that version or a newer one"
            )
        if data is None:
            _restore_database(source, load(DatabaseSettings).database_url, say)
        else:
            _restore_folder(source, data, say)
    typer.echo(
        f"restored the backup of {manifest.created_at:%Y-%m-%d %H:%M} UTC, version {manifest.version}"
    )
    if manifest.files and data is None:
        typer.echo(
            f"its {format_count(manifest.files, 'file')} stay in the archive: tar -xf {source} {FILES}"
        )


@contextmanager
def _report_errors(command: str, path: Path) -> Iterator[None]:
    try:
        yield
    except (BackupError, EmbeddedError, NoRoles) as error:
        stop(command, Exit.USAGE, str(error))
    except OSError as error:
        # A full disk fails in a write, and such an error names no file.
        name = error.filename or path
        stop(command, Exit.USAGE, f"{name}: {error.strerror}; nothing was changed")


def _write(target: Path, data: Path | None, url: str, say: Callable[[str], None]) -> Manifest:
    """Write the archive beside `target` and rename it at the end, so that a broken backup never has its name."""
    with open_engine(url) as database, database.connect() as connection:
        revision = migrate.read_revision(connection)
        if revision is None:
            raise BackupError("the database has no schema of the bot: there is nothing to back up")
        has_roles = process_roles.read_separation(connection).are_granted
    # The folder is private (mode 0700), and so is everything in it.
    with tempfile.TemporaryDirectory(prefix=".r4p-backup-", dir=target.absolute().parent) as folder:
        dump, unfinished = Path(folder, DUMP), Path(folder, "archive.tar")
        say("reading the database")
        dump_database(url, dump)
        say("writing the archive")
        unfinished.touch(mode=0o600)
        manifest = archive.write_archive(unfinished, dump, data, revision, has_roles=has_roles)
        os.link(unfinished, target)  # unlike a rename, it never replaces a file
    return manifest


@contextmanager
def _open_database(data: Path | None) -> Iterator[str]:
    """Provide the database's URL. A stopped bot's own PostgreSQL runs meanwhile; that of a running bot is shared."""
    if data is None:
        yield load(DatabaseSettings).database_url
    elif sockets := _find_running_postgres(data):
        yield Postgres(data / "services" / "postgres", sockets).url
    else:
        with Embedded(data / "services") as services:
            yield services.database_url


def _find_running_postgres(data: Path) -> Path | None:
    """Return the folder of a running PostgreSQL's socket, which the fifth line of its lock file names; None: it is stopped."""
    with suppress(OSError, IndexError, ValueError):
        lines = (data / "services" / "postgres" / "postmaster.pid").read_text().splitlines()
        os.kill(int(lines[0]), 0)
        if (sockets := Path(lines[4])).joinpath(".s.PGSQL.5432").exists():
            return sockets
    return None


def _restore_database(source: Path, url: str, say: Callable[[str], None]) -> None:
    with open_engine(url) as database, database.connect() as connection:
        if tables := migrate.count_tables(connection):
            raise BackupError(
                f"the database holds {format_count(tables, 'table')} already: give R4P_DATABASE_URL an empty one"
            )
    with tempfile.TemporaryDirectory(prefix="r4p-restore-") as folder:
        archive.extract_archive(source, Path(folder), say)
        _fill(Path(folder, DUMP), url, archive.read_manifest(source), say)


def _restore_folder(source: Path, data: Path, say: Callable[[str], None]) -> None:
    """Build the folder beside its place and rename it at the end, so that `data` is whole or absent."""
    if data.exists() and (not data.is_dir() or any(data.iterdir())):
        raise BackupError(f"{data} is not empty: give --data a new folder")
    data.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".r4p-restore-", dir=data.absolute().parent) as folder:
        archive.extract_archive(source, Path(folder), say)
        restored = Path(folder, FILES)
        restored.mkdir(exist_ok=True)
        data_folder.close_secrets(restored)
        with Embedded(restored / "services") as services:
            manifest = archive.read_manifest(source)
            _fill(Path(folder, DUMP), services.database_url, manifest, say, can_log_in=True)
        restored.replace(data)


def _fill(
    dump: Path,
    url: str,
    manifest: Manifest,
    say: Callable[[str], None],
    *,
    can_log_in: bool = False,
) -> None:
    """Fill an empty database from the dump, and bring it to this version's revision.

    Missing roles can log in without a password only where `can_log_in` says so, as in the embedded database.
    """
    if manifest.has_roles:
        with open_engine(url) as database, database.begin() as connection:
            # before the row rules that name them
            process_roles.add_missing_roles(connection, can_log_in=can_log_in)
    say("filling the database")
    load_dump(dump, url)
    say("migrating the database")
    migrate.upgrade(url)
    process_roles.refresh_grants(url)
