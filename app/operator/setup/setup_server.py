"""Serve the pages of the setup while no App is set, and print their address with its token."""

import logging
import socket
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from app.operator.setup.setup_pages import PATH, SetupPages, create_app
from app.web.listen_address import Listen

MAX_CONNECTIONS: Final = 20


def serve_setup(data: Path, address: Listen) -> bool:
    """Serve the setup until the App is stored, or until SIGINT or SIGTERM.

    Returns whether the bot is to start: the App is stored, and no signal came. Raises SettingsError when the
    address cannot be used.
    """
    pages = SetupPages(data)
    config = uvicorn.Config(
        create_app(pages),
        access_log=False,  # the callback's address holds GitHub's code
        server_header=False,
        log_level="warning",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
    server = _SetupServer(config, pages)
    # before the token is shown: another program may have the port
    listening = address.open_socket()
    sys.stderr.write(write_invitation(address, pages.access.token, data))
    server.run(sockets=[listening])
    return pages.is_done and not server.should_exit


def write_invitation(address: Listen, token: str, data: Path) -> str:
    """Write where a person opens the setup. A bot that listens everywhere gives two addresses."""
    lines = [
        "r4p: no GitHub App is set. Open this address in a browser within an hour. It works once:",
        f"      {address.local_url}{PATH}?token={token}",
    ]
    if address.local_url != address.url:
        elsewhere = replace(address, host=socket.gethostname())
        lines.append(f"      On another machine, open {elsewhere.url}{PATH}?token={token}")
    lines += [
        f"      Behind a proxy, open {PATH} there and give the token, the text after token=.",
        f"      Or set the bot up in this terminal: r4p setup --data {data}",
    ]
    return "\n".join(lines) + "\n"


class _SetupServer(uvicorn.Server):
    """Ends when the setup is done, after its last answer."""

    def __init__(self, config: uvicorn.Config, pages: SetupPages) -> None:
        super().__init__(config)
        self._pages = pages

    async def on_tick(self, counter: int) -> bool:
        # Uvicorn calls this method every 0.1 s, and ends when it returns True.
        ends = await super().on_tick(counter)
        idle = not self.server_state.tasks
        return ends or (self._pages.is_done and idle)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 (Uvicorn's signature)
        """End the server at SIGINT or SIGTERM, at the second signal without waiting for requests.

        The method of the base class raises the signal again when the server has ended, and `r4p up` would end with an
        error.
        """
        self.force_exit = self.should_exit
        self.should_exit = True
        # Uvicorn logs a traceback for each request that it then cancels.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
