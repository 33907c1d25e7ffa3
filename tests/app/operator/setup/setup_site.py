"""Serves the setup's pages to the browsers of tests."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from app.operator.setup.setup_pages import SetupPages, create_app
from tests.services import wait_for


@contextmanager
def serve_setup_pages(pages: SetupPages) -> Iterator[str]:
    """Serve the pages at a free port; yield their URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(pages), log_level="error"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
