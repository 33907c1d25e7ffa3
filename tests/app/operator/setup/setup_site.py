"""Serves the setup's pages to the browsers of tests, and plays a person before them."""

import html
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn

from app.operator.setup.setup_pages import SetupPages, create_app
from tests.github.stand_in import StandIn
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


@contextmanager
def browse(pages):
    """Serve the pages, and yield a browser before them."""
    with (
        serve_setup_pages(pages) as url,
        httpx.Client(base_url=url, follow_redirects=True, trust_env=False) as browser,
    ):
        yield browser


@dataclass
class Wizard:
    """A person with a browser before the page."""

    pages: SetupPages
    browser: httpx.Client
    github: StandIn

    def sign_in(self):
        answer = self.browser.post("/setup/token", data={"token": self.pages.access.token})
        assert answer.status_code == 200, answer.text
        return answer

    def answer(self, **answers):
        """Give answers, and return the page that follows."""
        form = {"csrf": self.pages.access.csrf, "name": "r4p-bot-1", "github_url": self.github.url}
        return self.browser.post("/setup/app", data=form | answers)

    def create_app(self, page):
        """Send the page's form to GitHub, confirm there, and return the address that GitHub leads to."""
        action = html.unescape(re.search(r'action="([^"]+)"', page.text)[1])
        manifest = html.unescape(re.search(r'name="manifest" value="([^"]+)"', page.text)[1])
        shown = httpx.post(action, data={"manifest": manifest})
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', shown.text))
        form = {name: html.unescape(value) for name, value in fields.items()}
        done = httpx.post(f"{self.github.url}/settings/apps/confirm", data=form)
        assert done.status_code == 302
        return done.headers["location"]
