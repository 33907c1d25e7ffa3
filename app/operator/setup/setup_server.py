"""Serve the pages of the setup while no App is set, and print their address with its token."""

import logging
import sys
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from app.operator.setup.setup_pages import PATH, SetupPages, create_app
from app.web.listen_address import Listen
from app.web.operations import listen

MAX_CONNECTIONS: Final = 20


def serve_setup(data: Path, address: Listen) -> bool:
    """Serve the setup until the App is stored, or until SIGINT or SIGTERM.

    Returns whether the bot is to start: the App is stored, and no signal came. Raises SettingsError when the port
    is taken.
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
    listening = listen(address.host, address.port, "--port")
    sys.stderr.write(
        "r4p: no GitHub App is set. Open this address in a browser within an hour. It works once:\n"
        f"      {address.url}{PATH}?token={pages.access.token}\n"
        f"      Behind a proxy, open {PATH} there and give the token, the text after token=.\n"
        f"      Or set the bot up in this terminal: r4p setup --data {data}\n"
    )
    server.run(sockets=[listening])
    return pages.is_done and not server.should_exit


class _SetupServer(uvicorn.Server):
    """Ends when the setup is done, after its last answer."""

    def __init__(self, config: uvicorn.Config, pages: SetupPages) -> None:
        super().__init__(config)
        self._pages = pages

    async def on_tick(self, counter: int) -> bool:
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
