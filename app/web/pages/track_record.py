"""The track record: how often verdicts came true, by repository and model, and the badge."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import Response

from app.db.store.pages import group_page, worksheet
from app.db.store.pages import track_record as store
from app.values.identifiers import RepositoryId
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import PageMissing, Site
from app.web.pages.rendering import render_page
from app.web.pages.verdict_statistics import ModelRecord, build_records

log = logging.getLogger(__name__)

FRESH_SECONDS: Final = 60.0
"""Counts are made again when somebody sees them at this age. Counting 100,000 verdicts takes a second or two."""
OLDEST_SECONDS: Final = 3_600.0
"""Counts of this age are not shown any more: the request waits for new ones."""
_MAX_REPOSITORIES: Final = 1_000
_SHOWN: Final = 20
"""Records on one page, those with most patches first."""


@dataclass(frozen=True, slots=True)
class RepositoryCount:
    """The records of one repository, and when its verdicts were counted."""

    seconds: float
    """The clock when the count began."""
    records: tuple[ModelRecord, ...]


Counts = Mapping[int, RepositoryCount]
"""Counts by repository."""


@dataclass(frozen=True, slots=True)
class CountedRecords:
    """Records of some repositories, those with most patches first, and the age of the oldest count."""

    records: tuple[ModelRecord, ...]
    age_seconds: float


def count_records(database: Engine, repositories: Sequence[int]) -> tuple[ModelRecord, ...]:
    """Count the verdicts of `repositories` in the database."""
    with database.connect() as connection:
        return build_records(store.tally_verdicts(connection, repositories))


@dataclass(slots=True)
class RecordCache:
    """Remembers the counts of each repository. Threads may share it. It holds numbers and knows no person.

    Counts of more than a minute are shown once more while one thread counts again. A request waits only for counts
    that are missing or an hour old. When a new count fails, the old counts stay, with their age.
    """

    clock: Callable[[], float] = time.monotonic
    count: Callable[[Engine, Sequence[int]], Sequence[ModelRecord]] = count_records
    _kept: dict[int, RepositoryCount] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _counter: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="track-record")
    )
    """One thread, so that one count runs at a time."""
    _refresh: Future[None] | None = None

    def read(self, database: Engine, repositories: Sequence[int]) -> CountedRecords:
        """Return the records of `repositories`. The caller has checked that the person may see them."""
        counts = dict(self._list_kept(repositories, OLDEST_SECONDS))
        missing = [each for each in repositories if each not in counts]
        if missing:
            counts.update(self._counter.submit(self._count, database, missing).result())
        now = self.clock()
        ages = {each: now - count.seconds for each, count in counts.items()}
        stale = [each for each, age in ages.items() if age >= FRESH_SECONDS]
        if stale:
            self._refresh_soon(database, stale)
        records = [record for count in counts.values() for record in count.records]
        records.sort(key=lambda record: (-record.patches, record.model))
        return CountedRecords(tuple(records), max(ages.values(), default=0.0))

    def _list_kept(self, repositories: Sequence[int], oldest: float) -> Counts:
        """Return the counts that are younger than `oldest` seconds, and forget those that nobody may see any more."""
        with self._lock:
            now = self.clock()
            self._kept = {
                each: count
                for each, count in self._kept.items()
                if now - count.seconds < OLDEST_SECONDS
            }
            wanted = {each: self._kept[each] for each in repositories if each in self._kept}
        return {each: count for each, count in wanted.items() if now - count.seconds < oldest}

    def _count(self, database: Engine, repositories: Sequence[int]) -> Counts:
        """Count the verdicts of `repositories`, unless another request's count was ready a moment ago."""
        counts = dict(self._list_kept(repositories, FRESH_SECONDS))
        missing = [each for each in repositories if each not in counts]
        if missing:
            began = self.clock()
            records: dict[int, list[ModelRecord]] = {each: [] for each in missing}
            for record in self.count(database, missing):
                records[record.repository].append(record)
            counts |= {each: RepositoryCount(began, tuple(records[each])) for each in missing}
            with self._lock:
                self._kept.update(counts)
        return counts

    def _refresh_soon(self, database: Engine, repositories: Sequence[int]) -> None:
        """Let the thread count again, unless it does so already."""
        with self._lock:
            if self._refresh is None or self._refresh.done():
                self._refresh = self._counter.submit(self._try_count, database, repositories)

    def _try_count(self, database: Engine, repositories: Sequence[int]) -> None:
        try:
            self._count(database, repositories)
        except SQLAlchemyError as error:
            log.warning("the track record keeps its old counts: %s", error)


_CACHE: Final = RecordCache()


def read_records(site: Site, repository: RepositoryId) -> tuple[ModelRecord, ...]:
    """Return the records of a repository that the person may see, from counts that may be an hour old."""
    return _CACHE.read(site.database, [repository]).records


def count_group(site: Site, repository: int, group: int) -> tuple[ModelRecord, ...]:
    """Count the verdicts of one group now. The caller has checked that the person may see it."""
    with site.database.connect() as connection:
        return build_records(store.tally_verdicts(connection, [repository], group))


def show_track_records(site: Site, viewer: Viewer, _request: Request) -> Response:
    """Show the record of every repository that the person may read."""
    with site.database.connect() as connection:
        places = worksheet.list_repositories(connection, viewer.repositories)[:_MAX_REPOSITORIES]
    names = {int(place.id): place.full_name for place in places}
    return _render(site, _CACHE.read(site.database, list(names)), names, viewer)


def show_track_record(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the record of one repository that the person may read."""
    with site.database.connect() as connection:
        place = group_page.find_repository(connection, read_name(request), viewer.repositories)
    if place is None:
        raise PageMissing
    names = {int(place.id): place.full_name}
    return _render(site, _CACHE.read(site.database, list(names)), names, viewer)


def show_public_record(site: Site, request: Request) -> Response:
    """Show the record of a repository that the operator named as public, to everybody."""
    counted, names = _read_public(site, request)
    return _render(site, counted, names, None)


def draw_badge(site: Site, request: Request) -> Response:
    """Draw the badge of a public repository: the precision of its model with most verdicts."""
    counted, _ = _read_public(site, request)
    share = counted.records[0].correct if counted.records else None
    text = "unknown"
    if share is not None and share.value is not None:
        text = f"{share.value:.0%} of {share.cases:,}"
    response = render_page("badge.svg.j2", {"text": text, "width": 7 * len(text) + 14})
    response.headers["Content-Type"] = "image/svg+xml; charset=utf-8"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Cache-Control"] = "public, max-age=300"
    return response


def read_name(request: Request) -> str:
    """Return `owner/name` of the path."""
    return f"{request.path_params['owner']}/{request.path_params['name']}"


def _read_public(site: Site, request: Request) -> tuple[CountedRecords, dict[int, str]]:
    """Return the record of a public repository. Raises PageMissing for any other."""
    name = read_name(request)
    if name.lower() not in site.public_track_records:
        raise PageMissing
    with site.database.connect() as connection:
        place = store.find_repository_by_name(connection, name)
    if place is None:
        raise PageMissing
    return _CACHE.read(site.database, [place.id]), {place.id: place.full_name}


def _render(
    site: Site,
    counted: CountedRecords,
    names: dict[int, str],
    viewer: Viewer | None,
) -> Response:
    public = {name for name in names.values() if name.lower() in site.public_track_records}
    values = {
        "viewer": viewer,
        "records": counted.records[:_SHOWN],
        "all_records": len(counted.records),
        "minutes": int(counted.age_seconds // 60),
        "names": names,
        "public": public,
        "public_url": site.public_url,
    }
    return render_page("track_record.html.j2", values, status=HTTPStatus.OK)
