"""`r4p doctor` on the App at GitHub: its key, permissions and events, its webhooks, and GitHub's own settings."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.github.api.app_reader import AppInstallation, InstalledRepositoryFacts, RegisteredApp
from app.github.api.delivery_log import DeliveryAttempt
from app.github.app_manifest import EVENTS, PERMISSIONS, WEBHOOK_PATH
from app.operator.doctor import app_checks, webhook_checks
from app.operator.doctor.finding import Mark
from app.operator.doctor.report import UNFIT
from app.operator.setup.setup_pages import SetupPages
from tests.app.operator.doctor.test_doctor import doctor, github, run_doctor  # noqa: F401 - fixtures
from tests.app.operator.setup.setup_site import serve_setup_pages
from tests.builders.github.local_github import KEY
from tests.services import free_port, wait_for

NOW = datetime(2026, 11, 23, 15, tzinfo=UTC)
APP = RegisteredApp(7, "r4p", "https://github.com/apps/r4p", PERMISSIONS, EVENTS, NOW)


def test_without_an_app_the_bot_can_not_work():
    code, found = run_doctor()
    assert code == UNFIT
    assert found["App"].startswith("FAIL: R4P_APP_ID: is not set")
    assert found["App"].endswith(
        "run `r4p setup`, or set R4P_APP_ID, R4P_PRIVATE_KEY_PATH and R4P_WEBHOOK_SECRET"
    )


def test_the_app_at_github_is_examined(doctor, github):  # noqa: F811
    standin, app = github
    code, found = doctor(verifier="consensus")
    assert code == 0
    assert found["App"] == f"ok: r4p-bot ({app.app_id}), {standin.url}/apps/r4p-bot"
    assert found["clock"] == "ok: agrees with GitHub's"
    assert found["permissions"] == "ok: all that the bot needs"
    assert found["events"] == "ok: all that the bot needs"
    assert found["installations"].startswith("less: the App is installed nowhere: open ")
    assert found["last webhook"].startswith("less: GitHub sent none in the last day")
    assert standin.violations() == []


def test_repositories_that_no_stranger_may_open_pull_requests_in_are_named(doctor, github):  # noqa: F811
    standin, _ = github
    app = standin.register_app(slug="other")
    repos = [standin.create_repository(f"octo/{name}", {"a": "b"}) for name in ("x", "y", "z")]
    standin.install(app, repos)
    identity = {"app_id": str(app.app_id), "private_key": app.private_key}
    found = doctor(**identity)[1]
    assert found["repositories"] == "ok: 3 with pull requests open to everybody"
    assert found["pull request cap"] == (
        "ok: unknown: a repository may cap a person's open pull requests, and the bot may not read the cap: "
        "look in the repository's settings, under Moderation options, Interaction limits"
    )
    standin.set_pull_rules(repos[0], enabled=False)
    assert "pull requests are switched off: octo/x" in doctor(**identity)[1]["repositories"]
    standin.set_pull_rules(repos[0])
    standin.set_pull_rules(repos[1], policy="collaborators_only")
    found = doctor(**identity)[1]
    assert found["repositories"].startswith(
        "less: only collaborators may open pull requests: octo/y"
    )
    assert found["installations"] == "ok: on octo"
    assert standin.violations() == []


def test_a_key_of_another_app_and_no_key_at_all_fail(doctor):  # noqa: F811
    code, found = doctor(private_key=KEY)
    assert code == UNFIT
    assert "check R4P_APP_ID, the private key and this machine's clock" in found["App key"]
    code, found = doctor(private_key="-----BEGIN RSA PRIVATE KEY-----")
    assert code == UNFIT
    assert "is not an RSA key in PEM form" in found["App key"]


def test_github_that_can_not_be_reached_fails(doctor):  # noqa: F811
    code, found = doctor(github_url="http://127.0.0.1:9")
    assert code == UNFIT
    assert "check R4P_GITHUB_URL" in found["GitHub"]


def test_missing_permissions_and_events_are_named_with_the_page():
    lean = {name: level for name, level in PERMISSIONS.items() if name != "statuses"}
    kinds = [
        (RegisteredApp(7, "r", "u", lean | {"issues": "read"}, EVENTS, None), Mark.FAIL, "issues"),
        (RegisteredApp(7, "r", "u", lean, EVENTS, None), Mark.LESS, "statuses: read missing"),
    ]
    for app, mark, text in kinds:
        line = next(app_checks.describe_registration(app))
        assert (line.mark, text in line.text) == (mark, True)
    deaf = RegisteredApp(7, "r", "u", PERMISSIONS, ("issues",), None)
    assert [line.mark for line in app_checks.describe_registration(deaf)] == [Mark.OK, Mark.FAIL]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "agrees with GitHub's"), (90, "90 s ahead of"), (-90, "90 s behind")],
)
def test_a_wrong_clock_is_told(seconds, text):
    line = app_checks.describe_clock(NOW, NOW + timedelta(seconds=seconds))
    assert text in line.text
    assert (line.mark is Mark.OK) == (seconds == 0)


def test_an_installation_behind_its_app_names_the_page_of_its_owner():
    old = AppInstallation(1, "octo", "https://github.com/i/1", {"issues": "read"}, False)
    assert "octo has not accepted" in app_checks.describe_installations(APP, [old]).text
    paused = AppInstallation(1, "octo", "https://github.com/i/1", PERMISSIONS, True)
    assert app_checks.describe_installations(APP, [paused]).text == "suspended by octo"


def test_an_archived_repository_expects_no_rivals():
    archived = InstalledRepositoryFacts("octo/old", True, False, "all")
    (line,) = app_checks.describe_repositories([archived])
    assert line.mark is Mark.OK


def build_attempt(guid, status, hours_ago):
    made = NOW - timedelta(hours=hours_ago)
    return DeliveryAttempt(1_000 - hours_ago, guid, made, status, False)


def test_webhooks_that_github_saw_refused_are_counted_with_the_fix():
    arrived_later = [build_attempt("a", 202, 1), build_attempt("a", 413, 2)]
    assert (
        webhook_checks.describe_attempts(arrived_later).text
        == "GitHub saw none refused in the last day"
    )
    refused = [
        build_attempt(guid, status, 1) for guid, status in (("a", 413), ("b", 401), ("d", 502))
    ]
    assert webhook_checks.describe_attempts(refused).text == (
        "GitHub saw 2 refused in the last day (401: 1, 413: 1), such as a: "
        "set R4P_WEBHOOK_SECRET to the App's webhook secret; "
        "let the proxy in front of the bot pass bodies of 25 MB; "
        "then redeliver them on the App's page, under Advanced"
    )


def test_the_last_webhook_fails_the_doctor_only_if_none_arrived():
    tried = [build_attempt("b", 0, 1), build_attempt("a", 202, 2)]
    line = webhook_checks.describe_last(tried)
    assert (line.mark, "no answer" in line.message) == (Mark.LESS, True)
    assert webhook_checks.describe_last(tried[:1]).mark is Mark.FAIL
    assert webhook_checks.describe_last(tried[1:]).mark is Mark.OK


def test_a_ping_before_the_first_start_is_no_failure(doctor, github, tmp_path):  # noqa: F811
    """GitHub pings a new App's webhook while the pages of the setup listen there, which have no webhook."""
    standin, _ = github
    with serve_setup_pages(SetupPages(tmp_path)) as url:
        app = standin.register_app(slug="pinged", webhook_url=f"{url}{WEBHOOK_PATH}")
        wait_for(lambda: any(ping.status_code == 404 for ping in standin.deliveries()))
        code, found = doctor(
            app_id=str(app.app_id), private_key=app.private_key, verifier="consensus"
        )
    assert code == 0
    assert found["last webhook"].startswith(
        "less: GitHub sent none but a ping, which did not arrive (status 404): start the bot; then check"
    )
    assert found["webhooks"] == "ok: GitHub saw none refused in the last day"


class _Door(BaseHTTPRequestHandler):
    """Takes every webhook."""

    def do_POST(self):
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing on standard error."""


def test_the_doctor_lets_github_ping_a_new_bot_again(doctor, github):  # noqa: F811
    standin, _ = github
    port = free_port()
    app = standin.register_app(slug="late", webhook_url=f"http://127.0.0.1:{port}{WEBHOOK_PATH}")
    standin.drain()  # nobody listens there yet
    with ThreadingHTTPServer(("127.0.0.1", port), _Door) as door:
        threading.Thread(target=door.serve_forever, daemon=True).start()
        identity = {"app_id": str(app.app_id), "private_key": app.private_key}
        code, found = doctor(**identity, verifier="consensus")
        door.shutdown()
    assert code == 0
    assert found["last webhook"] == (
        "ok: GitHub sent none in the last day but a ping, which arrived"
    )


def test_a_ping_says_nothing_about_the_last_event():
    ping = replace(build_attempt("p", 404, 0), is_ping=True)
    tried = [ping, build_attempt("a", 202, 1)]
    assert webhook_checks.describe_last(tried).mark is Mark.OK
    arrived = replace(ping, status_code=202)
    assert webhook_checks.describe_last([arrived, build_attempt("a", 401, 1)]).mark is Mark.FAIL


ADDRESSES = {
    "local": ({}, "http://127.0.0.1:8000/api/github/webhooks, behind your TLS proxy"),
    "public": (
        {"public_url": "https://r4p.example.com/"},
        "https://r4p.example.com/api/github/webhooks, which your TLS proxy passes to http://127.0.0.1:8000",
    ),
    "polling": (
        {"ingress": "polling", "poll_seconds": "45", "public_url": "https://r4p.example.com"},
        "not needed: the bot asks GitHub every 45 s",
    ),
}


@pytest.mark.parametrize(("settings", "text"), ADDRESSES.values(), ids=ADDRESSES)
def test_the_webhook_address_is_the_one_that_github_uses(settings, text, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(f"R4P_{name.upper()}", value)
    assert webhook_checks.describe_address("http://127.0.0.1:8000") == text
