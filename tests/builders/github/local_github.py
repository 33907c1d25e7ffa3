"""A small real HTTP server that answers as it is told and remembers what it was asked.

For what the stand-in can't be told to do byte by byte: resets, silence, garbled answers.
"""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from app.github.api.effect_store import Effect, EffectKey, EffectState
from app.github.endpoints import API_VERSION, build_endpoints
from app.github.http.auth import App, Tokens
from app.github.http.connection import CachedAnswer, GitHub
from app.github.http.rate_limiter import Limiter, WriteLimits
from app.github.http.transport import Transport, get_utc_now
from app.values.identifiers import InstallationId, RepositoryId, RepositoryRef

REPOSITORY = RepositoryRef(InstallationId(7), RepositoryId(42), "octo/repo")
TOKEN_PATH = "/api/v3/app/installations/7/access_tokens"


@dataclass
class Reply:
    """One answer. `then`: `reset` breaks the connection instead, `silence` never answers."""

    status: int = 200
    body: object = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    then: str = "answer"

    def encode(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: object

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    github: "LocalGitHub"

    def __getattr__(self, name: str) -> object:
        if name in {"do_GET", "do_POST", "do_PATCH"}:
            return self.handle_call
        raise AttributeError(name)

    def handle_call(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        asked = Asked(self.command, self.path, dict(self.headers.items()), body)
        self.reply(self.github.answer(asked))

    def reply(self, reply: Reply) -> None:
        if reply.then == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
            return
        if reply.then == "silence":
            self.github.released.wait(20)
            self.close_connection = True
            return
        data = reply.encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def date_time_string(self, timestamp: float | None = None) -> str:
        now = self.github.now
        return super().date_time_string(now.timestamp() if now else timestamp)

    def log_message(self, *_: object) -> None:
        pass

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()


class LocalGitHub:
    """Replies are taken in order; with none left the answer is 599, which no test expects."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.asked: list[Asked] = []
        self.grants: list[Asked] = []
        self.now: datetime | None = None
        """What the server says is the time; None: the true one."""
        self.token_expires = "2999-01-01T00:00:00Z"
        self.token_refusal: Reply | None = None
        self.released = threading.Event()
        handler = type("Handler", (_Handler,), {"github": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, asked: Asked) -> Reply:
        if asked.path == TOKEN_PATH:
            self.grants.append(asked)
            token = f"ghs_{len(self.grants)}_{'x' * 40}"
            grant = Reply(201, {"token": token, "expires_at": self.token_expires})
            return self.token_refusal or grant
        self.asked.append(asked)
        return self.replies.pop(0) if self.replies else Reply(599, {"message": "no reply left"})

    @property
    def calls(self) -> list[str]:
        return [str(asked).replace("/api/v3", "") for asked in self.asked]

    @contextmanager
    def running(self) -> Iterator["LocalGitHub"]:
        thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join(5)


class MemoryLimits:
    """A LimiterStore in this process."""

    def __init__(self) -> None:
        self.limits: dict[InstallationId, WriteLimits] = {}
        self._lock = threading.Lock()

    def change(self, installation, step):
        with self._lock:
            self.limits[installation], decided = step(self.limits.get(installation, WriteLimits()))
            return decided

    def load(self, installation):
        return self.limits.get(installation, WriteLimits())


class MemoryEtags:
    """An EtagStore in this process."""

    def __init__(self) -> None:
        self.kept: dict[tuple[InstallationId, str], CachedAnswer] = {}

    def get(self, installation, path):
        return self.kept.get((installation, path))

    def put(self, installation, path, cached):
        self.kept[installation, path] = cached


class MemoryEffects:
    """An EffectStore in this process, of an attempt that keeps its job."""

    def __init__(self) -> None:
        self.kept: dict[EffectKey, Effect] = {}
        self.history: list[EffectState] = []

    def load(self, key):
        return self.kept.get(key)

    def check_owner(self):
        pass

    def check_pause(self, key):
        pass

    def plan(self, key, content, *, is_new=False):
        before = self.kept.get(key)
        kept = None if before is None or is_new else before.github_id
        self._put(key, Effect(EffectState.PLANNED, kept, content))
        return before

    def confirm(self, key, github_id):
        self._put(key, Effect(EffectState.CONFIRMED, github_id, self.kept[key].content))
        return True

    def mark_ambiguous(self, key, github_id):
        self._put(key, Effect(EffectState.AMBIGUOUS, github_id, self.kept[key].content))

    def _put(self, key, effect):
        self.kept[key] = effect
        self.history.append(effect.state)


def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


KEY = private_key()


@contextmanager
def connect(
    url: str,
    *,
    limits: MemoryLimits | None = None,
    clock=get_utc_now,
    app_id: int = 99,
    key: str = KEY,
    api_version: str = API_VERSION,
) -> Iterator[GitHub]:
    """A Connection to that address, with its memory in this process."""
    app = App(app_id, SecretStr(key))
    endpoints = replace(build_endpoints(url), api_version=api_version)
    transport = Transport(endpoints, timeout=2, clock=clock)
    limiter = Limiter(limits or MemoryLimits(), clock=clock)
    connection = GitHub(app, transport, Tokens(app, transport), limiter, MemoryEtags())
    try:
        yield connection
    finally:
        connection.close()
