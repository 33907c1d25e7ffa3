"""One index serves all commits of a repository. A tree is a set of blobs, and only new blobs are read."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from model.codegraph.database import BlobKey, Database, IndexedBlob, open_database
from model.codegraph.entities import IndexReport, Skipped
from model.codegraph.languages import describe_missing_grammar, detect_language, get_edition
from model.codegraph.reader_pool import ReadRequest, read_all
from model.codegraph.snapshot import Snapshot

MAX_SECONDS: Final = 600.0
"""Time limit for one tree. Finished files are kept, and the next call continues."""
_BATCH: Final = 512
"""Files per transaction."""


@dataclass(slots=True)
class _ReportBuilder:
    """Collects the numbers of an IndexReport."""

    files: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    entities: int = 0
    size: int = 0

    def add(self, path: str, blob: IndexedBlob) -> None:
        """Count a file that the index holds, with its definitions, size and problems."""
        if blob.reason is not None:
            self.skipped.append(Skipped(path, blob.reason))
            return
        self.entities += blob.entities
        self.size += blob.size
        if blob.broken:
            self.broken.append(path)


class Index:
    """An open index of source trees, which builds snapshots. Threads may share it; each process opens its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def build_snapshot(
        self,
        blobs: Mapping[str, str],
        read: Callable[[str], bytes],
        *,
        seconds: float = MAX_SECONDS,
        only: Collection[str] | None = None,
    ) -> tuple[Snapshot, IndexReport]:
        """Index a source tree, and return a snapshot to search its definitions and a report.

        `blobs` maps each path to its git blob hash. `read` returns the content of a path, and only new blobs are read.
        If it raises OSError or `reader_pool.UnreadableFile`, the file is left out with the reason. Files that are not
        read within `seconds` are left out too. With `only`, no definition is read outside these paths, and the snapshot
        still lists every path. Raises NoReader and NoIndex.
        """
        started = time.perf_counter()
        account = _ReportBuilder()
        wanted = blobs if only is None else {path: blobs[path] for path in only if path in blobs}
        keys = dict(_list_keys(wanted, account))
        stored = self._database.find_blobs(keys.values())
        fresh = {key: path for path, key in keys.items() if key not in stored}
        refused: dict[BlobKey, str] = {}
        if fresh:
            refused = self._read_new_blobs(fresh, read, seconds)
            stored = self._database.find_blobs(keys.values())
        paths: dict[int, list[str]] = {}
        for path, key in keys.items():
            if blob := stored.get(key):
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
        """Close the index. Its snapshots stop working."""
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

    def _read_new_blobs(
        self, fresh: Mapping[BlobKey, str], read: Callable[[str], bytes], seconds: float
    ) -> dict[BlobKey, str]:
        """Read new blobs and store them. Return why some could not be read this time."""
        refused = {}
        by_path = {path: key for key, path in fresh.items()}
        wanted = [
            ReadRequest(language.partition(" ")[0], path) for (_, language), path in fresh.items()
        ]
        batch = []
        for request, reading in read_all(wanted, read, seconds):
            key = by_path[request.path]
            if reading.is_repeatable:
                batch.append((key, reading))
            else:
                refused[key] = reading.reason or ""
            if len(batch) == _BATCH:
                self._database.store(batch)
                batch = []
        self._database.store(batch)
        self._database.prune()
        return refused


def open_index(database: Path) -> Index:
    """Open the index of source trees in a file, and create it when it is missing. Raises NoIndex."""
    return Index(open_database(database))


def _list_keys(blobs: Mapping[str, str], account: _ReportBuilder) -> Iterator[tuple[str, BlobKey]]:
    """Yield the files in languages whose grammar is installed, and report the others to the account."""
    for path, blob in blobs.items():
        if (language := detect_language(path)) is None:
            continue
        account.files += 1
        if edition := get_edition(language):
            yield path, (blob, edition)
        else:
            account.skipped.append(Skipped(path, describe_missing_grammar(language)))
