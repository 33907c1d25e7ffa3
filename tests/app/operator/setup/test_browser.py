"""The setup in a real browser: from the address that `r4p up` prints to a bot that judges, and what a person may get wrong."""

import re
import stat
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from app.operator.setup.setup_pages import SetupPages
from app.settings import build_plain_environment
from model.interpreter import module_command
from tests.app.operator.setup.setup_site import serve_setup_pages
from tests.browser import DESK, PHONE, list_serious, note_errors
from tests.github.stand_in import StandIn
from tests.services import wait_for

pytestmark = [pytest.mark.proof]
MOST_STEPS = 5
BASE = "def mean(values):\n    return sum(values) / len(values)\n"
FIX = """\
--- a/stats.py
+++ b/stats.py
@@ -1,2 +1,2 @@
 def mean(values):
-    return sum(values) / len(values)
+    return sum(values) / {}
"""


@pytest.fixture
def github(tmp_path):
    with StandIn.start(tmp_path / "github") as standin:
        yield standin
        assert standin.violations() == []


@dataclass
class Person:
    """A person before the setup, whose steps count: an address opened, or a form or a link that is used."""

    page: Any
    github: StandIn
    steps: list[str] = field(default_factory=list)

    def open(self, address):
        self.steps.append("open")
        return self.page.goto(address)

    def press(self, text):
        self.steps.append(text)
        with self.page.expect_navigation():
            self.page.get_by_text(text, exact=False).locator("visible=true").last.click()

    def answer(self, **answers):
        """Fill the form in and send it. GitHub is the stand-in unless the answers say otherwise."""
        for name, value in {"github_url": self.github.url, **answers}.items():
            self.page.fill(f"#{name}", value)
        self.press("Continue")

    def read(self):
        return self.page.inner_text("main")


@contextmanager
def start_bot(data, github):
    """Run the real `r4p up`; yield its process and the address that it prints, under a name that is no site of GitHub's."""
    command = module_command("app.cli", "up", "--data", str(data), "--port", "0")
    environment = build_plain_environment() | {"R4P_OPS_PORT": "0", "R4P_GITHUB_URL": github.url}
    log = data.with_suffix(".log")
    with (
        log.open("w") as output,
        subprocess.Popen(command, stderr=output, env=environment) as started,
    ):
        try:
            wait_for(lambda: started.poll() is not None or "token=" in log.read_text())
            (address,) = re.findall(r"http://\S+token=\S+", log.read_text())
            yield started, address.replace("127.0.0.1", "localhost"), log
        finally:
            started.terminate()


@pytest.mark.services
@pytest.mark.timeout(300)
def test_five_steps_lead_from_r4p_up_to_a_bot_that_judges_when_asked(tmp_path, github, chromium):
    repo, number = open_issue(github)
    page = chromium.new_context(viewport=PHONE).new_page()
    person, errors = Person(page, github), note_errors(page)
    data = tmp_path / "bot"
    with start_bot(data, github) as (bot, address, log):
        wait_for(lambda: is_answered(address.partition("?")[0]))
        person.open(address)
        name = page.input_value("#name")
        person.press(f"Create {name} on GitHub")
        person.press("Create GitHub App")
        assert "the bot starts now" in person.read()
        files = [data / "settings.json", *(data / "secrets").iterdir()]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        person.press("on your repositories")
        assert page.title() == "Install GitHub App"
        page.click("text=Install")
        person.steps.append("Install")
        assert len(person.steps) == MOST_STEPS
        assert errors == []
        wait_for(lambda: bot.poll() is not None or "r4p: up at" in log.read_text(), 90)
        assert "token" not in page.evaluate("document.referrer")
        repo.comment(number, "/r4p verify", author="mona")
        wait_for(lambda: has_verdict(repo, number), 150)


def open_issue(github):
    """Open an issue with two rivals before the bot comes; return its repository and number."""
    repo = github.create_repository("octo/stats", {"stats.py": BASE})
    github.grant(repo, "mona", "write")
    number = repo.open_issue("mean([]) raises", "It should be 0.0.")
    for divisor in ("max(len(values), 1)", "(len(values) or 1)"):
        repo.open_pr("Fix mean", f"Fixes #{number}.", "hubot", diff=FIX.format(divisor))
    return repo, number


def has_verdict(repo, number):
    return any("<!-- r4p:group" in comment.body for comment in repo.comments(number))


def is_answered(url):
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def site(tmp_path):
    """The setup alone, without a bot behind it."""
    pages = SetupPages(tmp_path / "data")
    with serve_setup_pages(pages) as url:
        yield pages, url.replace("127.0.0.1", "localhost")


@pytest.fixture
def person(site, github, chromium):
    """A person whose browser has given the token."""
    pages, url = site
    visitor = Person(chromium.new_context(viewport=DESK).new_page(), github)
    visitor.open(f"{url}/setup?token={pages.access.token}")
    return visitor


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_step(site, github, chromium, scheme):
    pages, url = site
    context = chromium.new_context(color_scheme=scheme, viewport=PHONE, bypass_csp=True)
    person = Person(context.new_page(), github)
    serious = []

    def look(step):
        serious.extend(list_serious(person.page, step))
        width = person.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, step

    person.open(f"{url}/setup")
    look("token")
    person.page.fill("#token", "wrong")
    person.press("Continue")
    look("wrong token")
    person.page.fill("#token", f"  {pages.access.token} ")
    person.press("Continue")
    look("answers")
    person.answer(organisation="../octo")
    look("wrong answer")
    person.answer(organisation="")
    person.page.click("summary")
    look("create")
    github_page = person.page.url
    person.page.goto(f"{url}/setup/callback?code=1&state=forged")
    look("refused")
    person.page.goto(github_page)
    person.press("Create r4p-bot")
    person.press("Create GitHub App")
    look("done")
    assert serious == []


def test_a_token_serves_one_browser(person, site, chromium):
    pages, url = site
    assert person.page.url == f"{url}/setup"
    stranger = Person(chromium.new_context().new_page(), person.github)
    stranger.open(f"{url}/setup?token={pages.access.token}")
    assert "wrong, spent or older than an hour" in stranger.read()
    stranger.page.fill("#token", pages.access.token)
    stranger.press("Continue")
    assert "restart `r4p up`" in stranger.read()
    person.open(f"{url}/setup?token={pages.access.token}")
    assert "Who judges" in person.read(), "the first browser may open the address again"


def test_the_back_button_keeps_the_answers_and_ends_in_one_app(person, site):
    pages, _ = site
    person.answer(organisation="octo")
    person.page.go_back()
    assert person.page.input_value("#organisation") == "octo"
    person.page.go_forward()
    person.press("Create r4p-bot")
    person.page.go_back()
    person.press("Create r4p-bot")
    person.press("Create GitHub App")
    assert pages.is_done
    assert "the bot starts now" in person.read()


def test_an_older_page_of_github_does_not_count_after_new_answers(person, site):
    pages, _ = site
    person.answer()
    person.press("Create r4p-bot")
    older = person.page.context.new_page()
    newer, person.page = person.page, older
    person.open(site[1] + "/setup")
    person.answer(organisation="octo")
    person.page = newer
    person.press("Create GitHub App")
    assert "belongs to an older form" in person.read()
    person.press("Go to the setup")
    assert person.page.input_value("#organisation") == "octo"
    assert not pages.is_done


def test_a_code_that_github_refuses_leads_back_to_the_form(person, site):
    pages, url = site
    person.answer()
    person.page.goto(f"{url}/setup/callback?code={'c0de' * 8}&state={pages.access.state}")
    assert "create the App again" in person.read()
    person.press("Go to the setup")
    person.press("Continue")
    person.press("Create r4p-bot")
    person.press("Create GitHub App")
    assert pages.is_done


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("http://127.0.0.1:9", "correct its address, or let this machine reach it"),
        ("git.example.com", "give an address, as in https://host"),
        ("https://git example.com", "give an address, as in https://host"),
        ("https://git.example.com/?tab=1", "without spaces, ? and #"),
    ],
    ids=["nobody listens", "no scheme", "a space", "a query"],
)
def test_a_wrong_address_of_github_is_told_before_the_browser_goes_there(person, address, line):
    person.answer(github_url=address, organisation="octo")
    assert line in person.page.inner_text("[role=alert]")
    assert person.page.input_value("#github_url") == address
    assert person.page.input_value("#organisation") == "octo"


def test_a_server_that_is_no_github_is_told(person, site):
    person.answer(github_url=site[1])
    assert "correct its address" in person.page.inner_text("[role=alert]")
