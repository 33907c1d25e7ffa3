"""The page `/setup` beside a stand-in for GitHub: from the token to the stored App, and who is kept out."""

import html
import json
import re
import socket
import stat
from urllib.parse import parse_qs, urlsplit

import pytest

from app.operator.setup.setup_pages import MAX_BODY_BYTES, SetupPages
from app.web.form_reader import MAX_FIELDS
from tests.app.operator.setup.setup_site import browse
from tests.model.chat_server import MODELS, build_completion, serve_chat


def test_from_the_token_to_a_stored_app(wizard):
    assert "Token" in wizard.browser.get("/").text
    assert "Who judges" in wizard.sign_in().text
    page = wizard.answer(public_url="https://r4p.example.com")
    location = wizard.create_app(page)
    assert location.startswith(f"{wizard.browser.base_url}/setup/callback?code=")
    done = wizard.browser.get(location)
    assert done.status_code == 200
    assert "/apps/r4p-bot-1/installations/new" in done.text
    assert wizard.pages.is_done
    data = wizard.pages.data
    settings = json.loads((data / "settings.json").read_text())["settings"]
    assert settings["R4P_BOT_NAME"] == "r4p-bot-1"
    assert settings["R4P_GITHUB_URL"] == wizard.github.url
    assert settings["R4P_OPERATORS"] == "app-owner"
    files = sorted((data / "secrets").iterdir())
    assert [file.name for file in files] == ["client-secret", "private-key.pem", "webhook-secret"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert "PRIVATE KEY" in (data / "secrets" / "private-key.pem").read_text()
    secret = (data / "secrets" / "webhook-secret").read_text()
    assert secret
    assert secret not in done.text
    assert wizard.github.violations() == []


def test_a_person_may_take_the_usual_answers(wizard, monkeypatch):
    monkeypatch.setenv("R4P_GITHUB_URL", wizard.github.url)
    wizard.pages.default_answers = SetupPages(wizard.pages.data).default_answers
    page = wizard.sign_in()
    assert "form-action 'self' " + wizard.github.url in page.headers["Content-Security-Policy"]
    assert wizard.browser.get(wizard.create_app(page)).status_code == 200
    settings = json.loads((wizard.pages.data / "settings.json").read_text())["settings"]
    assert settings["R4P_INGRESS"] == "polling"
    assert settings["R4P_PUBLIC_URL"] == str(wizard.browser.base_url)
    assert "R4P_OAUTH_CLIENT_ID" in settings
    assert "R4P_ENGINE" not in settings
    assert settings["R4P_BOT_NAME"] == wizard.pages.default_answers.name


def test_after_answers_of_their_own_a_person_sees_only_these(wizard):
    wizard.sign_in()
    wizard.answer(name="r4p-bot-7", organisation="octo")
    page = wizard.browser.get("/setup").text
    assert "usual answers" not in page
    assert 'value="r4p-bot-7"' in page


def test_a_browser_on_another_machine_gets_no_pages_without_a_public_address(wizard):
    wizard.browser.headers["Host"] = "bot.example.com:8000"
    wizard.sign_in()
    page = wizard.answer()
    assert "sign-in/callback" not in page.text
    callback = urlsplit(wizard.create_app(page))
    assert callback.netloc == "bot.example.com:8000"
    done = wizard.browser.get(f"{callback.path}?{callback.query}")
    assert "The bot's pages" not in done.text
    settings = json.loads((wizard.pages.data / "settings.json").read_text())["settings"]
    assert not settings.keys() & {"R4P_PUBLIC_URL", "R4P_OAUTH_CLIENT_ID"}


def test_an_app_of_an_organisation_makes_nobody_an_operator(wizard):
    wizard.sign_in()
    page = wizard.answer(public_url="https://r4p.example.com", organisation="acme")
    assert wizard.browser.get(wizard.create_app(page)).status_code == 200
    settings = json.loads((wizard.pages.data / "settings.json").read_text())["settings"]
    assert "R4P_OAUTH_CLIENT_ID" in settings
    assert "R4P_OPERATORS" not in settings


def test_without_the_token_nothing_is_reached(wizard):
    assert wizard.browser.post("/setup/token", data={"token": "wrong"}).status_code == 403
    assert wizard.answer().status_code == 403
    refused = wizard.browser.get("/setup/callback?code=x&state=y")
    assert refused.status_code == 403
    assert "If you have just created an App on GitHub, delete it there first." in refused.text
    assert "Who judges" not in wizard.browser.get("/setup").text


def test_the_token_works_in_one_browser_only(wizard):
    wizard.sign_in()
    with browse(wizard.pages) as other:
        assert (
            other.post("/setup/token", data={"token": wizard.pages.access.token}).status_code == 403
        )
        assert other.post("/setup/app", data={"csrf": wizard.pages.access.csrf}).status_code == 403


def test_head_spends_neither_the_token_nor_githubs_code(wizard):
    token = {"token": wizard.pages.access.token}
    assert wizard.browser.head("/setup", params=token).status_code == 405
    assert wizard.browser.get("/setup", params=token).status_code == 200
    location = wizard.create_app(wizard.answer())
    assert wizard.browser.head(location).status_code == 405
    assert not wizard.pages.is_done
    assert wizard.browser.get(location).status_code == 200


def test_a_token_that_is_sent_twice_leads_to_the_form_again(wizard):
    wizard.sign_in()
    assert "Who judges" in wizard.sign_in().text


def test_after_bad_answers_no_app_is_offered(wizard):
    wizard.sign_in()
    location = wizard.create_app(wizard.answer(public_url="https://r4p.example.com"))
    assert wizard.answer(github_url="no address").status_code == 422
    page = wizard.browser.get("/setup/app")
    assert page.url.path == "/setup"
    assert 'name="manifest"' not in page.text
    late = wizard.browser.get(location)
    assert late.status_code == 403
    assert "belongs to an older form" in late.text


@pytest.mark.parametrize(
    ("public_url", "host", "callback"),
    [
        ("https://Bot.Example.com", "bot.example.com", "https://Bot.Example.com"),
        ("https://bot.example.com:443", "bot.example.com", "https://bot.example.com:443"),
        ("https://bot.example.com", "BOT.example.com:443", "https://bot.example.com"),
        ("https://bot.example.com:8443", "bot.example.com", "http://bot.example.com"),
        ("https://bot.example.com", "10.0.0.7:8000", "http://10.0.0.7:8000"),
    ],
)
def test_github_leads_back_to_the_address_that_the_browser_knows(
    wizard, public_url, host, callback
):
    wizard.sign_in()
    wizard.answer(public_url=public_url)
    page = wizard.browser.get("/setup/app", headers={"Host": host})
    manifest = html.unescape(re.search(r'name="manifest" value="([^"]+)"', page.text)[1])
    assert json.loads(manifest)["redirect_url"] == f"{callback}/setup/callback"


def test_a_form_of_another_page_and_a_foreign_state_are_refused(wizard):
    wizard.sign_in()
    assert wizard.answer(csrf="forged").status_code == 403
    location = wizard.create_app(wizard.answer())
    code = parse_qs(urlsplit(location).query)["code"][0]
    forged = wizard.browser.get(f"/setup/callback?code={code}&state=forged")
    assert forged.status_code == 403
    assert "says that the name is taken, delete that App there" in forged.text
    assert not wizard.pages.data.exists()
    assert wizard.browser.get(location).status_code == 200, "a forged state stops nobody"
    assert wizard.browser.get(location).status_code == 403, "a state counts once"


def test_a_code_that_github_does_not_know_is_one_sentence_without_the_code(wizard):
    wizard.sign_in()
    location = wizard.create_app(wizard.answer())
    query = parse_qs(urlsplit(location).query)
    answer = wizard.browser.get(
        "/setup/callback", params={"code": "c0de" * 8, "state": query["state"][0]}
    )
    assert answer.status_code == 502
    assert "create the App again" in answer.text
    assert "c0de" not in answer.text


def test_a_model_server_is_probed_and_named(wizard):
    wizard.sign_in()
    with serve_chat(models=[MODELS], chat=[build_completion("yes")]) as server:
        page = wizard.answer(model_kind="server", engine_url=server.url, api_key="sk-never-shown")
    assert page.status_code == 200
    assert "Model: <code>r4p</code>" in page.text
    assert "never-shown" not in page.text


def test_a_dead_model_server_is_told_and_the_answers_stay_but_not_the_key(wizard):
    wizard.sign_in()
    page = wizard.answer(
        model_kind="server", engine_url="http://127.0.0.1:9/v1", api_key="sk-never-shown"
    )
    assert page.status_code == 422
    assert "start it, or correct its address, model or key" in page.text
    assert 'value="http://127.0.0.1:9/v1"' in page.text
    assert "never-shown" not in page.text


def test_text_of_a_form_is_shown_as_text(wizard):
    wizard.sign_in()
    page = wizard.answer(organisation='"><script>alert(1)</script>')
    assert page.status_code == 422
    assert "<script>" not in page.text


def test_pages_allow_no_script_and_forms_only_to_the_chosen_github(wizard):
    wizard.sign_in()
    policy = wizard.answer().headers["content-security-policy"]
    assert f"form-action 'self' {wizard.github.url}" in policy
    assert "unsafe" not in policy
    cookie = wizard.browser.post("/setup/token", data={"token": "x"}).headers
    assert cookie["referrer-policy"] == "same-origin"


def test_a_huge_form_is_refused(wizard):
    wizard.sign_in()
    body = b"name=" + b"x" * MAX_BODY_BYTES
    assert wizard.browser.post("/setup/app", content=body).status_code == 413


def test_a_tab_that_closes_while_it_sends_a_form_is_no_error_of_ours(tmp_path, capfd):
    with browse(SetupPages(tmp_path)) as browser:
        address = (browser.base_url.host, browser.base_url.port)
        with socket.create_connection(address) as tab:
            tab.sendall(
                b"POST /setup/token HTTP/1.1\r\nHost: r4p\r\nContent-Length: 9\r\n\r\ntoken"
            )
        assert browser.get("/setup").status_code == 200
    assert capfd.readouterr().err == ""


def test_a_form_of_too_many_fields_is_refused_before_the_token(wizard):
    answer = wizard.browser.post("/setup/token", content="&".join(["a=1"] * (MAX_FIELDS + 1)))
    assert answer.status_code == 400
    assert f"The form has more than {MAX_FIELDS} fields" in answer.text


WRONG = {
    "a key outside ASCII": ({"api_key": "sk-n\u00e9ver"}, "a character outside ASCII"),
    "a host without labels": ({"engine_url": "http://..:1/v1"}, "http://..:1/v1"),
    "a host that no one can decode": ({"engine_url": "http://xn--a:1/v1"}, "http://xn--a:1/v1"),
    "a port above the last": ({"github_url": "https://h:99999"}, "a port from 1 to 65535"),
}


@pytest.mark.parametrize(("wrong", "text"), WRONG.values(), ids=WRONG)
def test_an_answer_that_no_request_can_carry_is_one_line(wizard, wrong, text):
    wizard.sign_in()
    server = {"model_kind": "server", "engine_url": "http://127.0.0.1:9/v1"}
    page = wizard.answer(**server | wrong)
    assert page.status_code == 422
    (problem,) = re.findall(r'role="alert">([^<]+)<', page.text)
    assert text in html.unescape(problem)
    assert "ver" not in problem.replace("server", "")


def test_a_form_that_is_no_text_is_refused(wizard):
    answer = wizard.browser.post("/setup/token", content=b"token=\xff")
    assert answer.status_code == 400
    assert "The form is no UTF-8 text" in answer.text
