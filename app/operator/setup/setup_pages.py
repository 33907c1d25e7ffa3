"""The pages of `/setup`: a token, the answers, GitHub's page, and the App's credentials back."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlencode, urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from app.operator.setup import registration
from app.operator.setup.access import TOKEN_SECONDS, SetupAccess
from app.operator.setup.answers import (
    Answers,
    BadAnswer,
    ModelKind,
    parse_answers,
    suggest_name,
)
from app.operator.setup.registration import RegistrationRefused
from app.settings import IdentitySettings, load
from app.settings.data_folder import BadFolder
from app.settings.pages_settings import LOCAL_HOSTS
from app.web.form_reader import BadForm, read_form
from app.web.pages.rendering import list_static_routes, render_page, render_problem

PATH: Final = "/setup"
COOKIE: Final = "r4p_setup"
MAX_BODY_BYTES: Final = 16_384
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NO_ACCESS: Final = (
    "Your setup session has ended, or it belongs to another browser. Restart `r4p up` for a new token."
    " If you have just created an App on GitHub, delete it there first."
)
_ASK_AGAIN: Final = "The token is wrong, spent or older than an hour. Copy it again, or restart `r4p up` for a new one."
_OLD_FORM: Final = (
    "GitHub's answer belongs to an older form, or came twice. Create the App again. If GitHub says that the name is"
    " taken, delete that App there, or choose another name."
)
_BACK: Final = (PATH, "Go to the setup")


@dataclass(slots=True)
class SetupPages:
    """The pages of the setup. `data` is the folder of `r4p up`."""

    data: Path
    access: SetupAccess = field(default_factory=SetupAccess)
    is_done: bool = False
    """True when the App is stored."""
    default_answers: Answers = field(
        default_factory=lambda: Answers(suggest_name(), load(IdentitySettings).github_url)
    )
    """The answers if the person changes nothing."""
    _form: dict[str, str] = field(default_factory=dict)
    """The answers as they were last given, without the key."""
    _answers: Answers | None = None

    def list_routes(self) -> list[Route]:
        """Return the routes of the setup, its stylesheet included."""
        return [
            Route("/", self._redirect_to_setup, methods=["GET"]),
            _build_get_route(PATH, self._show),
            Route(f"{PATH}/token", self._take_token, methods=["POST"]),
            Route(f"{PATH}/app", self._take_answers, methods=["POST"]),
            Route(f"{PATH}/app", self._offer_app, methods=["GET"]),
            _build_get_route(f"{PATH}/callback", self._take_code),
            *list_static_routes(),
        ]

    async def _redirect_to_setup(self, _request: Request) -> Response:
        return RedirectResponse(PATH, HTTPStatus.SEE_OTHER)

    async def _show(self, request: Request) -> Response:
        if "token" in request.query_params and not self._has_session(request):
            return self._open_session(request, request.query_params["token"])
        if self._has_session(request):
            if not self._form:  # the page offers an App with the default answers
                self._answers = _add_local_url(self.default_answers, request)
            return self._render_form(request)
        return render_page("setup_token.html.j2", {"problem": ""})

    async def _take_token(self, request: Request) -> Response:
        form = await read_form(request, MAX_BODY_BYTES)
        if self._has_session(request):
            return RedirectResponse(PATH, HTTPStatus.SEE_OTHER)
        return self._open_session(request, form.get("token", ""))

    def _open_session(self, request: Request, token: str) -> Response:
        session = self.access.open_session(token.strip())
        if session is None:
            values = {"problem": _ASK_AGAIN}
            return render_page("setup_token.html.j2", values, status=HTTPStatus.FORBIDDEN)
        answer = RedirectResponse(PATH, HTTPStatus.SEE_OTHER)
        # Lax: the cookie must come with GitHub's redirect to the callback.
        answer.set_cookie(
            COOKIE,
            session,
            max_age=int(TOKEN_SECONDS),
            path=PATH,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer

    async def _take_answers(self, request: Request) -> Response:
        form = await read_form(request, MAX_BODY_BYTES)
        if not self._has_session(request) or not self.access.is_own_form(form.get("csrf", "")):
            return render_problem(HTTPStatus.FORBIDDEN, _NO_ACCESS, link=_BACK)
        self._form = {name: value for name, value in form.items() if name != "api_key"}
        self._answers = None  # bad answers leave no App to offer
        try:
            answers = _add_local_url(parse_answers(form), request)
            self._answers = await run_in_threadpool(registration.check_servers, answers)
        except BadAnswer as error:
            return self._render_form(request, str(error))
        self.access.create_state()
        return RedirectResponse(f"{PATH}/app", HTTPStatus.SEE_OTHER)

    async def _offer_app(self, request: Request) -> Response:
        """Show the form that the browser sends to GitHub. It has an address of its own for the back button."""
        if not self._has_session(request) or self._answers is None:
            return RedirectResponse(PATH, HTTPStatus.SEE_OTHER)
        offer = self._build_offer(request, self._answers)
        return render_page(
            "setup_create.html.j2", {"offer": offer}, form_targets=[_find_origin(self._answers)]
        )

    def _build_offer(self, request: Request, answers: Answers) -> dict[str, Any]:
        """Return what the form that goes to GitHub holds."""
        manifest = answers.build_manifest(_build_redirect_url(request, answers))
        query = urlencode({"state": self.access.state})
        return {
            "answers": answers,
            "action": f"{answers.registration_url}?{query}",
            "manifest": json.dumps(manifest),
            "manifest_lines": json.dumps(manifest, indent=2),
        }

    async def _take_code(self, request: Request) -> Response:
        query = request.query_params
        if not self._has_session(request):
            return render_problem(HTTPStatus.FORBIDDEN, _NO_ACCESS, link=_BACK)
        if self._answers is None or not self.access.spend_state(query.get("state", "")):
            return render_problem(HTTPStatus.FORBIDDEN, _OLD_FORM, link=_BACK)
        try:
            app = await run_in_threadpool(
                registration.register, self.data, self._answers, query.get("code", "")
            )
        except RegistrationRefused as error:
            return render_problem(HTTPStatus.BAD_GATEWAY, str(error), link=_BACK)
        except (OSError, BadFolder) as error:
            problem = registration.explain_lost_app(self.data, error)
            return render_problem(HTTPStatus.INTERNAL_SERVER_ERROR, problem, link=_BACK)
        self.is_done = True
        values = {
            "app": app,
            "answers": self._answers,
            "install_url": f"{app.url}/installations/new",
            "steps": registration.list_first_steps(self._answers),
        }
        return render_page("setup_done.html.j2", values)

    def _has_session(self, request: Request) -> bool:
        return self.access.has_session(request.cookies.get(COOKIE, ""))

    def _render_form(self, request: Request, problem: str = "") -> Response:
        """Render the form with the answers given so far. A key is never shown again.

        Before the first answers, the page also offers an App with the default ones.
        """
        default = _add_local_url(self.default_answers, request)
        values: dict[str, Any] = {
            "offer": None if self._form else self._build_offer(request, default),
            "form": {"name": default.name, "github_url": default.github_url} | self._form,
            "kinds": ModelKind,
            "csrf": self.access.csrf,
            "problem": problem,
        }
        status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
        targets = [] if self._form else [_find_origin(default)]
        return render_page("setup_answers.html.j2", values, status=status, form_targets=targets)


def create_app(pages: SetupPages) -> Starlette:
    """Build the application that serves the setup."""

    async def refuse(_request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, BadForm) else HTTPStatus.BAD_REQUEST
        return render_problem(status, str(error), link=_BACK)

    return Starlette(routes=pages.list_routes(), exception_handlers={BadForm: refuse})


def _add_local_url(answers: Answers, request: Request) -> Answers:
    """Add the address at which a browser on this machine asked; the pages then need no public address."""
    if request.url.hostname in LOCAL_HOSTS:
        return replace(answers, local_url=str(request.base_url).rstrip("/"))
    return answers


def _find_origin(answers: Answers) -> str:
    """Return the origin of the GitHub that registers the App."""
    parts = urlsplit(answers.registration_url)
    return f"{parts.scheme}://{parts.netloc}"


def _build_get_route(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    """Build a route for GET alone. Starlette adds HEAD, by which a preview of the link would spend the token."""
    route = Route(path, endpoint, methods=["GET"])
    route.methods = {"GET"}
    return route


def _build_redirect_url(request: Request, answers: Answers) -> str:
    """Return the callback's address as the browser knows it: through the proxy, or as it asked us."""
    is_public = _is_same_place(urlsplit(answers.public_url), request.url)
    base = answers.public_url if is_public else str(request.base_url)
    return f"{base.rstrip('/')}{PATH}/callback"


def _is_same_place(public: SplitResult, asked: URL) -> bool:
    """Report whether both addresses have one host and one port.

    A proxy that ends HTTPS asks us by HTTP, so a port that `asked` leaves out is the default of the public scheme.
    """
    default = _DEFAULT_PORTS.get(public.scheme)
    place = (asked.hostname, asked.port or default)
    return (public.hostname, public.port or default) == place
