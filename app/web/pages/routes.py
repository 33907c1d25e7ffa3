"""Build the pages from their settings, and list their routes."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.routing import Route

from app import logs
from app.db.session import WEB_LIMITS, create_database_engine
from app.db.store.queue.job_rows import StoredJob
from app.github.api.person import PersonApi, create_http_client
from app.github.endpoints import build_endpoints
from app.settings import CeilingSettings, DatabaseSettings, IdentitySettings, PagesSettings, load
from app.web.pages import (
    group,
    model_change,
    model_page,
    operations_pages,
    repository,
    sign_in,
    track_record,
    worksheet,
)
from app.web.pages.access import RightsCache
from app.web.pages.page_endpoints import (
    MAX_THREADS,
    Action,
    OpenPage,
    Site,
    ViewerPage,
    build_action_endpoint,
    build_open_endpoint,
    build_page_endpoint,
    build_public_endpoint,
)
from app.web.pages.session import Cookies

log = logging.getLogger(__name__)

REPOSITORY: Final = "/r/{owner}/{name}"
OPEN: dict[str, OpenPage] = {
    "/welcome": sign_in.show_welcome,
    "/sign-in": sign_in.begin_sign_in,
    sign_in.CALLBACK: sign_in.finish_sign_in,
    f"{REPOSITORY}/badge.svg": track_record.draw_badge,
}
"""Pages that need no session, by path."""
PAGES: dict[str, ViewerPage] = {
    "/": worksheet.show_worksheet,
    REPOSITORY: repository.show_repository,
    f"{REPOSITORY}/issues/{{issue}}": group.show_group,
    "/track-record": track_record.show_track_records,
    "/help": repository.show_help,
    "/deliveries": operations_pages.show_queue,
    "/deliveries/find": operations_pages.find_delivery,
    "/deliveries/{guid}": operations_pages.show_delivery,
    "/models": operations_pages.show_models,
    "/models/promote": model_change.show_promotion,
    "/models/roll-back": model_change.show_roll_back,
    "/models/{name}": model_page.show_model,
}
"""Pages for signed-in people, by path."""
ACTIONS: dict[str, Action] = {
    "/sign-out": sign_in.sign_out,
    f"{REPOSITORY}/issues/{{issue}}/opinion": group.record_opinion,
    "/jobs/{job}/retry": operations_pages.retry_job,
    "/models/change": model_change.ask_for_change,
}
"""Forms, by path."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages' routes, and how to close what they opened."""

    routes: list[Route]
    close: Callable[[], None]


def create_pages(
    settings: PagesSettings,
    identity: IdentitySettings,
    database: DatabaseSettings,
    ring: Callable[[tuple[StoredJob, ...]], None],
) -> Pages:
    """Build the pages. Raises ValueError without a client secret.

    `ring` tells the workers of new jobs. No connection opens before the first page.
    """
    secret, public_url = settings.oauth_client_secret, settings.public_url
    if secret is None or public_url is None:
        raise ValueError("the pages need an OAuth client secret and a public URL")
    endpoints = build_endpoints(identity.github_url)
    http = create_http_client()
    engine = create_database_engine(
        database.database_url, pool_size=MAX_THREADS // 2, limits=WEB_LIMITS, process="web"
    )
    api = PersonApi(endpoints, settings.oauth_client_id or "", secret, http)
    site = Site(
        public_url=public_url,
        github_url=endpoints.web,
        database=engine,
        github=api,
        cookies=Cookies(secret),
        rights=RightsCache(api),
        is_operator=settings.is_operator,
        ring=partial(_ring_with_log, ring),
        ceilings=load(CeilingSettings),
        public_track_records=frozenset(name.lower() for name in settings.public_track_records),
    )

    def close() -> None:
        http.close()
        engine.dispose()

    return Pages(list_routes(site), close)


def _ring_with_log(
    ring: Callable[[tuple[StoredJob, ...]], None], stored: tuple[StoredJob, ...]
) -> None:
    """Log the job of a form, with its id, before the workers are told of it."""
    for job in stored:
        with logs.bind_ids(job=job.id):
            log.info("a form stored a job in the queue %s", job.queue.value)
    ring(stored)


def list_routes(site: Site) -> list[Route]:
    """List the routes of all pages and forms."""
    record = build_public_endpoint(
        site, track_record.show_public_record, track_record.show_track_record
    )
    return [
        Route(f"{REPOSITORY}/track-record", record),
        *(Route(path, build_open_endpoint(site, page)) for path, page in OPEN.items()),
        *(Route(path, build_page_endpoint(site, page)) for path, page in PAGES.items()),
        *(
            Route(path, build_action_endpoint(site, action), methods=["POST"])
            for path, action in ACTIONS.items()
        ),
    ]
