"""A web process of the test's own, and GitHub knocking at its door."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import uvicorn

from app.metrics import Metrics
from app.settings import BrokerSettings, DatabaseSettings, OperationsSettings, WebhookSettings
from app.web.main import WebSettings, create_app
from app.web.operations import create_operations_app, serve_operations
from app.web.signature import sign
from app.web.webhook import PATH, RequestLimits
from tests.services import wait_for

SECRET = b"It's a Secret to Everybody"
OTHER = b"the secret that replaces it"


def issue_opened(**changes: object) -> bytes:
    """A small `issues.opened` payload of installation 5, repository 7, issue 1."""
    person = {"id": 3, "login": "octocat", "type": "User"}
    payload = {
        "action": "opened",
        "installation": {"id": 5},
        "sender": person,
        "repository": {"id": 7, "full_name": "octo/repo", "default_branch": "main"},
        "issue": {
            "number": 1,
            "title": "It fails",
            "body": "Always.",
            "state": "open",
            "user": person,
            "created_at": "2026-11-21T00:00:00Z",
            "updated_at": "2026-11-21T00:00:00Z",
        },
    }
    return json.dumps({**payload, **changes}).encode()


def headers(body: bytes, *, event: str = "issues", guid: str | None = None) -> dict[str, str]:
    """As GitHub sends them."""
    return {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": guid or str(uuid.uuid4()),
        "X-Hub-Signature-256": sign(body, SECRET),
        "Content-Type": "application/json",
    }


@dataclass
class Door:
    """A running web process."""

    url: str
    operations_url: str
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=20))

    def knock(self, body: bytes, head: dict[str, str] | None = None) -> httpx.Response:
        return self.client.post(self.url + PATH, content=body, headers=head or headers(body))

    def get(self, path: str) -> httpx.Response:
        return self.client.get(self.url + path)

    def get_operations(self, path: str) -> httpx.Response:
        return self.client.get(self.operations_url + path)


def settings(database_url: str, redis_url: str) -> WebSettings:
    return WebSettings(
        DatabaseSettings(database_url=database_url),
        BrokerSettings(redis_url=redis_url),
        WebhookSettings(webhook_secret=f"{SECRET.decode()},{OTHER.decode()}"),
    )


@contextmanager
def serve_web(
    settings: WebSettings, limits: RequestLimits | None = None, *, connections: int | None = None
) -> Iterator[Door]:
    """The real application behind a real server in a thread. `connections` is uvicorn's limit of them."""
    metrics = Metrics()
    operations = create_operations_app(settings.database, settings.broker, metrics)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings, metrics, limits=limits),
            host="127.0.0.1",
            port=0,
            log_level="error",
            limit_concurrency=connections,
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        with serve_operations(operations, OperationsSettings(ops_port=0)) as beside:
            door = Door(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{beside}")
            yield door
            door.client.close()
    finally:
        server.should_exit = True
        thread.join()
