"""What every page needs, and the checks before a page: the session, the rights, and the form's token."""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import anyio
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.db.store.queue.job_rows import StoredJob
from app.github.api.person import PersonApi, PersonUnknown, PersonUnreadable
from app.settings import CeilingSettings
from app.web.form_reader import BadForm, read_form
from app.web.pages.access import RightsCache, Viewer
from app.web.pages.rendering import render_problem
from app.web.pages.session import Cookies, Session

MAX_THREADS: Final = 4
"""Pages that are made at the same time. More wait, so that webhooks keep the processor and the database."""
_MAX_FORM: Final = 8_192
_MAX_DIGITS: Final = 18
"""Every number of so many digits fits PostgreSQL's bigint."""

Form = Mapping[str, str]
"""Fields of a form, already checked for the session's token."""
Endpoint = Callable[[Request], Awaitable[Response]]


class PageMissing(Exception):
    """The page does not exist, or the person may not know that it exists. Both look the same."""


class PageRefused(Exception):
    """The person may see the page and not act on it. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class Site:
    """The parts that pages share."""

    public_url: str
    """Base URL of the pages, without a trailing slash."""
    github_url: str
    """Base URL of GitHub's pages, without a trailing slash."""
    database: Engine
    github: PersonApi
    cookies: Cookies
    rights: RightsCache
    is_operator: Callable[[str], bool]
    ring: Callable[[tuple[StoredJob, ...]], None]
    """Tells the workers of new jobs."""
    ceilings: CeilingSettings
    public_track_records: frozenset[str]
    """Repositories, in lower case, whose track record everybody sees."""
    threads: anyio.CapacityLimiter = field(
        default_factory=lambda: anyio.CapacityLimiter(MAX_THREADS)
    )


OpenPage = Callable[[Site, Request], Response]
ViewerPage = Callable[[Site, Viewer, Request], Response]
Action = Callable[[Site, Viewer, Request, Form], Response]


def build_open_endpoint(site: Site, page: OpenPage) -> Endpoint:
    """Build the endpoint of a page that needs no session."""

    async def answer(request: Request) -> Response:
        return await anyio.to_thread.run_sync(
            _guard, lambda: page(site, request), request, None, limiter=site.threads
        )

    return answer


def build_page_endpoint(site: Site, page: ViewerPage) -> Endpoint:
    """Build the endpoint of a page for signed-in people. Others are asked to sign in first."""

    async def answer(request: Request) -> Response:
        session = site.cookies.read_session(request)
        if session is None:
            return _ask_for_sign_in(request)
        return await anyio.to_thread.run_sync(
            _show, site, session, page, request, limiter=site.threads
        )

    return answer


def build_public_endpoint(site: Site, public: OpenPage, page: ViewerPage) -> Endpoint:
    """Build the endpoint of a page that everybody sees if `public` finds it, and else only signed-in people."""
    of_viewer = build_page_endpoint(site, page)

    async def answer(request: Request) -> Response:
        name = f"{request.path_params['owner']}/{request.path_params['name']}".lower()
        is_public = name in site.public_track_records and site.cookies.read_session(request) is None
        return await (build_open_endpoint(site, public) if is_public else of_viewer)(request)

    return answer


def build_action_endpoint(site: Site, action: Action) -> Endpoint:
    """Build the endpoint of a form. It refuses a form without the session's token, or from another site."""

    async def answer(request: Request) -> Response:
        session = site.cookies.read_session(request)
        try:
            form = await read_form(request, _MAX_FORM)
        except BadForm:
            form = {}  # without the token, which the session asks for
        if session is None:
            return render_problem(HTTPStatus.FORBIDDEN, "Your session has ended. Sign in again.")
        if not _is_own_form(site, session, request, form):
            return render_problem(
                HTTPStatus.FORBIDDEN, "This form does not belong to your session. Reload its page."
            )

        def act(site: Site, viewer: Viewer, request: Request) -> Response:
            _refuse_nul(form)
            return action(site, viewer, request, form)

        return await anyio.to_thread.run_sync(
            _show, site, session, act, request, limiter=site.threads
        )

    return answer


def _show(site: Site, session: Session, page: ViewerPage, request: Request) -> Response:
    try:
        rights = site.rights.read(session)
    except PersonUnknown:
        response = _ask_for_sign_in(request)
        site.cookies.clear(response)
        return response
    except PersonUnreadable as error:
        why = f"Your permissions are not known: {error}. Try again in a minute."
        return render_problem(HTTPStatus.BAD_GATEWAY, why)
    is_operator = site.is_operator(session.login)
    viewer = Viewer(session.login, session.person, session.csrf, is_operator, rights)
    return _guard(lambda: page(site, viewer, request), request, viewer)


def read_number(request: Request, name: str) -> int:
    """Return the number that the path holds as `name`. Raises PageMissing for text and for too large a number.

    Starlette's own `int` paths fail for a number of more than 4,300 digits, so the routes do not use them.
    """
    text = str(request.path_params[name])
    if not (text.isascii() and text.isdecimal()) or len(text) > _MAX_DIGITS:
        raise PageMissing
    return int(text)


def _refuse_nul(fields: Mapping[str, object]) -> None:
    """Raise PageMissing for a NUL character, which PostgreSQL refuses in every text."""
    if any("\0" in str(value) for value in fields.values()):
        raise PageMissing


def _guard(make: Callable[[], Response], request: Request, viewer: Viewer | None) -> Response:
    """Turn what a page raises into a page that says what went wrong."""
    try:
        _refuse_nul(request.path_params)
        _refuse_nul(request.query_params)
        return make()
    except PageMissing:
        why = "There is no such page, or you may not see it."
        return render_problem(HTTPStatus.NOT_FOUND, why, viewer=viewer)
    except PageRefused as error:
        return render_problem(HTTPStatus.FORBIDDEN, str(error), viewer=viewer)
    except OperationalError:
        why = "The database does not answer. Try again in a minute."
        return render_problem(HTTPStatus.SERVICE_UNAVAILABLE, why, viewer=viewer)


def _ask_for_sign_in(request: Request) -> Response:
    path = request.url.path if request.method == "GET" else "/"
    return RedirectResponse(f"/welcome?next={quote(path)}", HTTPStatus.SEE_OTHER)


def _is_own_form(site: Site, session: Session, request: Request, form: Form) -> bool:
    origin = request.headers.get("origin", site.public_url)
    repeated = form.get("csrf", "")
    return origin == site.public_url and hmac.compare_digest(
        session.csrf.encode(), repeated.encode()
    )
