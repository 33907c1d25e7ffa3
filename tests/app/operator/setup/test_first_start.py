"""The real `r4p up` from its first address to pages where a person signs in: nothing is set by hand."""

import re
import signal
import subprocess
from itertools import islice
from urllib.parse import quote

import httpx
import pytest

from model.interpreter import module_command
from tests.app.operator.setup.setup_site import Wizard
from tests.services import wait_for

pytestmark = [pytest.mark.proof, pytest.mark.services]


def test_the_usual_answers_lead_to_a_running_bot_with_pages(github, tmp_path, monkeypatch):
    monkeypatch.setenv("R4P_GITHUB_URL", github.url)
    command = module_command("app.cli", "up", "--data", str(tmp_path / "data"), "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as bot:
        try:
            offer = "".join(islice(bot.stderr, 3))
            url, token = re.search(r"(http://\S+)/setup\?token=(\S+)", offer).groups()
            with httpx.Client(base_url=url, follow_redirects=True, trust_env=False) as browser:
                wait_for(lambda: read(browser, "/setup"))
                page = browser.get("/setup", params={"token": token})
                done = browser.get(Wizard(None, browser, github).create_app(page))
                assert f'href="{url}/"' in done.text
                wait_for(lambda: "Sign in with GitHub" in read(browser, "/"), 60)
                leads_to = browser.get("/sign-in?next=/", follow_redirects=False).headers[
                    "location"
                ]
                assert leads_to.startswith(f"{github.url}/login/oauth/authorize?")
                assert quote(f"{url}/sign-in/callback", safe="") in leads_to
                assert httpx.get(f"{url}/setup").status_code == 404
        finally:
            bot.send_signal(signal.SIGTERM)
            rest = bot.communicate(timeout=60)[1]
    assert bot.returncode == 0, rest
    assert "Traceback" not in rest


def read(browser, path):
    """The text of a page; empty while nothing listens."""
    try:
        return browser.get(path).text
    except httpx.TransportError:
        return ""
