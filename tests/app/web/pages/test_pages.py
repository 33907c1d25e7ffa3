"""Each page shows its facts, to people who may read the repository, and to nobody else."""

import re

import pytest
from sqlalchemy import select, text

from app.db.store.queue import jobs
from app.db.store.queue.deliveries import Delivery, store_rebuilt
from app.db.store.queue.installation_controls import set_limits
from app.db.tables.schema import jobs as job_table
from app.jobs.job import Planned, RecordEvent
from app.policy.command_registry import REGISTRY, describe_access
from app.settings import CeilingSettings
from app.web.pages.routes import ACTIONS, OPEN, PAGES
from model.domain import Verdict
from tests.app.web.pages.browsing import read_csrf
from tests.builders.history import judged_group

pytestmark = pytest.mark.services
GUID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
OF_CAT = (
    "/r/octo/cat",
    "/r/octo/cat/issues/3",
    "/r/octo/cat/track-record",
    "/?repository=octo/cat",
)
OF_OPERATORS = ("/deliveries", f"/deliveries/{GUID}", "/models")
ISSUE = "/r/octo/cat/issues/3"


def save_delivery(pages):
    """A delivery whose job gave up; returns the job's id."""
    with pages.owner.begin() as connection:
        store_rebuilt(connection, Delivery(GUID, "issues", 5, pages.cat.id, b"{}"))
        (stored,) = jobs.enqueue(connection, [Planned(RecordEvent(5, GUID))])
        connection.execute(
            text("update jobs set state = 'dead', error = 'no <b>luck</b>', delivery_guid = :guid"),
            {"guid": GUID},
        )
    return stored.id


def list_jobs(pages, kind):
    with pages.owner.begin() as connection:
        rows = connection.execute(
            select(job_table).where(job_table.c.kind == kind).order_by(job_table.c.id)
        ).all()
    return [row.payload for row in rows]


def test_the_queue_names_jobs_that_wait_run_and_gave_up(pages):
    save_delivery(pages)
    with pages.owner.begin() as connection:
        for state in ("ready", "running"):
            (stored,) = jobs.enqueue(connection, [Planned(RecordEvent(5, GUID[:-1] + state[1]))])
            if state == "running":
                connection.execute(
                    text(
                        "update jobs set state = 'running', attempt = 1, claimed_at = now() where id = :id"
                    ),
                    {"id": stored.id},
                )
    page = pages.sign_in("ops").get("/deliveries")
    assert page.status_code == 200
    rows = re.findall(
        r"<td>(ready|running|dead)</td><td class=.number.>(\d+)</td><td class=.number.>([^<]*)<",
        page.text,
    )
    assert {state: (int(number), bool(wait)) for state, number, wait in rows} == {
        "ready": (1, True),
        "running": (1, False),
        "dead": (1, False),
    }


@pytest.mark.parametrize("path", OF_CAT)
def test_a_page_of_a_repository_is_for_people_who_can_read_it(pages, path):
    assert pages.sign_in("reader").get(path).status_code == 200
    for login in ("stranger", "ops", "nobody"):
        answer = pages.sign_in(login).get(path)
        assert answer.status_code == 404, login
        assert "cat" not in answer.text
    assert pages.open_browser().get(path).status_code == 303


def test_a_page_that_may_not_be_seen_looks_like_one_that_does_not_exist(pages):
    browser = pages.sign_in("stranger")
    hidden, absent = browser.get(ISSUE), browser.get("/r/octo/none/issues/3")
    assert (hidden.status_code, hidden.text) == (absent.status_code, absent.text)


def test_lists_hold_nothing_of_another_installation(pages):
    browser = pages.sign_in("mona")
    for path in ("/", "/track-record", "/help"):
        page = browser.get(path)
        assert page.status_code == 200
        assert "rival/dog" not in page.text
        assert "stranger" not in page.text


@pytest.mark.parametrize("path", OF_OPERATORS)
def test_pages_of_operators_do_not_exist_for_others(pages, path):
    save_delivery(pages)
    assert pages.sign_in("mona").get(path).status_code == 404
    assert pages.sign_in("ops").get(path).status_code == 200


def test_every_route_is_tested():
    """A new page needs a line in a list above, so that it is tried with two installations."""
    assert {*OPEN} == {"/welcome", "/sign-in", "/sign-in/callback", "/r/{owner}/{name}/badge.svg"}
    assert {*PAGES} == {
        "/",
        "/help",
        "/track-record",
        "/r/{owner}/{name}",
        "/r/{owner}/{name}/issues/{issue}",
        "/deliveries",
        "/deliveries/find",
        "/deliveries/{guid}",
        "/models",
        "/models/promote",
        "/models/roll-back",
        "/models/{name}",
    }
    assert {*ACTIONS} == {
        "/sign-out",
        "/r/{owner}/{name}/issues/{issue}/opinion",
        "/jobs/{job}/retry",
        "/models/change",
    }


def test_the_help_names_who_may_use_a_command_as_the_registry_does(pages):
    page = pages.sign_in("mona").get("/help").text
    for entry in REGISTRY.values():
        assert f"<td>{describe_access(entry.needs)}</td><td><code>{entry.example}</code>" in page


def test_the_worksheet_shows_verdicts_and_usage(pages):
    page = pages.sign_in("mona").get("/").text
    for shown in ("octo/cat#3", "#12", "Correct", "93 % likely correct", "hubot"):
        assert shown in page
    assert re.findall(r'<td class="number">([\d,]+)</td>', page) == [
        "1",
        f"{CeilingSettings().max_evaluations_per_repository_day:,}",
        "8,800",
        f"{CeilingSettings().max_tokens_per_repository_day:,}",
    ]


def test_the_worksheet_shows_the_limits_that_an_installation_has_of_its_own(pages):
    with pages.owner.begin() as connection:
        installation = connection.scalar(
            text("select installation_id from repositories where id = :id"), {"id": pages.cat.id}
        )
        set_limits(connection, installation, {"max_evaluations_per_repository_day": 7})
    page = pages.sign_in("mona").get("/").text
    assert '<td class="number">7</td>' in page


def test_the_group_shows_patches_votes_and_evidence(pages):
    page = pages.sign_in("mona").get(ISSUE).text
    for shown in (
        "2 of 812",
        "test_max_length",
        "3 of 3 correct",
        "shop/cart.py",
        "prices = ",
        "qwen-32b",
    ):
        assert shown in page
    assert '<span class="word">return</span>' in page
    assert page.count('<th scope="row">4') == 1


def test_an_unknown_issue_is_missing(pages):
    browser = pages.sign_in("mona")
    for number in ("4", "99999999999999999999", "x"):
        assert browser.get(f"/r/octo/cat/issues/{number}").status_code == 404


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> \u202egnp.evil"


def test_text_of_strangers_is_escaped_everywhere(pages):
    diff = judged_group.diff_of(f"return '{HOSTILE}'", "a/<b>x</b>.py")
    rivals = {12: (HOSTILE[:30], Verdict.CORRECT, 0.9, diff), 13: ("b", Verdict.UNSURE, 0.5, diff)}
    with pages.owner.begin() as connection:
        judged_group.save_group(connection, pages.cat.id, 8, HOSTILE, rivals)
    browser = pages.sign_in("mona")
    for path in ("/", "/r/octo/cat/issues/8"):
        page = browser.get(path).text
        for raw in ("<script", "<img", "<b>x", "\u202e"):
            assert raw not in page
        assert "&lt;script&gt;" in page


def test_an_operator_retries_a_dead_job(pages, caplog):
    caplog.set_level("INFO")
    job = save_delivery(pages)
    page = (browser := pages.sign_in("ops")).get("/deliveries")
    assert "no &lt;b&gt;luck" in page.text
    form = {"csrf": read_csrf(page)}
    assert pages.sign_in("mona").post(f"/jobs/{job}/retry", data=form).status_code == 403
    other = pages.sign_in("mona")
    own = {"csrf": read_csrf(other.get("/"))}
    assert other.post(f"/jobs/{job}/retry", data=own).status_code == 404
    assert browser.post(f"/jobs/{job}/retry", data=form).status_code == 303
    assert "ops made a dead job ready again" in caplog.text
    assert browser.post(f"/jobs/{job}/retry", data=form).status_code == 403


def test_a_delivery_is_searched_by_its_guid(pages):
    save_delivery(pages)
    browser = pages.sign_in("ops")
    answer = browser.get("/deliveries/find", params={"guid": f" {GUID} "})
    assert answer.headers["location"] == f"/deliveries/{GUID}"
    assert "record_event" in browser.get(answer.headers["location"]).text
    assert browser.get("/deliveries/find", params={"guid": "//evil"}).status_code == 404


def test_a_repository_names_the_origin_of_each_setting(pages):
    with pages.owner.begin() as connection:
        connection.execute(
            text(
                "update repositories set config_text = :own, default_text = :shared where id = :id"
            ),
            {
                "own": "version: 1\nmode: advisory\nvotes: 32\n",
                "shared": "version: 1\nmode: enforce\nquiet_minutes: 7\n",
                "id": pages.cat.id,
            },
        )
    page = pages.sign_in("mona").get("/r/octo/cat").text
    assert "<code>mode</code></th><td>advisory</td><td>this repository</td>" in page
    assert "<code>quiet_minutes</code></th><td>7</td><td>organisation default</td>" in page
    assert "<code>comments</code></th><td>outcomes</td><td>bot&#39;s default</td>" in page
    assert "<code>version</code>" not in page
    assert "1,000" in page
