"""One index for all commits of a repository: a tree is a set of blobs, and only new ones are read."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from model.codegraph.database import Blob, Database, Key, open_database
from model.codegraph.entities import IndexReport, Skipped
from model.codegraph.languages import edition, language_of, missing
from model.codegraph.reader_pool import Wanted, read_all
from model.codegraph.snapshot import Snapshot

SECONDS: Final = 600.0
"""For one tree. What was read by then is kept; the next call goes on from there."""
_TOGETHER: Final = 512
"""Files in one transaction."""


@dataclass(slots=True)
class _Account:
    """What becomes an IndexReport."""

    files: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    entities: int = 0
    size: int = 0

    def add(self, path: str, blob: Blob) -> None:
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

    def __init__(self, database: Database) -> None:
        self._database = database

    def snapshot(
        self,
        blobs: Mapping[str, str],
        read: Callable[[str], bytes],
        *,
        seconds: float = SECONDS,
    ) -> tuple[Snapshot, IndexReport]:
        """The entities of a tree: its paths with git's hash of each content; only what is new is read.

        `read` may raise OSError or `readers.Refused`: the file is left out, with the reason.
        Raises NoReader and NoIndex.
        """
        started = time.perf_counter()
        account = _Account()
        keys = dict(_keys(blobs, account))
        known = self._database.known(keys.values())
        fresh = {key: path for path, key in keys.items() if key not in known}
        refused: dict[Key, str] = {}
        if fresh:
            refused = self._read(fresh, read, seconds)
            known = self._database.known(keys.values())
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
        return Snapshot(self._database, paths, tuple(sorted(blobs))), report

    def close(self) -> None:
        """Its snapshots can't be asked afterwards."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(
        self, fresh: Mapping[Key, str], read: Callable[[str], bytes], seconds: float
    ) -> dict[Key, str]:
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
                self._database.store(together)
                together = []
        self._database.store(together)
        self._database.tidy()
        return refused


def open_index(database: Path) -> Index:
    """The index in a file, made where there is none. Raises NoIndex."""
    return Index(open_database(database))


def _keys(blobs: Mapping[str, str], account: _Account) -> Iterator[tuple[str, Key]]:
    """Files in languages that can be read; the account is told of the others."""
    for path, blob in blobs.items():
        if (language := language_of(path)) is None:
            continue
        account.files += 1
        if made := edition(language):
            yield path, (blob, made)
        else:
            account.skipped.append(Skipped(path, missing(language)))
