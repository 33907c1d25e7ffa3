"""The thread that serves a simulated GitHub over HTTP, and calls into it from other threads."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.github.clock import Clock
from tests.github.contract import Contract, graphql_schema
from tests.github.server import create_app
from tests.github.world.deliveries import Deliveries
from tests.github.world.http_values import ApiError
from tests.github.world.journal import Journal
from tests.github.world.limits import Limits
from tests.github.world.state import Ids
from tests.github.world.world import World

P = ParamSpec("P")
S = TypeVar("S", bound="_OnServer")
T = TypeVar("T")
_START_SECONDS = 30.0
_CALL_SECONDS = 120.0
_STOP_SECONDS = 10.0
_DRAIN_SECONDS = 2
"""Time for requests under way when the server stops; a withheld answer lasts longer."""


class StandInError(Exception):
    """The simulated GitHub refused an action or did not start; the message gives the reason."""


class _Protocol(HttpToolsProtocol):
    """Hands the connection to the application, which resets it when a fault says so."""

    def on_headers_complete(self) -> None:
        self.scope["standin.transport"] = self.transport  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()


class _Server(uvicorn.Server):
    """Tells the starting thread its event loop once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.loop: Future[asyncio.AbstractEventLoop] = Future()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop.set_result(asyncio.get_running_loop())


class ServerThread:
    """A world, served on a loopback port by a thread with an event loop of its own."""

    def __init__(self, data: Path, api_version: str) -> None:
        clock, ids = Clock(), Ids(seed=1)
        data.mkdir(parents=True, exist_ok=True)
        self._listener = _listen()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.world = World(
            data=data.resolve(),
            url=self.url,
            clock=clock,
            ids=ids,
            journal=Journal(data / "violations.jsonl"),
            contract=Contract.load(api_version),
            deliveries=Deliveries(clock, ids),
            limits=Limits(clock),
        )
        config = uvicorn.Config(
            create_app(self.world),
            http=_Protocol,
            log_config=None,  # the process belongs to the caller, and so does its logging
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=_DRAIN_SECONDS,
        )
        self._server = _Server(config)
        # A daemon: a caller that dies without `stop` ends all the same.
        self._thread = threading.Thread(target=self._serve, name="github stand-in", daemon=True)

    def start(self) -> None:
        """Serve until `stop`; StandInError if the server does not listen within 30 s."""
        graphql_schema()  # a second of work that no request should wait for
        self._thread.start()
        try:
            self._loop = self._server.loop.result(_START_SECONDS)
        except TimeoutError as error:
            raise StandInError(f"{self.url} did not start in {_START_SECONDS} s") from error

    def stop(self) -> None:
        """End the server and wait for its thread."""
        self._server.should_exit = True
        self._thread.join(_STOP_SECONDS)

    def call(self, action: Callable[[], T]) -> T:
        """Run `action` on the server's thread and return its result.

        StandInError if GitHub would refuse the action.
        """

        async def act() -> T:
            return action()

        return self.wait_for(act())

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's thread and return its result."""
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_CALL_SECONDS)
        except ApiError as error:
            raise StandInError(f"{error.status}: {error}") from error

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listener]))


class _OnServer(Protocol):
    @property
    def server(self) -> ServerThread: ...


def run_on_server(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a method to run on the thread of `self.server`.

    The world has no locks, so only that thread may touch it.
    """

    @wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.server.call(lambda: method(self, *args, **kwargs))

    return run


def _listen() -> socket.socket:
    """A loopback socket. asyncio switches Nagle's 40 ms off only where TCP is named."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(512)
    return listener
