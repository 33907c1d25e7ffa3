"""The index on disk: an SQLite file that stores definitions by the git hash of their blob.

Blobs that no snapshot used for 14 days are pruned. Otherwise look-ups would slow down with history.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from model.codegraph.definition_reader import FileDefinitions
from model.errors import NoIndex

KEPT_DAYS: Final = 14
"""Days for which a snapshot stays valid, and for which a returning tree needs no new reading."""
_BUSY_SECONDS: Final = 60
_APPLICATION_ID: Final = 0x52345002
"""SQLite application id of this schema. A new schema gets a new id."""
_SCHEMA: Final = (
    """create table blobs (
        id integer primary key autoincrement, hash text not null, edition text not null, size integer not null,
        entities integer not null, broken integer not null, reason text, used integer not null,
        unique (hash, edition)
    )""",
    """create table entities (
        blob integer not null, construct text not null, scope text not null, name text not null,
        start_line integer not null, end_line integer not null,
        start_byte integer not null, end_byte integer not null, signature text not null
    )""",
    f"pragma application_id = {_APPLICATION_ID}",
)
_INDEX: Final = "create index if not exists entities_by_name on entities (name, construct, blob)"
"""The index is created after the first tree is stored, which is faster."""
_FIXES: Final = {
    "SQLITE_BUSY": "another process writes to it; try again",
    "SQLITE_FULL": "make room on the disk",
    "SQLITE_NOTADB": "name another file",
    "SQLITE_READONLY": "make it writable, or name another file",
}

BlobKey = tuple[str, str]
"""A blob's hash with the edition of its language."""


class IndexedBlob(NamedTuple):
    """What the code graph's index stores about one file content (a git blob), beside its definitions."""

    id: int
    """Key of the blob's row."""
    size: int
    """Size of the content in bytes."""
    entities: int
    """Number of definitions."""
    broken: int
    """1 if the syntax is broken, 0 if not."""
    reason: str | None
    """Why the content was not parsed; None when it was."""
    used: int
    """The day (since 1970) on which a snapshot last used the blob."""


class Database:
    """An open SQLite file that stores the definitions of source files by the hash of their content.

    Threads may share it. Every method raises NoIndex when SQLite fails.
    """

    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the SQLite file. Snapshots that use it stop working."""
        self._connection.close()

    def find_blobs(self, keys: Iterable[BlobKey]) -> dict[BlobKey, IndexedBlob]:
        """Return what is stored about the blobs `keys`, by key, and mark them as used today.

        A key is (git hash, edition of the language). A key that is not stored is missing. The result may hold more
        keys: other editions of the same hashes.
        """
        hashes = json.dumps(list({blob for blob, _ in keys}))
        today = _get_today()
        with self._use_connection() as connection:
            stored = _select_blobs(connection, hashes)
            if all(blob.used == today for blob in stored.values()):
                return stored
            with _begin_transaction(connection):
                connection.execute(
                    "update blobs set used = ? where hash in (select value from json_each(?))",
                    (today, hashes),
                )
                return _select_blobs(connection, hashes)

    def store(self, readings: Iterable[tuple[BlobKey, FileDefinitions]]) -> None:
        """Store the definitions of file contents under the contents' keys, in one transaction.

        Contents that are stored already are skipped.
        """
        today = _get_today()
        with self._use_connection() as connection, _begin_transaction(connection):
            for key, reading in readings:
                blob = connection.execute(
                    "insert into blobs (hash, edition, size, entities, broken, reason, used)"
                    " values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing returning id",
                    (*key, reading.size, len(reading.rows), reading.broken, reading.reason, today),
                ).fetchone()
                if blob and reading.rows:
                    connection.executemany(
                        f"insert into entities values ({blob[0]:d}, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a number
                        reading.rows,
                    )

    def prune(self) -> None:
        """Once a day, delete blobs that no snapshot used for KEPT_DAYS days. Create the name index if it is missing."""
        today = _get_today()
        with self._use_connection() as connection:
            connection.execute(_INDEX)
            (tidied,) = connection.execute("pragma user_version").fetchone()
            if tidied == today:
                return
            with _begin_transaction(connection):
                old = (today - KEPT_DAYS,)
                connection.execute(
                    "delete from entities where blob in (select id from blobs where used < ?)", old
                )
                connection.execute("delete from blobs where used < ?", old)
                connection.execute(f"pragma user_version = {today:d}")

    def find_entities(
        self, construct: str, name: str, blobs: Container[int]
    ) -> list[tuple[Any, ...]]:
        """Return a row for each definition called `name` of the kind `construct` in `blobs`, which are blob ids.

        A row is (blob id, scope, name, start line, end line, start byte, end byte, signature).
        """
        with self._use_connection() as connection:
            places = connection.execute(
                "select blob, rowid from entities where name = ? and construct = ?",
                (name, construct),
            ).fetchall()
            wanted = json.dumps([row for blob, row in places if blob in blobs])
            return connection.execute(
                "select blob, scope, name, start_line, end_line, start_byte, end_byte, signature"
                " from entities where rowid in (select value from json_each(?))",
                (wanted,),
            ).fetchall()

    def list_names(self, blobs: Iterable[int]) -> list[tuple[str, str]]:
        """Return the distinct (kind, name) pairs of the definitions in `blobs`, which are blob ids, sorted."""
        with self._use_connection() as connection:
            # the table also holds other trees: SQLite scans it once, and their rows never reach Python
            pairs: list[tuple[str, str]] = connection.execute(
                "select distinct construct, name from entities not indexed"
                " where blob in (select value from json_each(?))",
                (json.dumps(list(blobs)),),
            ).fetchall()
        return sorted(pairs)

    @contextmanager
    def _use_connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._connection
        except sqlite3.Error as error:
            raise _explain_failure(self._file, error) from error


def open_database(file: Path) -> Database:
    """Open the code graph's index in a file, and create it when it is missing. Raises NoIndex."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except (OSError, RecursionError, sqlite3.Error) as error:
        raise NoIndex(f"the index {file} can't be opened: {error}; name another file") from error
    try:
        _prepare(connection, file)
    except sqlite3.Error as error:
        connection.close()
        raise _explain_failure(file, error) from error
    except NoIndex:
        connection.close()
        raise
    return Database(file, connection)


def _prepare(connection: sqlite3.Connection, file: Path) -> None:
    """Create the tables in an empty file. A file of another program is left unchanged."""
    connection.execute("pragma synchronous = normal")
    if _has_schema(connection):
        return
    with _begin_transaction(connection):
        if _has_schema(connection):  # another process has created it just now
            return
        (tables,) = connection.execute("select count(*) from sqlite_schema").fetchone()
        if tables:
            raise NoIndex(
                f"{file} is not an index of this version; delete it, or name another file"
            )
        for statement in _SCHEMA:
            connection.execute(statement)
    connection.execute("pragma journal_mode = wal")


def _has_schema(connection: sqlite3.Connection) -> bool:
    (application_id,) = connection.execute("pragma application_id").fetchone()
    return bool(application_id == _APPLICATION_ID)


def _select_blobs(connection: sqlite3.Connection, hashes: str) -> dict[BlobKey, IndexedBlob]:
    rows = connection.execute(
        "select hash, edition, id, size, entities, broken, reason, used from blobs"
        " where hash in (select value from json_each(?))",
        (hashes,),
    )
    return {(row[0], row[1]): IndexedBlob(*row[2:]) for row in rows}


@contextmanager
def _begin_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    with connection:  # commits, or rolls back after an exception
        connection.execute("begin immediate")
        yield


def _explain_failure(file: Path, error: sqlite3.Error) -> NoIndex:
    fix = _FIXES.get(getattr(error, "sqlite_errorname", ""), "delete it, or name another file")
    return NoIndex(f"the index {file} can't be used: {error}; {fix}")


def _get_today() -> int:
    return int(time.time() // 86_400)
