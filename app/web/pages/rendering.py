"""Render pages from templates: every value escaped, a strict content security policy, nothing cached."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

_FOLDER: Final = Path(__file__).parent / "templates"
_HIDDEN: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters, and characters that hide text or turn its direction."""


def show_hidden(value: Any) -> Any:
    """Replace hidden characters of a stranger's text, so that a page reads as it is (`trojan source`)."""
    return _HIDDEN.sub("\ufffd", value) if type(value) is str else value


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
    finalize=show_hidden,
)
STYLESHEET: Final = "/static/pages.css"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Not "no-referrer": with that a browser sends a form's origin as "null", and every form would be refused.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def render_page(
    template: str,
    values: Mapping[str, Any],
    *,
    status: int = HTTPStatus.OK,
    form_targets: Sequence[str] = (),
) -> Response:
    """Render the template `template` with `values` as an HTML page.

    `form_targets` are origins besides our own to which the page's forms may be sent.
    """
    shared = {"stylesheet": f"{STYLESHEET}?{_read_stylesheet()[1]}", "viewer": None}
    text = _ENVIRONMENT.get_template(template).render({**shared, **values})
    return HTMLResponse(text, status, {**_HEADERS, **build_policy_header(form_targets)})


def build_policy_header(form_targets: Sequence[str] = ()) -> dict[str, str]:
    """Build the header Content-Security-Policy: our stylesheet and images, no script, no frame."""
    targets = " ".join(["'self'", *form_targets])
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none';"
        f" form-action {targets}"
    )
    return {"Content-Security-Policy": policy}


def render_problem(
    status: HTTPStatus,
    message: str,
    *,
    viewer: object = None,
    link: tuple[str, str] = ("/", "Go to the worksheet"),
) -> Response:
    """Render the page that says in one sentence what went wrong and what to do.

    `link` is the address and the text of the way on.
    """
    values = {"title": status.phrase, "message": message, "viewer": viewer, "link": link}
    return render_page("problem.html.j2", values, status=status)


def list_static_routes() -> list[Route]:
    """Return the routes of the stylesheet, which every page links, and of the icon, which every browser asks for."""
    return [Route(STYLESHEET, _answer_stylesheet), Route("/favicon.ico", _answer_icon)]


async def _answer_icon(_request: Request) -> Response:
    return Response(status_code=204, headers=_HEADERS)


async def _answer_stylesheet(_request: Request) -> Response:
    headers = {"Cache-Control": "public, max-age=31536000, immutable", **build_policy_header()}
    return Response(_read_stylesheet()[0], media_type="text/css", headers={**_HEADERS, **headers})


@cache
def _read_stylesheet() -> tuple[str, str]:
    """Return the stylesheet and a short hash of it, which changes its URL when it changes."""
    text = (_FOLDER / "pages.css").read_text()
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]


def _format_moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _format_percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share * 100:.0f} %"


_ENVIRONMENT.filters.update(moment=_format_moment, percent=_format_percent)
