"""Git over smart HTTP: `git http-backend` behind the same tokens as the API; fetch only."""

import asyncio
import base64
import binascii

from starlette.requests import Request
from starlette.responses import Response

from tests.github.git.repository import build_environment
from tests.github.rest.exchange import Exchange, Reply, note
from tests.github.world import auth
from tests.github.world.http_values import ApiError, Caller
from tests.github.world.state import Repository
from tests.github.world.world import World

_CHALLENGE = {"WWW-Authenticate": 'Basic realm="GitHub"', "Content-Type": "text/plain"}


async def serve(world: World, request: Request) -> Response:
    """Answer one request of the smart protocol."""
    owner, name, tail = (request.path_params[key] for key in ("owner", "name", "tail"))
    exchange = Exchange(request.method, request.url.path, {}, dict(request.headers), b"")
    caller = Caller()
    try:
        caller = identify(world, request.headers.get("authorization"))
        repository = world.repository(f"{owner}/{name}")
        authorize(caller, repository)
        response = await _backend(repository, request, tail)
    except ApiError as error:
        # To git, whoever sends no credentials is asked for them, whether the place exists or not.
        status = 401 if error.status in {401, 404} and caller.token is None else error.status
        headers = _CHALLENGE if status == 401 else {"Content-Type": "text/plain"}
        response = Response(error.body["message"], status, headers)
    route = f"/{{owner}}/{{repo}}.git/{tail}"
    note(world, exchange, route, Reply(response.status_code, {}), caller)
    return response


def identify(world: World, header: str | None) -> Caller:
    """Return the caller by the token in Basic credentials, or nobody without a header."""
    if header is None:
        return Caller()
    scheme, _, value = header.partition(" ")
    try:
        user, _, password = base64.b64decode(value).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ApiError(401, "Bad credentials") from error
    if scheme.lower() != "basic" or user != "x-access-token":
        raise ApiError(401, "Bad credentials")
    return Caller(token=auth.live_token(world, password))


def authorize(caller: Caller, repository: Repository) -> None:
    """Allow public repositories, and private ones for a token with contents=read."""
    if caller.token is None and not repository.private:
        return
    auth.authorize(caller, repository, auth.needs("contents=read"), reading=True)


async def _backend(repository: Repository, request: Request, tail: str) -> Response:
    service = request.query_params.get("service", tail)
    if tail not in {"info/refs", "git-upload-pack"} or service == "git-receive-pack":
        return Response("push is not modelled", 403)
    environment = build_environment() | {
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROJECT_ROOT": str(repository.git_dir),
        "PATH_INFO": f"/{tail}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.url.query,
        "CONTENT_TYPE": request.headers.get("content-type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
        "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
        "REMOTE_ADDR": "127.0.0.1",
    }
    body = await request.body()
    environment["CONTENT_LENGTH"] = str(len(body))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "git", "http-backend", stdin=pipe, stdout=pipe, stderr=pipe, env=environment
    )
    output, _ = await process.communicate(body)
    return _from_cgi(output)


def _from_cgi(output: bytes) -> Response:
    """Split CGI output into status, headers and body."""
    head, _, body = output.partition(b"\r\n\r\n")
    headers = {}
    for line in head.decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        headers[name.strip()] = value.strip()
    status = int(headers.pop("Status", "200").split()[0])
    return Response(body, status, headers)
