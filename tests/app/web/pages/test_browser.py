"""The pages in a real browser: axe finds nothing serious, and the policy of the page breaks nothing."""

import re

import pytest

from app.db.session import transaction
from app.web.pages import track_record
from app.web.pages.routes import PAGES
from tests.app.web.pages.test_pages import GUID, save_delivery
from tests.browser import DESK, PHONE, list_serious, note_errors
from tests.builders.history import judged_group
from tests.builders.history.trained_models import CANDIDATE, delete_models, save_models

pytestmark = [pytest.mark.services, pytest.mark.proof]
PATHS = (
    "/",
    "/r/octo/cat/issues/3",
    "/r/octo/cat",
    "/r/octo/cat/track-record",
    "/track-record",
    "/help",
    "/deliveries",
    f"/deliveries/{GUID}",
    "/models",
    f"/models/{CANDIDATE}",
    f"/models/promote?model={CANDIDATE}&alias=champion",
    "/models/roll-back?alias=champion",
    "/r/none/such",
)


@pytest.fixture
def full_pages(pages, monkeypatch):
    """The pages with a dead delivery, results of earlier verdicts and trained models, for an operator who may write."""
    monkeypatch.setattr(track_record, "_CACHE", track_record.RecordCache())
    save_delivery(pages)
    with transaction(pages.owner) as connection:
        save_models(connection)
        judged_group.save_results(connection, pages.cat.id)
    pages.github.grant(pages.cat, "ops", "write")
    pages.github.sign_in_as("ops")
    yield pages
    pages.github.grant(pages.cat, "ops", "none")
    with transaction(pages.owner) as connection:
        delete_models(connection)


def test_every_page_is_looked_at():
    shown = {re.sub(r"octo/cat", "{owner}/{name}", path.partition("?")[0]) for path in PATHS}
    shown = {path.replace("issues/3", "issues/{issue}") for path in shown}
    shown = {path.replace(GUID, "{guid}").replace(CANDIDATE, "{name}") for path in shown}
    public = {"/r/{owner}/{name}/track-record"}
    assert shown - public - {"/r/none/such"} == {*PAGES} - {"/deliveries/find"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(full_pages, chromium, scheme):
    context = chromium.new_context(color_scheme=scheme, viewport=DESK, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{full_pages.url}/welcome")
    serious = list_serious(page, "/welcome")
    page.click("text=Sign in with GitHub")
    page.wait_for_url(f"{full_pages.url}/")
    for path in PATHS:
        answer = page.goto(full_pages.url + path)
        assert answer.status == (404 if path == "/r/none/such" else 200), path
        serious += list_serious(page, path)
    assert serious == []


def test_pages_fit_a_phone_and_break_no_policy(full_pages, chromium):
    context = chromium.new_context(viewport=PHONE)
    page = context.new_page()
    problems = note_errors(page)
    page.goto(f"{full_pages.url}/sign-in")
    page.wait_for_url(f"{full_pages.url}/")
    for path in PATHS[:-1]:
        page.goto(full_pages.url + path)
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide <= 0, path
    page.goto(f"{full_pages.url}/r/octo/cat/issues/3")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.click("text=It is right")
    page.wait_for_url("**?noted=1")
    assert problems == []


def test_a_browser_sends_the_forms_of_the_models_page(full_pages, chromium):
    """A browser sends the origin of a form only under the right Referrer-Policy."""
    page = chromium.new_context(viewport=DESK).new_page()
    page.goto(f"{full_pages.url}/sign-in")
    page.wait_for_url(f"{full_pages.url}/")
    page.goto(f"{full_pages.url}/models")
    page.select_option("select[name=alias]", "champion")
    page.click("text=Promote …")
    page.wait_for_url("**/models/promote?**")
    assert "becomes the champion." in page.inner_text("main")
    page.click("button:text-is('Promote')")
    page.wait_for_url("**/models?asked=1")
    assert f"{CANDIDATE} as champion" in page.inner_text("main")
