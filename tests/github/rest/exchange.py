"""A REST request from start to end: routing, authority, limits, the handler, the contract."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.github.contract import Operation
from tests.github.contract.api_version import drop_fields
from tests.github.rest.operations import ENDPOINTS, Endpoint
from tests.github.world import auth
from tests.github.world.http_values import Answer, ApiError, Call, Caller, Json, NotModelled
from tests.github.world.journal import Request
from tests.github.world.state import Repository
from tests.github.world.world import World

_JSON = "application/json; charset=utf-8"
# GitHub's schema says otherwise, but a deleted account leaves null behind:
# https://github.com/paritytech/parity-processbot/issues/256
# And the changes of 2026-03-10 forbid null for the merge time of a pull request among issues, though an open one has none.
_REAL_NULLS = (
    '/user: null is not of type "object"',
    '/pull_request/merged_at: null is not of type "string"',
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it came over the wire; `path` has no `/api/v3`, headers are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        """`METHOD /path`, which faults match."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer as it goes over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


def serve(world: World, exchange: Exchange) -> Reply:
    """Answer a request as GitHub would, and write it and its violations into the journal."""
    operation = world.contract.operation(exchange.method, exchange.path)
    if operation is None or operation.id not in ENDPOINTS:
        return unknown(world, exchange)
    for broken in world.contract.check_request(
        exchange.method, exchange.path, exchange.query, exchange.headers, exchange.body
    ):
        world.journal.break_rule(broken.where, broken.what)
    caller = Caller()
    try:
        caller = auth.identify(world, exchange.headers.get("authorization"))
        answer = _handle(world, exchange, operation, caller)
    except ApiError as error:
        answer = Answer(error.status, error.body, error.headers)
    except NotModelled as error:
        world.journal.break_rule(
            f"not modelled: {operation.method} {operation.template}", str(error)
        )
        answer = Answer(501, {"message": str(error)})
    reply = _reply(world, exchange, operation, caller, answer)
    note(world, exchange, operation.template, reply, caller)
    _check(world, exchange, reply)
    return reply


def unknown(world: World, exchange: Exchange) -> Reply:
    """Answer 501 for an operation that the stand-in does not model."""
    what = f"the stand-in does not model {exchange.operation}"
    world.journal.break_rule(f"route {exchange.operation}", what)
    reply = Reply(501, {"Content-Type": _JSON}, json.dumps({"message": what}).encode())
    note(world, exchange, exchange.path, reply, Caller())
    return reply


def note(world: World, exchange: Exchange, route: str, reply: Reply, caller: Caller) -> None:
    """Write the request into the journal."""
    token = caller.token
    world.journal.requests.append(
        Request(
            method=exchange.method,
            route=route,
            status=reply.status,
            at=world.clock.now(),
            installation=token.installation.id if token else None,
        )
    )


def common_headers(world: World, caller: Caller, resource: str) -> dict[str, str]:
    """The headers of every API answer."""
    return {
        "X-GitHub-Request-Id": f"{world.ids.random.getrandbits(64):016X}:{len(world.journal.requests):X}",
        "X-GitHub-Media-Type": "github.v3; format=json",
        "x-github-api-version-selected": world.contract.version.name,
        **world.limits.headers(caller.key, resource),
    }


def _handle(world: World, exchange: Exchange, operation: Operation, caller: Caller) -> Answer:
    endpoint = ENDPOINTS[operation.id]
    world.limits.admit(caller.key, "core", write=exchange.method != "GET")
    call = Call(
        method=exchange.method,
        path=exchange.path,
        query=exchange.query,
        body=_json_body(exchange.body),
        params=operation.path_params,
        caller=caller,
        repository=_repository(world, exchange, operation, endpoint, caller),
        accept=exchange.headers.get("accept", ""),
    )
    if endpoint.content:
        world.limits.admit_content(caller.key)
    return endpoint.handle(world, call)


def _repository(
    world: World, exchange: Exchange, operation: Operation, endpoint: Endpoint, caller: Caller
) -> Repository | None:
    """The repository in the path, after checking that the caller may act on it."""
    owner, name = (operation.path_params.get(key) for key in ("owner", "repo"))
    if owner is None or name is None:
        return None
    repository = world.repository(f"{owner}/{name}")
    if not endpoint.app_only:
        reading = exchange.method == "GET" and not endpoint.is_members_only
        auth.authorize(caller, repository, endpoint.needs, reading=reading)
    return repository


def _json_body(body: bytes) -> Json:
    if not body:
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "Problems parsing JSON") from error
    if not isinstance(value, dict):
        raise ApiError(400, "Body should be a JSON object")
    return value


def _reply(
    world: World, exchange: Exchange, operation: Operation, caller: Caller, answer: Answer
) -> Reply:
    headers = common_headers(world, caller, "core") | dict(answer.headers)
    if caller.token is not None and ENDPOINTS[operation.id].needs:
        accepted = auth.list_accepted_permissions(ENDPOINTS[operation.id].needs)
        headers.setdefault("x-accepted-github-permissions", accepted)
    if answer.body is None:
        return Reply(answer.status, headers)
    if isinstance(answer.body, bytes):
        body = answer.body
    else:
        shown = drop_fields(answer.body, world.contract.version.rest_fields)
        body = json.dumps(shown, separators=(",", ":")).encode()
        headers["Content-Type"] = _JSON
    if exchange.method == "GET" and answer.status == 200:
        return _conditional(world, exchange, caller, Reply(200, headers, body))
    return Reply(answer.status, headers, body)


def _conditional(world: World, exchange: Exchange, caller: Caller, full: Reply) -> Reply:
    """304 without a body, free of quota, if the client already has this version."""
    link = full.headers.get("Link", "")
    etag = f'W/"{hashlib.sha256(full.body + link.encode()).hexdigest()}"'
    headers = full.headers | {"ETag": etag, "Cache-Control": "private, max-age=60, s-maxage=60"}
    etags = exchange.headers.get("if-none-match", "")
    if etag.removeprefix("W/") not in [tag.strip().removeprefix("W/") for tag in etags.split(",")]:
        return Reply(full.status, headers, full.body)
    world.limits.refund(caller.key, "core")
    headers |= world.limits.headers(caller.key, "core")
    del headers["Content-Type"]
    return Reply(304, headers)


def _check(world: World, exchange: Exchange, reply: Reply) -> None:
    if reply.status == 501:
        return
    for broken in world.contract.check_response(
        exchange.method, exchange.path, reply.status, reply.headers, reply.body, exchange.query
    ):
        if not broken.what.endswith(_REAL_NULLS):
            world.journal.break_rule(broken.where, broken.what)
