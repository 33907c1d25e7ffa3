"""GitHub's pages on which a person registers an App from a manifest and installs it."""

import html
import json
from urllib.parse import parse_qs, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.github.actions import installs
from tests.github.world.world import World

_CONFIRM = """<!doctype html><title>Register new GitHub App</title>
<form method="post" action="/settings/apps/confirm">
<input type="hidden" name="manifest" value="{manifest}">
<input type="hidden" name="state" value="{state}">
<input type="hidden" name="organisation" value="{organisation}">
<button>Create GitHub App for octo</button></form>"""
_INSTALL = """<!doctype html><title>Install GitHub App</title>
<form method="post"><button>Install</button></form>"""


def build_routes(world: World) -> list[Route]:
    """The pages that ask and create, for a person or an organisation, and the pages that install on octo's repositories."""

    async def ask(request: Request) -> Response:
        manifest, state = await _read_field(request, "manifest"), request.query_params["state"]
        shown = {
            "manifest": manifest,
            "state": state,
            "organisation": request.path_params.get("organisation", ""),
        }
        page = _CONFIRM.format(**{name: html.escape(value) for name, value in shown.items()})
        return HTMLResponse(page)

    async def create(request: Request) -> Response:
        manifest = json.loads(await _read_field(request, "manifest"))
        organisation = await _read_field(request, "organisation")
        code = installs.register_from_manifest(world, manifest, organisation)
        query = urlencode({"code": code, "state": await _read_field(request, "state")})
        return RedirectResponse(f"{manifest['redirect_url']}?{query}", 302)

    async def offer(_request: Request) -> Response:
        return HTMLResponse(_INSTALL)

    async def install(request: Request) -> Response:
        slug = request.path_params["slug"]
        app = next(app for app in world.apps.values() if app.slug == slug)
        owned = [repo for repo in world.repositories.values() if repo.owner.login == "octo"]
        installs.install(world, app, owned, None)
        return HTMLResponse("<!doctype html><title>Installed</title>")

    return [
        Route("/apps/{slug}/installations/new", offer, methods=["GET"]),
        Route("/apps/{slug}/installations/new", install, methods=["POST"]),
        Route("/settings/apps/new", ask, methods=["POST"]),
        Route("/organizations/{organisation}/settings/apps/new", ask, methods=["POST"]),
        Route("/settings/apps/confirm", create, methods=["POST"]),
    ]


async def _read_field(request: Request, name: str) -> str:
    """A field of a form that a browser sent urlencoded."""
    return parse_qs((await request.body()).decode(), keep_blank_values=True)[name][0]
