"""The form of the group page records an opinion, and comes back with what was written when it has a mistake."""

import pytest
from sqlalchemy import text

from tests.app.web.pages.browsing import read_csrf
from tests.app.web.pages.test_pages import ISSUE, list_jobs

pytestmark = pytest.mark.services


def test_an_opinion_becomes_one_job(pages, caplog):
    caplog.set_level("INFO")
    browser = pages.sign_in("mona")
    form = {"csrf": read_csrf(browser.get(ISSUE)), "about": "#15", "answer": "disagree"}
    page = browser.post(f"{ISSUE}/opinion", data=form | {"reason": " "})
    assert page.status_code == 422
    assert '<option value="#15" selected>' in page.text
    answer = browser.post(f"{ISSUE}/opinion", data=form | {"reason": "it  is\nright"})
    assert answer.status_code == 303
    assert "on its way" in browser.get(answer.headers["location"]).text
    assert "a form stored a job in the queue github" in caplog.text
    (job,) = list_jobs(pages, "record_opinion")
    assert (job["about"], job["is_right"], job["reason"]) == ("#15", False, "it is right")
    assert (job["login"], job["repository"], job["issue"]) == ("mona", pages.cat.id, 3)


@pytest.mark.parametrize(
    ("config", "error", "why"),
    [
        (None, None, "Say why the verdict is wrong."),
        ("version: 1\ntraining: off\n", None, "Say why the verdict is wrong."),
        ("version: 1\ntraining: on\n", "line 1", "Say why the verdict is wrong."),
        (
            "version: 1\ntraining: calibrate\n",
            None,
            "Say why the verdict is wrong, because the bot learns from it.",
        ),
    ],
    ids=["no file", "off", "unreadable", "calibrate"],
)
def test_the_bot_says_that_it_learns_only_where_it_does(pages, config, error, why):
    with pages.owner.begin() as connection:
        connection.execute(
            text(
                "update repositories set config_text = :file, config_error = :error where id = :id"
            ),
            {"file": config, "error": error, "id": pages.cat.id},
        )
    browser = pages.sign_in("mona")
    form = {"csrf": read_csrf(browser.get(ISSUE)), "about": "", "answer": "disagree"}
    answer = browser.post(f"{ISSUE}/opinion", data=form | {"reason": " "})
    assert answer.status_code == 422
    assert why in answer.text
    assert list_jobs(pages, "record_opinion") == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [({"answer": "maybe"}, "Choose whether"), ({"about": "#99"}, "no such patch")],
)
def test_an_opinion_with_a_mistake_comes_back_with_its_reason(pages, wrong, problem):
    browser = pages.sign_in("mona")
    form = {"csrf": read_csrf(browser.get(ISSUE)), "about": "", "answer": "disagree"}
    page = browser.post(f"{ISSUE}/opinion", data=form | {"reason": 'it "fails"'} | wrong)
    assert page.status_code == 422
    assert problem in page.text
    assert 'value="it &#34;fails&#34;"' in page.text


@pytest.mark.parametrize(("login", "status"), [("reader", 403), ("stranger", 404), ("ops", 404)])
def test_an_opinion_needs_write_access(pages, login, status):
    browser = pages.sign_in(login)
    page = browser.get(ISSUE if login == "reader" else "/")
    assert "It is right" not in page.text
    form = {"csrf": read_csrf(page), "about": "", "answer": "agree"}
    assert browser.post(f"{ISSUE}/opinion", data=form).status_code == status
    assert list_jobs(pages, "record_opinion") == []
