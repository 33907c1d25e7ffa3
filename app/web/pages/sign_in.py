"""Sign-in by the OAuth web flow of our App, with a state and PKCE, and sign-out."""

import base64
import hashlib
import hmac
import secrets
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.github.api.person import PersonUnknown, PersonUnreadable
from app.web.pages.access import Viewer
from app.web.pages.page_endpoints import Form, Site
from app.web.pages.rendering import render_page, render_problem
from app.web.pages.session import SignInAttempt, create_session

CALLBACK: Final = "/sign-in/callback"
_MAX_PATH: Final = 1_000


def begin_sign_in(site: Site, request: Request) -> Response:
    """Send the browser to GitHub, and let it remember the state and the PKCE verifier."""
    attempt = SignInAttempt(
        secrets.token_urlsafe(32),
        secrets.token_urlsafe(48),
        clean_target(request.query_params.get("next", "/")),
    )
    challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest())
    url = site.github.build_authorize_url(
        site.public_url + CALLBACK, attempt.state, challenge.decode().rstrip("=")
    )
    response = RedirectResponse(url, HTTPStatus.SEE_OTHER, {"Cache-Control": "no-store"})
    site.cookies.write_attempt(response, attempt)
    return response


def finish_sign_in(site: Site, request: Request) -> Response:
    """Take GitHub's code, if this browser began the sign-in, and give the browser a session."""
    attempt, query = site.cookies.read_attempt(request), request.query_params
    state = query.get("state", "")
    if attempt is None or not hmac.compare_digest(attempt.state.encode(), state.encode()):
        return _refuse("This sign-in was not begun in this browser, or it took too long.")
    if "code" not in query:
        return _refuse("GitHub did not confirm the sign-in.")
    try:
        token = site.github.exchange_code(
            query["code"], site.public_url + CALLBACK, attempt.verifier
        )
        person = site.github.read_person(token.value)
    except PersonUnknown:
        return _refuse("GitHub refused the sign-in's code.")
    except PersonUnreadable as error:
        return render_problem(HTTPStatus.BAD_GATEWAY, f"{error}. Try again in a minute.")
    response = RedirectResponse(attempt.target, HTTPStatus.SEE_OTHER, {"Cache-Control": "no-store"})
    site.cookies.write_session(
        response, create_session(person.id, person.login, token.value, token.seconds)
    )
    return response


def sign_out(site: Site, _viewer: Viewer, request: Request, _form: Form) -> Response:
    """End the session: revoke the token at GitHub, so that no copy of the cookie works, and clear the cookie."""
    session = site.cookies.read_session(request)
    if session is not None:
        site.rights.forget(session)
        with suppress(PersonUnknown, PersonUnreadable):
            site.github.revoke(SecretStr(session.token))
    response = RedirectResponse("/welcome", HTTPStatus.SEE_OTHER)
    site.cookies.clear(response)
    return response


def show_welcome(_site: Site, request: Request) -> Response:
    """Show the page with the link to sign in."""
    target = clean_target(request.query_params.get("next", "/"))
    return render_page("welcome.html.j2", {"target": target})


def clean_target(path: str) -> str:
    """Return a path of our own pages, or `/` for anything else, so that a link can't send people elsewhere."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\"))
    is_plain = path.isascii() and path.isprintable() and not {*path} & {*" \\\"';<>"}
    return path if is_own and is_plain and len(path) <= _MAX_PATH else "/"


def _refuse(message: str) -> Response:
    return render_problem(HTTPStatus.BAD_REQUEST, f"{message} Sign in again.")
