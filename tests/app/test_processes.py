"""Each process is told only the secrets its work needs."""

import pytest

from app.processes import FIT, SECRETS, WRITER, all_processes, become_worker
from app.settings import SettingsError

GIVEN = dict.fromkeys(SECRETS, "value") | {"R4P_DATABASE_URL": "postgresql://"}


@pytest.mark.parametrize(
    ("name", "secrets"),
    [
        ("web", {"R4P_WEBHOOK_SECRET"}),
        ("github", {"R4P_PRIVATE_KEY", "R4P_PRIVATE_KEY_PATH"}),
        ("verify", {"R4P_ENGINE_API_KEY"}),
        ("agents", {"R4P_ENGINE_API_KEY"}),
        ("beat", set()),
        ("writer", {"R4P_WRITER_PRIVATE_KEY", "R4P_WRITER_PRIVATE_KEY_PATH"}),
    ],
)
def test_a_process_sees_its_own_secrets_and_no_others(name, secrets):
    (process,) = [one for one in (*all_processes("127.0.0.1", 8000), WRITER) if one.name == name]
    environment = process.environment(GIVEN)
    assert SECRETS & environment.keys() == secrets
    assert environment["R4P_DATABASE_URL"] == "postgresql://"


def test_a_worker_that_judges_refuses_an_unknown_verifier_at_once(monkeypatch):
    monkeypatch.setenv("R4P_VERIFIER", "oracle")
    with pytest.raises(SettingsError, match="R4P_VERIFIER: no verifier is called 'oracle'"):
        become_worker("verify", 1)


def test_a_worker_that_judges_refuses_settings_that_can_not_go_together(monkeypatch):
    monkeypatch.setenv("R4P_LEAVE_ONE_OUT", "true")
    monkeypatch.setenv("R4P_STOP_EARLY", "true")
    with pytest.raises(SettingsError, match=r"R4P_LEAVE_ONE_OUT: .* choose one of both"):
        become_worker("verify", 1)


def test_a_worker_that_judges_refuses_a_minimum_below_nothing(monkeypatch):
    monkeypatch.setenv("R4P_MIN_LINES", "-1")
    with pytest.raises(SettingsError, match=r"R4P_MIN_LINES: .*greater than or equal to 0"):
        become_worker("verify", 1)


def test_a_worker_of_agents_refuses_an_unknown_agent_at_once(monkeypatch):
    monkeypatch.setenv("R4P_AGENT", "smith")
    with pytest.raises(SettingsError, match="R4P_AGENT: no agent is called 'smith'"):
        become_worker("agents", 1)


def test_a_fit_is_told_no_secret():
    assert SECRETS & FIT.environment(GIVEN).keys() == set()
