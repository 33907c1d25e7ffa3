"""The web process with its pages on, and browsers without a screen that visit it."""

import re
import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import uvicorn
from pydantic import SecretStr
from sqlalchemy import Engine

from app.metrics import Metrics
from app.settings import (
    BrokerSettings,
    DatabaseSettings,
    IdentitySettings,
    PagesSettings,
    WebhookSettings,
)
from app.web.main import WebSettings, create_app
from tests.github.facts import App
from tests.github.repo import Repo
from tests.github.stand_in import StandIn
from tests.services import wait_for

SESSION = "__Host-r4p-session"


@dataclass
class PageScene:
    """A web process, and two private repositories of two installations with one judged issue each."""

    github: StandIn
    app: App
    cat: Repo
    dog: Repo
    url: str
    owner: Engine
    """An engine on the tables of the web process, with all rights."""
    browsers: list[httpx.Client] = field(default_factory=list)
    """All browsers, which the fixture closes."""

    def open_browser(self):
        """A browser of its own. Like a real one it takes this host for safe enough for Secure cookies."""
        browser = httpx.Client(base_url=self.url, trust_env=False, timeout=20)

        def send_cookies(request):
            cookies = [f"{cookie.name}={cookie.value}" for cookie in browser.cookies.jar]
            request.headers["Cookie"] = "; ".join(cookies)

        browser.event_hooks = {"request": [send_cookies]}
        self.browsers.append(browser)
        return browser

    def sign_in(self, login):
        """Sign a person in, as GitHub's redirects would."""
        self.github.sign_in_as(login)
        browser = self.open_browser()
        home = browser.get(self.begin(browser))
        assert (home.status_code, home.headers.get("location")) == (303, "/"), home.text
        return browser

    def begin(self, browser, **query):
        """Begin a sign-in; return the address to which GitHub sends the browser back."""
        away = browser.get("/sign-in", params=query)
        assert away.status_code == 303, away.text
        return httpx.get(away.headers["location"], trust_env=False).headers["location"]


def read_csrf(page):
    """The token that the forms of a page repeat."""
    return re.search(r'name="csrf" value="([^"]+)"', page.text)[1]


def read_cookie(browser, name=SESSION):
    """A cookie of a browser, with its attributes; None without one."""
    return next((cookie for cookie in browser.cookies.jar if cookie.name == name), None)


@contextmanager
def serve_pages(github, app, database_url, redis_url, **settings):
    """Serve the real application at a free port of localhost; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://localhost:{listening.getsockname()[1]}"
        pages = PagesSettings(
            public_url=url,
            oauth_client_id=app.client_id,
            oauth_client_secret=SecretStr(app.client_secret),
            **{"operators": "ops", "public_track_records": "open/Source", **settings},
        )
        wanted = WebSettings(
            DatabaseSettings(database_url=database_url),
            BrokerSettings(redis_url=redis_url),
            WebhookSettings(webhook_secret="It's a Secret to Everybody"),
            IdentitySettings(github_url=github.url, app_id=app.app_id),
            pages,
        )
        config = uvicorn.Config(create_app(wanted, Metrics()), log_level="error", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield url
        finally:
            server.should_exit = True
            thread.join()
