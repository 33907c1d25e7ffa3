"""The worksheet: every open group of the repositories that a person may read. It posts nothing on GitHub."""

from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from app.db.store.pages import worksheet as store
from app.db.store.queue.installation_controls import read_limits
from app.policy.ceilings import override_ceilings
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import PageMissing, Site
from app.web.pages.rendering import render_page

_GROUPS: Final = 25
"""Groups of one page."""
_MAX_PAGE: Final = 1_000


def show_worksheet(site: Site, viewer: Viewer, request: Request) -> Response:
    """Show the open groups, those with the newest verdict first, with today's usage of their repositories."""
    page = read_page(request)
    with site.database.connect() as connection:
        places = store.list_repositories(connection, viewer.repositories)
        chosen = request.query_params.get("repository", "")
        wanted = [place for place in places if chosen in {"", place.full_name}]
        if chosen and not wanted:
            raise PageMissing
        ids = [place.id for place in wanted]
        groups, has_more = store.list_open_groups(connection, ids, _GROUPS, (page - 1) * _GROUPS)
        usage = store.list_usage(connection, ids)
        limits = {
            each: read_limits(connection, each) for each in {row.installation for row in usage}
        }
    values = {
        "viewer": viewer,
        "places": places,
        "chosen": chosen,
        "groups": groups,
        "usage": [
            (row, override_ceilings(site.ceilings, limits[row.installation])) for row in usage
        ],
        "page": page,
        "has_more": has_more,
    }
    return render_page("worksheet.html.j2", values, status=HTTPStatus.OK)


def read_page(request: Request) -> int:
    """Return the number of the wanted page, from 1. Raises PageMissing."""
    text = request.query_params.get("page", "1")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= _MAX_PAGE):
        raise PageMissing
    return int(text[:5])
