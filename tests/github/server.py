"""The stand-in's HTTP application: REST, GraphQL and git."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.github import app_pages
from tests.github.graphql import api
from tests.github.rest import exchange as rest
from tests.github.rest import git_http
from tests.github.rest.exchange import Exchange, Reply
from tests.github.world.auth import identify
from tests.github.world.faults import Fault, Kind
from tests.github.world.http_values import REST_PREFIX, ApiError, Caller
from tests.github.world.state import AppRecord
from tests.github.world.world import World

_PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def create_app(world: World) -> Starlette:
    """The ASGI application over one world."""

    async def api(request: Request) -> Response:
        return await _api(world, request)

    async def git(request: Request) -> Response:
        return await _git(world, request)

    async def authorize(request: Request) -> Response:
        return _authorize(world, dict(request.query_params))

    async def exchange(request: Request) -> Response:
        return _exchange(world, dict(parse_qsl((await request.body()).decode())))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await world.deliveries.close()

    methods = ["GET", "POST", "PATCH", "PUT", "DELETE"]
    routes = [
        Route("/api/{path:path}", api, methods=methods),
        Route("/login/oauth/authorize", authorize),
        Route("/login/oauth/access_token", exchange, methods=["POST"]),
        *app_pages.build_routes(world),
        Route("/{owner}/{name}.git/{tail:path}", git, methods=["GET", "POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


async def _api(world: World, request: Request) -> Response:
    path = request.scope["raw_path"].decode("ascii")
    graph = path == "/api/graphql"
    exchange = Exchange(
        method=request.method,
        path="/graphql" if graph else path.removeprefix(REST_PREFIX),
        query=dict(request.query_params),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=await request.body(),
    )
    fault = world.faults.take(exchange.operation)
    if fault is not None and not fault.kind.after_effect:
        rest.note(world, exchange, exchange.path, Reply(0, {}), Caller())
        return await _break_answer(world, request, exchange, fault)
    reply = api.serve(world, exchange) if graph else rest.serve(world, exchange)
    if fault is not None:
        return await _break_answer(world, request, exchange, fault, reply)
    return Response(reply.body, reply.status, reply.headers)


def _authorize(world: World, asked: dict[str, str]) -> Response:
    """Sign the browser's person in, who allows every App: send the browser back with a code."""
    app = _find_app(world, asked)
    if app is None or asked.get("code_challenge_method") != "S256":
        return Response("unknown client or no PKCE", 404)
    try:
        code = world.sign_ins.issue_code(world.ids, app, asked, world.clock.now())
    except ApiError as error:
        return Response(error.body["message"], error.status)
    query = urlencode({"code": code, "state": asked.get("state", "")})
    return RedirectResponse(f"{asked['redirect_uri']}?{query}", 302)


def _exchange(world: World, form: dict[str, str]) -> Response:
    app = _find_app(world, form)
    if app is None:
        return Response(status_code=404)
    return JSONResponse(world.sign_ins.exchange(world.ids, app, form, world.clock.now()))


def _find_app(world: World, asked: dict[str, str]) -> AppRecord | None:
    client_id = asked.get("client_id")
    return next((app for app in world.apps.values() if app.client_id == client_id), None)


async def _git(world: World, request: Request) -> Response:
    headers = dict(request.headers)
    exchange = Exchange(request.method, request.url.path, {}, headers, b"")
    fault = world.faults.take(exchange.operation)
    if fault is not None:
        rest.note(world, exchange, exchange.path, Reply(0, {}), Caller())
        return await _break_answer(world, request, exchange, fault)
    return await git_http.serve(world, request)


async def _break_answer(
    world: World, request: Request, exchange: Exchange, fault: Fault, reply: Reply | None = None
) -> Response:
    """Build the broken answer of a fault."""
    kind = fault.kind
    if kind in {Kind.TIMEOUT, Kind.TIMEOUT_AFTER_EFFECT}:
        await _outlast(request, fault.seconds)
        return _reset(request)
    if kind in {Kind.RESET, Kind.RESET_AFTER_EFFECT}:
        return _reset(request)
    if kind is Kind.HTML:
        return Response(_PAGE, 502, {"Content-Type": "text/html; charset=utf-8"})
    if kind is Kind.GARBLED and reply is not None:
        half = reply.body[: len(reply.body) // 2]
        return Response(half, reply.status, reply.headers)
    error = _error(world, exchange, fault)
    headers = rest.common_headers(world, _caller(world, exchange), _resource(exchange))
    body = json.dumps(error.body).encode()
    return Response(body, error.status, headers | error.headers, "application/json; charset=utf-8")


def _error(world: World, exchange: Exchange, fault: Fault) -> ApiError:
    key, resource = _caller(world, exchange).key, _resource(exchange)
    match fault.kind:
        case Kind.SECONDARY_LIMIT:
            world.limits.block(key, fault.seconds)
            return world.limits.build_block_error(key, resource)
        case Kind.PRIMARY_LIMIT:
            world.limits.exhaust(key, resource)
            return ApiError(403, f"API rate limit exceeded for {key}.")
        case Kind.TOO_MANY:
            return ApiError(429, "You have exceeded a secondary rate limit.")
        case Kind.UNAUTHORIZED:
            return ApiError(401, "Bad credentials")
        case kind:
            return ApiError(int(kind.value[:3]), "Server Error")


def _caller(world: World, exchange: Exchange) -> Caller:
    try:
        return identify(world, exchange.headers.get("authorization"))
    except ApiError:
        return Caller()


def _resource(exchange: Exchange) -> str:
    return "graphql" if exchange.path == "/graphql" else "core"


async def _outlast(request: Request, seconds: float) -> None:
    """Wait until the client gives up, or for `seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while loop.time() < deadline and not await request.is_disconnected():  # noqa: ASYNC110
        await asyncio.sleep(0.02)


def _reset(request: Request) -> Response:
    """Cut the connection with a TCP reset."""
    transport: asyncio.Transport = request.scope["standin.transport"]
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    return Response(status_code=502)
