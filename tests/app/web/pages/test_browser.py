"""The pages in a real browser: axe finds nothing serious, and the policy of the page breaks nothing."""

from pathlib import Path

import pytest
from sqlalchemy import text

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.learning.model_serving import Adapter, ModelState
from tests.browser import DESK, PHONE, list_serious, note_errors

pytestmark = [pytest.mark.services, pytest.mark.proof]
PATHS = (
    "/",
    "/r/octo/cat/issues/3",
    "/r/octo/cat",
    "/r/octo/cat/track-record",
    "/help",
    "/deliveries",
    "/models",
    "/r/none/such",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(pages, chromium, scheme):
    pages.github.grant(pages.cat, "ops", "write")
    pages.github.sign_in_as("ops")
    context = chromium.new_context(color_scheme=scheme, viewport=DESK, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{pages.url}/welcome")
    serious = list_serious(page, "/welcome")
    page.click("text=Sign in with GitHub")
    page.wait_for_url(f"{pages.url}/")
    for path in PATHS:
        page.goto(pages.url + path)
        serious += list_serious(page, path)
    pages.github.grant(pages.cat, "ops", "none")
    assert serious == []


def test_pages_fit_a_phone_and_break_no_policy(pages, chromium):
    pages.github.sign_in_as("mona")
    context = chromium.new_context(viewport=PHONE)
    page = context.new_page()
    problems = note_errors(page)
    page.goto(f"{pages.url}/sign-in")
    page.wait_for_url(f"{pages.url}/")
    for path in PATHS[:5]:
        page.goto(pages.url + path)
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide <= 0, path
    page.goto(f"{pages.url}/r/octo/cat/issues/3")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.click("text=It is right")
    page.wait_for_url("**?noted=1")
    assert problems == []


def test_a_browser_sends_the_forms_of_the_models_page(pages, chromium):
    """A browser sends the origin of a form only under the right Referrer-Policy."""
    with transaction(pages.owner) as connection:
        adapter = Adapter("r4p-20261101-0badcafe", "base", Path("/none"), "0" * 64, "r4p")
        gate = {"outcome": "passed", "measured": {"champion": "base"}}
        new = NewModel(adapter, Path("/"), ModelState.CANDIDATE, "passed every check", gate)
        models.register(connection, new)
    pages.github.sign_in_as("ops")
    page = chromium.new_context(viewport=DESK).new_page()
    page.goto(f"{pages.url}/sign-in")
    page.wait_for_url(f"{pages.url}/")
    page.goto(f"{pages.url}/models")
    page.select_option("select[name=alias]", "champion")
    page.click("text=Promote …")
    page.wait_for_url("**/models/promote?**")
    assert "becomes the champion." in page.inner_text("main")
    page.click("button:text-is('Promote')")
    page.wait_for_url("**/models?asked=1")
    assert "r4p-20261101-0badcafe as champion" in page.inner_text("main")
    with transaction(pages.owner) as connection:
        connection.execute(text("truncate models, model_aliases, shadow_verdicts cascade"))
