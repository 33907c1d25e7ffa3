"""Operators promote and roll back on the Models page; the page only stores a job for the worker `train`."""

import re
from pathlib import Path

import pytest
from sqlalchemy import select, text

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.db.tables.schema import jobs as job_table
from app.learning.model_serving import Adapter, Alias, ModelState
from tests.app.web.pages.browsing import read_csrf

pytestmark = pytest.mark.services

OLD, NEW, GOOD, FAILED, STALE = (f"r4p-2026110{day}-0badcafe" for day in range(1, 6))
PROMOTE = {"model": GOOD, "alias": "champion"}


@pytest.fixture(autouse=True)
def save_models(pages):
    """Two champions, one after the other, and three candidates: passed beside the second, failed, beside the first."""
    with transaction(pages.owner) as connection:
        connection.execute(text("truncate models, model_aliases, shadow_verdicts cascade"))
        for number, name in enumerate((OLD, NEW, GOOD, FAILED, STALE)):
            adapter = Adapter(name, "base", Path("/nowhere"), str(number) * 64, "r4p")
            beside = OLD if name == STALE else NEW
            passed = {"outcome": "passed", "measured": {"champion": beside}}
            gate = {"outcome": "failed", "why": "worse"} if name == FAILED else passed
            models.register(
                connection, NewModel(adapter, Path("/"), ModelState.CANDIDATE, "", gate)
            )
        for name in (OLD, NEW):
            models.promote(connection, name, Alias.CHAMPION, "for these tests")
    yield
    with transaction(pages.owner) as connection:
        connection.execute(text("truncate models, model_aliases, shadow_verdicts cascade"))


def list_requests(pages):
    with pages.owner.connect() as connection:
        rows = connection.execute(
            select(job_table).where(job_table.c.kind == "change_model").order_by(job_table.c.id)
        )
        return [
            (row.queue, {key: row.payload[key] for key in ("login", "alias", "model", "holder")})
            for row in rows
        ]


def confirm(browser, path, **query):
    """Open the page that says what will change, and return the fields of its form."""
    page = browser.get(path, params=query)
    assert page.status_code == 200, page.text
    return page.text, {
        "csrf": read_csrf(page),
        "alias": query["alias"],
        "model": query.get("model", ""),
        "holder": NEW if query["alias"] == "champion" else "",
    }


def test_the_page_offers_what_the_gate_allows_and_names_the_rest(pages):
    page = pages.sign_in("ops").get("/models").text
    assert f'aria-label="Promote {GOOD}"' in page
    assert f'aria-label="Roll back {NEW}"' in page
    assert f'aria-label="Promote {FAILED}"' not in page
    assert f"{FAILED} did not pass the gate (failed: worse)" in page


def list_roles(page, name):
    """The roles that the form of a model offers; none without a form."""
    form = re.search(rf'name="model" value="{name}">(.*?)</form>', page)
    return re.findall(r"<option>(\w+)</option>", form[1]) if form else []


def test_the_page_offers_each_model_just_the_roles_that_it_can_get(pages):
    with transaction(pages.owner) as connection:
        models.promote(connection, OLD, Alias.CANARY, "for this test", 0.1)
    browser = pages.sign_in("ops")
    page = browser.get("/models").text
    offered = {name: list_roles(page, name) for name in (OLD, NEW, GOOD, FAILED, STALE)}
    assert offered == {
        OLD: ["champion", "shadow"],
        NEW: [],
        GOOD: ["canary", "champion", "shadow"],
        FAILED: [],
        STALE: ["shadow"],
    }
    assert f"Only shadow: {STALE} was compared with {OLD}, and {NEW} judges now" in page
    for name, roles in offered.items():
        for alias in {*Alias} - {"canary" if name == OLD else ""}:
            query = {"model": name, "alias": alias.value}
            answer = browser.get("/models/promote", params=query)
            assert (answer.status_code == 200) == (alias.value in roles), query


def test_a_model_compared_with_an_older_champion_becomes_shadow(pages):
    browser = pages.sign_in("ops")
    shown, form = confirm(browser, "/models/promote", model=STALE, alias="shadow")
    assert f"{STALE} becomes the shadow." in shown
    assert browser.post("/models/change", data=form).status_code == 303
    assert list_requests(pages)[0][1]["alias"] == "shadow"


def test_a_promotion_is_confirmed_and_stored_for_the_worker(pages):
    browser = pages.sign_in("ops")
    shown, form = confirm(browser, "/models/promote", **PROMOTE)
    assert f"{GOOD} then judges instead of {NEW}." in shown
    assert list_requests(pages) == []
    answer = browser.post("/models/change", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/models?asked=1")
    wanted = {"login": "ops", "alias": "champion", "model": GOOD, "holder": NEW}
    assert list_requests(pages) == [("train", wanted)]
    page = browser.get("/models?asked=1").text
    assert "Your request is stored." in page
    assert f"<td>ops</td><td>{GOOD} as champion</td><td>ready</td>" in page


def test_a_rollback_names_the_champion_that_comes_back(pages):
    browser = pages.sign_in("ops")
    shown, form = confirm(browser, "/models/roll-back", alias="champion")
    assert f"{NEW} is rejected for good and loses the role champion." in shown
    assert f"{OLD} judges again." in shown
    assert browser.post("/models/change", data=form).status_code == 303
    assert list_requests(pages)[0][1]["model"] == ""
    assert "roll the champion back" in browser.get("/models").text


@pytest.mark.parametrize(
    ("path", "query", "why"),
    [
        ("promote", {"model": FAILED, "alias": "canary"}, "did not pass the gate"),
        ("promote", {"model": OLD, "alias": "nobody"}, "Choose a role"),
        ("promote", {"model": "r4p-none", "alias": "canary"}, "no trained model is called"),
        ("roll-back", {"alias": "canary"}, "No model is the canary"),
    ],
    ids=["gate failed", "no such role", "no such model", "no canary"],
)
def test_what_cannot_be_changed_is_refused_in_one_line(pages, path, query, why):
    answer = pages.sign_in("ops").get(f"/models/{path}", params=query)
    assert answer.status_code == 403
    assert why in answer.text


def test_a_form_is_refused_when_somebody_was_faster(pages):
    browser = pages.sign_in("ops")
    _, form = confirm(browser, "/models/promote", **PROMOTE)
    with transaction(pages.owner) as connection:
        models.withdraw(connection, Alias.CHAMPION, "by somebody else")
    answer = browser.post("/models/change", data=form)
    assert answer.status_code == 403
    assert f"the champion was {NEW}, and {OLD} is it now; look again" in answer.text
    assert list_requests(pages) == []


def test_only_operators_see_the_forms_and_only_their_own_token_counts(pages):
    _, form = confirm(pages.sign_in("ops"), "/models/promote", **PROMOTE)
    other = pages.sign_in("mona")
    own = form | {"csrf": read_csrf(other.get("/"))}
    assert other.get("/models/promote", params=PROMOTE).status_code == 404
    assert other.get("/models/roll-back", params={"alias": "champion"}).status_code == 404
    assert other.post("/models/change", data=own).status_code == 404
    assert pages.sign_in("ops").post("/models/change", data=form).status_code == 403
    assert list_requests(pages) == []


def test_a_form_of_another_site_is_refused(pages):
    browser = pages.sign_in("ops")
    _, form = confirm(browser, "/models/promote", **PROMOTE)
    headers = {"Origin": "https://evil.example"}
    assert browser.post("/models/change", data=form, headers=headers).status_code == 403
    assert list_requests(pages) == []


@pytest.mark.parametrize(("minutes", "is_late"), [(4, False), (6, True)])
def test_a_request_that_no_worker_takes_shows_how_to_start_one(pages, minutes, is_late):
    browser = pages.sign_in("ops")
    _, form = confirm(browser, "/models/promote", **PROMOTE)
    browser.post("/models/change", data=form)
    with transaction(pages.owner) as connection:
        change = text("update jobs set created_at = now() - :age * interval '1 minute'")
        connection.execute(change, {"age": minutes})
    page = browser.get("/models").text
    assert ("No worker <code>train</code> took it" in page) is is_late
