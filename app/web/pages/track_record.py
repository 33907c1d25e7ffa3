"""The track record: how often verdicts came true, by repository and model, and the badge."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import Response

from app.db.store.pages import group_page, worksheet
from app.db.store.pages import track_record as store
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import PageMissing, Site
from app.web.pages.rendering import render_page
from app.web.pages.verdict_statistics import ModelRecord, build_records

CACHE_SECONDS: Final = 60.0
"""How long a repository's counts are shown again. They change slowly, and counting 100,000 verdicts takes a second."""
_MAX_REPOSITORIES: Final = 1_000
_SHOWN: Final = 20
"""Records on one page, those with most patches first."""


@dataclass(slots=True)
class RecordCache:
    """Remembers the counts of repositories for a minute. Threads may share it; it holds numbers only."""

    clock: Callable[[], float] = time.monotonic
    _kept: dict[int, tuple[float, tuple[ModelRecord, ...]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, database: Engine, repositories: Sequence[int]) -> tuple[ModelRecord, ...]:
        """Return the records of `repositories`, those with most patches first. One thread counts at a time."""
        with self._lock:
            now = self.clock()
            self._kept = {k: v for k, v in self._kept.items() if now - v[0] < CACHE_SECONDS}
            missing = [each for each in repositories if each not in self._kept]
            if missing:
                with database.connect() as connection:
                    records = build_records(store.tally_verdicts(connection, missing))
                for each in missing:
                    own = tuple(record for record in records if record.repository == each)
                    self._kept[each] = (now, own)
            chosen = [record for each in repositories for record in self._kept[each][1]]
        return tuple(sorted(chosen, key=lambda record: (-record.patches, record.model)))


_CACHE: Final = RecordCache()


def show_track_records(site: Site, viewer: Viewer, _request: Request) -> Response:
    """Show the record of every repository that the person may read."""
    with site.database.connect() as connection:
        places = worksheet.list_repositories(connection, viewer.repositories)[:_MAX_REPOSITORIES]
    names = {int(place.id): place.full_name for place in places}
    records = _CACHE.read(site.database, list(names))[:_SHOWN]
    return _render(site, records, names, viewer)


def show_track_record(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the record of one repository that the person may read."""
    with site.database.connect() as connection:
        place = group_page.find_repository(connection, read_name(request), viewer.repositories)
    if place is None:
        raise PageMissing
    records = _CACHE.read(site.database, [place.id])
    return _render(site, records, {place.id: place.full_name}, viewer)


def show_public_record(site: Site, request: Request) -> Response:
    """Show the record of a repository that the operator named as public, to everybody."""
    records, names = _read_public(site, request)
    return _render(site, records, names, None)


def draw_badge(site: Site, request: Request) -> Response:
    """Draw the badge of a public repository: the precision of its model with most verdicts."""
    records, _ = _read_public(site, request)
    share = records[0].correct if records else None
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


def _read_public(site: Site, request: Request) -> tuple[tuple[ModelRecord, ...], dict[int, str]]:
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
    records: Sequence[ModelRecord],
    names: dict[int, str],
    viewer: Viewer | None,
) -> Response:
    public = {name for name in names.values() if name.lower() in site.public_track_records}
    values = {
        "viewer": viewer,
        "records": records,
        "names": names,
        "public": public,
        "public_url": site.public_url,
    }
    return render_page("track_record.html.j2", values, status=HTTPStatus.OK)
