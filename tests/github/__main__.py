"""`python -m tests.github --data DIR [--port N]`: run the stand-in until it is ended."""

import argparse
import asyncio
import logging
import socket
import sys
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.github.clock import Clock
from tests.github.contract import Contract, graphql_schema
from tests.github.server import create_app
from tests.github.world.deliveries import Deliveries
from tests.github.world.journal import Journal
from tests.github.world.limits import Limits
from tests.github.world.state import Ids
from tests.github.world.world import World


class _Protocol(HttpToolsProtocol):
    """Hands the connection to the application, which resets it when a fault says so."""

    def on_headers_complete(self) -> None:
        self.scope["standin.transport"] = self.transport  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()


def make_world(data: Path, url: str, time_scale: float, seed: int) -> World:
    """An empty GitHub that keeps its repositories and its journal under `data`."""
    data.mkdir(parents=True, exist_ok=True)
    clock, ids = Clock(time_scale), Ids(seed)
    return World(
        data=data,
        url=url,
        clock=clock,
        ids=ids,
        journal=Journal(data / "violations.jsonl"),
        contract=Contract.load(),
        deliveries=Deliveries(clock, ids),
        limits=Limits(clock),
    )


def _listener(port: int) -> socket.socket:
    """A loopback socket. asyncio switches Nagle's 40 ms off only where TCP is named."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(512)
    return listener


async def _serve(
    listener: socket.socket, world: World, ready_file: Path | None, until_eof: bool
) -> None:
    config = uvicorn.Config(
        create_app(world), http=_Protocol, log_level="warning", access_log=False, lifespan="on"
    )
    graphql_schema()  # a second of work that no request should wait for
    if ready_file is not None:
        ready_file.with_suffix(".part").write_text(world.url)
        ready_file.with_suffix(".part").rename(ready_file)
    print(world.url, flush=True)
    server = uvicorn.Server(config)
    watcher = asyncio.create_task(_end_with_stdin(server)) if until_eof else None
    await server.serve(sockets=[listener])
    if watcher is not None:
        watcher.cancel()


async def _end_with_stdin(server: uvicorn.Server) -> None:
    """Stop when standard input ends: whoever started this process is gone, even if it was killed."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    server.should_exit = True


def main() -> None:
    """Parse the command line, listen on loopback, serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.github", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="where repositories are kept")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ready-file", type=Path, help="gets the URL when the server listens")
    parser.add_argument("--time-scale", type=float, default=1.0, help="simulated s per real s")
    parser.add_argument("--seed", type=int, default=1, help="of ids and GUIDs")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    listener = _listener(options.port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    world = make_world(options.data.resolve(), url, options.time_scale, options.seed)
    asyncio.run(_serve(listener, world, options.ready_file, options.until_eof))


if __name__ == "__main__":
    main()
