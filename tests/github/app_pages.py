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
<button>Create GitHub App for octo</button></form>"""
_INSTALL = """<!doctype html><title>Install GitHub App</title>
<form method="post"><button>Install</button></form>"""


def build_routes(world: World) -> list[Route]:
    """The pages that ask and create, for a person or an organisation, and the pages that install on octo's repositories."""

    async def ask(request: Request) -> Response:
        manifest, state = await _read_field(request, "manifest"), request.query_params["state"]
        page = _CONFIRM.format(manifest=html.escape(manifest), state=html.escape(state))
        return HTMLResponse(page)

    async def create(request: Request) -> Response:
        manifest = json.loads(await _read_field(request, "manifest"))
        code = installs.register_from_manifest(world, manifest)
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
    return parse_qs((await request.body()).decode())[name][0]
