"""One index for all commits of a repository: entities by the hash of the blob they stand in, in SQLite."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from model.codegraph.entities import IndexReport, Skipped
from model.codegraph.languages import edition, language_of, missing
from model.codegraph.readers import Wanted, read_all
from model.codegraph.reading import Reading
from model.codegraph.snapshot import Snapshot

SECONDS: Final = 600.0
"""For one tree. What was read by then is kept; the next call goes on from there."""
_TOGETHER: Final = 512
"""Files in one transaction."""
_BUSY_SECONDS: Final = 60
_SCHEMA: Final = """
create table if not exists blobs (
    id integer primary key, hash text not null, edition text not null, size integer not null,
    entities integer not null, broken integer not null, reason text, unique (hash, edition)
);
create table if not exists entities (
    blob integer not null, construct text not null, scope text not null, name text not null,
    start_line integer not null, end_line integer not null,
    start_byte integer not null, end_byte integer not null, signature text not null
);
"""
_BY_NAME: Final = "create index if not exists entities_by_name on entities (name, construct)"


class NoIndex(Exception):
    """The index can't be opened; the message names the file and the fix."""


class _Blob(NamedTuple):
    """What the index has of a content."""

    id: int
    size: int
    entities: int
    broken: int
    reason: str | None


_Key = tuple[str, str]
"""A blob's hash and the edition of the language it is read in."""


@dataclass(slots=True)
class _Account:
    """What becomes an IndexReport."""

    files: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    entities: int = 0
    size: int = 0

    def add(self, path: str, blob: _Blob) -> None:
        """Count a file that is known now."""
        if blob.reason is not None:
            self.skipped.append(Skipped(path, blob.reason))
            return
        self.entities += blob.entities
        self.size += blob.size
        if blob.broken:
            self.broken.append(path)


class Index:
    """An open index. Threads may share it; processes open it once each."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def snapshot(
        self,
        blobs: Mapping[str, str],
        read: Callable[[str], bytes],
        *,
        seconds: float = SECONDS,
    ) -> tuple[Snapshot, IndexReport]:
        """The entities of a tree: its paths with git's hash of each content; only what is new is read.

        `read` may raise OSError or `readers.Refused`: the file is left out, with the reason.
        Raises NoReader.
        """
        started = time.perf_counter()
        account = _Account()
        keys = dict(_keys(blobs, account))
        known = self._known(keys.values())
        fresh = {key: path for path, key in keys.items() if key not in known}
        refused: dict[_Key, str] = {}
        if fresh:
            refused = self._read(fresh, read, seconds)
            known = self._known(keys.values())
        paths: dict[int, list[str]] = {}
        for path, key in keys.items():
            if blob := known.get(key):
                paths.setdefault(blob.id, []).append(path)
                account.add(path, blob)
            else:
                account.skipped.append(Skipped(path, refused.get(key, "its hash is not known")))
        parsed = len(fresh) - len(refused)
        report = IndexReport(
            files=account.files,
            parsed=parsed,
            reused=len(keys) - len(fresh),
            entities=account.entities,
            seconds=time.perf_counter() - started,
            bytes=account.size,
            skipped=tuple(account.skipped),
            broken=tuple(account.broken),
        )
        return Snapshot(self._connection, self._lock, paths, tuple(sorted(blobs))), report

    def close(self) -> None:
        """Its snapshots can't be asked afterwards."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _known(self, keys: Iterable[_Key]) -> dict[_Key, _Blob]:
        hashes = json.dumps(list({blob for blob, _ in keys}))
        with self._lock:
            rows = self._connection.execute(
                "select hash, edition, id, size, entities, broken, reason from blobs"
                " where hash in (select value from json_each(?))",
                (hashes,),
            ).fetchall()
        return {(row[0], row[1]): _Blob(*row[2:]) for row in rows}

    def _read(
        self, fresh: Mapping[_Key, str], read: Callable[[str], bytes], seconds: float
    ) -> dict[_Key, str]:
        """Read what is new; why some of it could not be read, this time."""
        refused = {}
        by_path = {path: key for key, path in fresh.items()}
        wanted = [Wanted(edition.partition(" ")[0], path) for (_, edition), path in fresh.items()]
        together = []
        for one, reading in read_all(wanted, read, seconds):
            key = by_path[one.path]
            if reading.lasting:
                together.append((key, reading))
            else:
                refused[key] = reading.reason or ""
            if len(together) == _TOGETHER:
                self._store(together)
                together = []
        self._store(together)
        with self._lock:
            self._connection.execute(_BY_NAME)
        return refused

    def _store(self, readings: Iterable[tuple[_Key, Reading]]) -> None:
        """A blob and its entities are there together, or not at all; another process may be first."""
        with self._lock, _transaction(self._connection) as connection:
            for key, reading in readings:
                blob = connection.execute(
                    "insert into blobs (hash, edition, size, entities, broken, reason)"
                    " values (?, ?, ?, ?, ?, ?) on conflict do nothing returning id",
                    (*key, reading.size, len(reading.rows), reading.broken, reading.reason),
                ).fetchone()
                if blob and reading.rows:
                    connection.executemany(
                        f"insert into entities values ({blob[0]:d}, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a number
                        reading.rows,
                    )


def open_index(database: Path) -> Index:
    """The index in a file, made where there is none. Raises NoIndex."""
    try:
        database.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            database, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
    except (OSError, sqlite3.Error) as error:
        raise NoIndex(f"{database} can't be opened: {error}") from error
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.executescript(_SCHEMA)
    except sqlite3.Error as error:
        connection.close()
        raise NoIndex(f"{database} is no index of ours ({error}): name another file") from error
    return Index(connection)


def _keys(blobs: Mapping[str, str], account: _Account) -> Iterator[tuple[str, _Key]]:
    """Files in languages that can be read; the account is told of the others."""
    for path, blob in blobs.items():
        if (language := language_of(path)) is None:
            continue
        account.files += 1
        if made := edition(language):
            yield path, (blob, made)
        else:
            account.skipped.append(Skipped(path, missing(language)))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    with connection:  # commits, or takes back what was begun
        connection.execute("begin immediate")
        yield connection
