"""The servers that get deliveries: ours as it is run, the floor, and pr-agent as its image runs it."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from app.web.webhook import PATH
from tests.bench.bench import Bench
from tests.bench.programs import floor_webhook
from tests.bench.support.load import Post
from tests.bench.support.peers import Peer, interpreter
from tests.github.contract import Contract
from tests.services import Child, child, free_port, wait_for

PR_AGENT = Peer("pr-agent", "0.49.0", python=(3, 12))
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Else pr-agent asks for a price list on the network when it is imported."""
_SECRET = floor_webhook.SECRET.decode()
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers, and what to send it."""

    post: Post
    process: psutil.Process
    tables: tuple[str, ...]
    """Each gets a row per delivery; empty: it stores nothing."""

    def resident_mb(self) -> float:
        """Memory of the process and of what it forked, pages shared between them counted once."""
        family = [self.process, *self.process.children(recursive=True)]
        if len(family) == 1:
            return self.process.memory_info().rss / 1e6
        return sum(one.memory_full_info().pss for one in family) / 1e6


@contextmanager
def ours(bench: Bench, database_url: str) -> Iterator[Server]:
    """`r4p serve`: one process, the real route."""
    port = free_port()
    settings = {
        "R4P_DATABASE_URL": database_url,
        "R4P_REDIS_URL": bench.services.redis_url,
        "R4P_WEBHOOK_SECRET": _SECRET,
    }
    command = ["app.cli", "serve", "--port", str(port)]
    with child(command, settings, bench.scratch / "web.log") as started:
        post = _post(bench, port, PATH, "pull_request")
        yield _await_server(started, post, "/healthz", ("deliveries", "jobs"))


@contextmanager
def floor(bench: Bench, database_url: str) -> Iterator[Server]:
    """The same work as a bare program."""
    port = free_port()
    command = ["tests.bench.programs.floor_webhook", str(port), database_url]
    with child(command, {}, bench.scratch / "floor.log") as started:
        post = _post(bench, port, floor_webhook.PATH, "pull_request")
        yield _await_server(started, post, "/", ("floor_deliveries", "floor_jobs"))


@contextmanager
def pr_agent(bench: Bench) -> Iterator[Server]:
    """pr-agent's webhook server under its own gunicorn configuration, one worker. Raises NotRun.

    It gets the same bytes as an `issues` event: it verifies, parses and acknowledges them, then
    drops them, so that nothing is stored and nobody asked.
    """
    python = interpreter(PR_AGENT, bench.peers)
    (servers,) = python.parents[1].glob("lib/*/site-packages/pr_agent/servers")
    port = free_port()
    command = ["gunicorn", "-k", "uvicorn.workers.UvicornWorker"]
    command += ["-c", str(servers / "gunicorn_config.py"), "pr_agent.servers.github_app:app"]
    settings = OFFLINE | {
        "PORT": str(port),
        "GUNICORN_WORKERS": "1",
        "GITHUB__WEBHOOK_SECRET": _SECRET,
    }
    log = bench.scratch / "pr-agent.log"
    with child(command, settings, log, python=python) as started:
        post = _post(bench, port, "/api/v1/github_webhooks", "issues")
        yield _await_server(started, post, "/", ())


def _await_server(started: Child, post: Post, sign_of_life: str, tables: tuple[str, ...]) -> Server:
    """The server, once it answers anything at all."""
    url = f"http://127.0.0.1:{post.port}{sign_of_life}"

    def answers() -> bool:
        if started.popen.poll() is not None:
            raise RuntimeError(f"the server ended:\n{started.says()[-2000:]}")
        try:
            httpx.get(url, trust_env=False)
        except httpx.TransportError:
            return False
        return True

    wait_for(answers, _START_SECONDS)
    return Server(post, psutil.Process(started.pid), tables)


def _post(bench: Bench, port: int, path: str, event: str) -> Post:
    body = _body(bench)
    digest = hmac.new(floor_webhook.SECRET, body.read_bytes(), hashlib.sha256).hexdigest()
    return Post(port, path, event, f"sha256={digest}", body)


def _body(bench: Bench) -> Path:
    """GitHub's own example of a pull request that was opened, 24 kB."""
    file = bench.scratch / "delivery.json"
    if not file.exists():
        example = Contract.load().webhook_example("pull_request", "opened")
        file.write_bytes(json.dumps(example, separators=(",", ":")).encode())
    return file
