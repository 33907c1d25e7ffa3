"""Sign-in by the OAuth web flow, sessions, and what forged requests get."""

import httpx
import pytest

from tests.app.web.pages.browsing import SESSION, read_cookie, read_csrf
from tests.app.web.web_process import serve_web, settings

pytestmark = pytest.mark.services


def test_a_person_signs_in_and_sees_the_worksheet(pages):
    browser = pages.sign_in("mona")
    page = browser.get("/")
    assert page.status_code == 200, page.text
    assert "mona" in page.text
    assert "octo/cat#3" in page.text


def test_cookies_are_encrypted_and_sent_over_https_to_this_host_only(pages):
    session = read_cookie(pages.sign_in("mona"))
    assert session.secure
    assert session.path == "/"
    assert session.has_nonstandard_attr("HttpOnly")
    assert session.get_nonstandard_attr("SameSite") == "lax"
    assert "mona" not in session.value


def test_without_a_session_every_page_asks_to_sign_in(pages):
    browser = pages.open_browser()
    answer = browser.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/welcome?next=/")
    assert "Sign in with GitHub" in browser.get("/welcome").text


def test_a_sign_in_that_another_browser_began_is_refused(pages):
    pages.github.sign_in_as("stranger")
    back = pages.begin(pages.open_browser())
    victim = pages.open_browser()
    victim.get("/sign-in")
    answer = victim.get(back)
    assert answer.status_code == 400
    assert "not begun in this browser" in answer.text


def test_a_code_works_once(pages):
    pages.github.sign_in_as("mona")
    browser, again = pages.open_browser(), pages.open_browser()
    back = pages.begin(browser)
    again.cookies.jar.set_cookie(read_cookie(browser, "__Host-r4p-sign-in"))
    assert browser.get(back).status_code == 303
    assert again.get(back).status_code == 400


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil", "/a b", "/;url=//e"]
)
def test_after_the_sign_in_nobody_is_sent_to_another_site(pages, target):
    pages.github.sign_in_as("mona")
    browser = pages.open_browser()
    assert browser.get(pages.begin(browser, next=target)).headers["location"] == "/"


def test_a_changed_cookie_is_no_session(pages):
    session = read_cookie(pages.sign_in("mona"))
    session.value = session.value[:-8] + "A" * 8
    browser = pages.open_browser()
    browser.cookies.jar.set_cookie(session)
    assert browser.get("/").status_code == 303


def test_signing_out_revokes_the_token_so_a_copied_cookie_is_worthless(pages):
    browser, thief = pages.sign_in("mona"), pages.open_browser()
    thief.cookies.jar.set_cookie(read_cookie(browser))
    assert thief.get("/").status_code == 200
    answer = browser.post("/sign-out", data={"csrf": read_csrf(browser.get("/"))})
    assert answer.status_code == 303
    assert read_cookie(browser, SESSION) is None
    assert thief.get("/").headers["location"] == "/welcome?next=/"


@pytest.mark.parametrize("form", [{}, {"csrf": "x"}, {"csrf": ""}])
def test_a_form_without_the_session_s_token_is_refused(pages, form):
    browser = pages.sign_in("mona")
    answer = browser.post("/sign-out", data=form)
    assert answer.status_code == 403
    assert browser.get("/").status_code == 200


def test_a_form_from_another_site_is_refused(pages):
    browser = pages.sign_in("mona")
    csrf = read_csrf(browser.get("/"))
    answer = browser.post(
        "/sign-out", data={"csrf": csrf}, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403


def test_while_github_is_down_the_page_says_so(pages):
    browser = pages.sign_in("mona")
    pages.github.fault("GET /user/installations", "500")
    try:
        answer = browser.get("/")
    finally:
        pages.github.clear_faults()
    assert answer.status_code == 502
    assert "Your permissions are not known" in answer.text


def test_every_answer_forbids_scripts_frames_and_caches(pages):
    for answer in (pages.sign_in("mona").get("/"), pages.open_browser().get("/welcome")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert "<script" not in answer.text
        assert " style=" not in answer.text


def test_without_oauth_settings_there_are_no_pages(database_url, services, broker):
    with serve_web(settings(database_url, services.redis_url)) as door:
        assert door.get("/").status_code == 404
        assert door.get("/welcome").status_code == 404
        assert door.get("/static/pages.css").status_code == 200


def test_the_stand_in_asks_for_pkce(pages):
    url = f"{pages.github.url}/login/oauth/authorize?client_id={pages.app.client_id}"
    assert httpx.get(url, trust_env=False).status_code == 404
