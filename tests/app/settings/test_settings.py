"""A process that lacks a setting says which, why and what is expected, and doesn't start."""

import pytest

from app.settings import (
    AgentSettings,
    DatabaseSettings,
    EngineSettings,
    GitHubSettings,
    IdentitySettings,
    PagesSettings,
    SettingsError,
    WebhookSettings,
    WriterSettings,
    check,
    load,
)

OURS = (
    "APP_ID",
    "PRIVATE_KEY",
    "PRIVATE_KEY_PATH",
    "WEBHOOK_SECRET",
    "DATABASE_URL",
    "REDIS_URL",
    "ENGINE_URL",
)

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in OURS:
        monkeypatch.delenv(f"R4P_{name}", raising=False)


@pytest.mark.parametrize("secret", [None, "", " , "])
def test_the_web_process_refuses_to_start_without_a_webhook_secret(monkeypatch, secret):
    if secret is not None:
        monkeypatch.setenv("R4P_WEBHOOK_SECRET", secret)
    with pytest.raises(SettingsError, match="R4P_WEBHOOK_SECRET"):
        load(WebhookSettings)


def test_two_secrets_hold_while_they_are_rotated(monkeypatch):
    monkeypatch.setenv("R4P_WEBHOOK_SECRET", "old-secret, new-secret")
    secrets = load(WebhookSettings).webhook_secret
    assert [secret.get_secret_value() for secret in secrets] == ["old-secret", "new-secret"]
    assert "old-secret" not in repr(load(WebhookSettings))


def test_all_mistakes_are_told_at_once():
    with pytest.raises(SettingsError) as refused:
        check(GitHubSettings, WebhookSettings)
    assert "R4P_APP_ID: is not set" in str(refused.value)
    assert "R4P_WEBHOOK_SECRET: is not set" in str(refused.value)


def test_exactly_one_form_of_the_private_key_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("R4P_APP_ID", "7")
    with pytest.raises(SettingsError, match="exactly one of R4P_PRIVATE_KEY and"):
        load(GitHubSettings)
    path = tmp_path / "app.pem"
    path.write_text(PEM)
    monkeypatch.setenv("R4P_PRIVATE_KEY_PATH", str(path))
    assert load(GitHubSettings).read_key().get_secret_value() == PEM
    monkeypatch.setenv("R4P_PRIVATE_KEY", PEM)
    with pytest.raises(SettingsError, match="exactly one"):
        load(GitHubSettings)


def test_another_database_is_refused(monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", "sqlite:///r4p.db")
    with pytest.raises(SettingsError, match="must start with postgresql://"):
        load(DatabaseSettings)


def test_an_engine_url_is_preferred_to_the_embedded_model(monkeypatch):
    assert load(EngineSettings).engine_name == "local_transformers"
    monkeypatch.setenv("R4P_ENGINE_URL", "http://gpu:8000/v1")
    assert load(EngineSettings).engine_name == "openai_compatible"


def test_the_host_is_that_of_the_github_in_use(monkeypatch):
    assert load(IdentitySettings).host == "github.com"
    monkeypatch.setenv("R4P_GITHUB_URL", "https://ghes.example:8443")
    assert load(IdentitySettings).host == "ghes.example:8443"


def test_a_key_that_is_not_there_or_none_is_refused_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("R4P_APP_ID", "7")
    monkeypatch.setenv("R4P_PRIVATE_KEY_PATH", str(tmp_path / "none.pem"))
    with pytest.raises(SettingsError, match=r"none\.pem can't be read"):
        load(GitHubSettings)
    (tmp_path / "none.pem").write_text("ssh-rsa AAAA")
    with pytest.raises(SettingsError, match="not in PEM format"):
        load(GitHubSettings)


def test_the_second_app_has_a_key_of_its_own(monkeypatch):
    monkeypatch.setenv("R4P_WRITER_APP_ID", "")
    assert load(IdentitySettings).writer_app_id is None
    monkeypatch.setenv("R4P_WRITER_APP_ID", "8")
    assert load(IdentitySettings).writer_app_id == 8
    monkeypatch.setenv("R4P_PRIVATE_KEY", PEM)
    with pytest.raises(SettingsError, match="exactly one of R4P_WRITER_PRIVATE_KEY and"):
        load(WriterSettings)
    monkeypatch.setenv("R4P_WRITER_PRIVATE_KEY", PEM)
    assert load(WriterSettings).read_key().get_secret_value() == PEM


def test_onboarding_needs_the_second_app(monkeypatch):
    assert load(IdentitySettings).onboarding is False
    monkeypatch.setenv("R4P_ONBOARDING", "true")
    with pytest.raises(
        SettingsError, match=r"R4P_ONBOARDING: needs the writer App, .*: set R4P_WRITER"
    ):
        load(IdentitySettings)
    monkeypatch.setenv("R4P_WRITER_APP_ID", "8")
    assert load(IdentitySettings).onboarding is True


@pytest.mark.parametrize("kind", [GitHubSettings, IdentitySettings, WriterSettings])
def test_a_base_url_without_a_scheme_is_refused_at_once(monkeypatch, kind):
    monkeypatch.setenv("R4P_APP_ID", "7")
    monkeypatch.setenv("R4P_PRIVATE_KEY", PEM)
    monkeypatch.setenv("R4P_WRITER_APP_ID", "8")
    monkeypatch.setenv("R4P_WRITER_PRIVATE_KEY", PEM)
    monkeypatch.setenv("R4P_GITHUB_URL", "ghe.example.com")
    with pytest.raises(SettingsError, match="write https://host"):
        load(kind)


@pytest.mark.parametrize(
    ("settings", "verifier"),
    [
        ({}, "consensus"),
        ({"ENGINE_URL": "http://gpu:8000/v1"}, "r4p"),
        ({"MODEL": "qwen2.5-coder-0.5b-instruct"}, "r4p"),
        ({"ENGINE": "local_transformers"}, "r4p"),
        ({"ENGINE_URL": "http://gpu:8000/v1", "VERIFIER": "consensus"}, "consensus"),
        ({"VERIFIER": "yes-no"}, "yes-no"),
    ],
)
def test_verifier_without_a_choice_depends_on_the_model(monkeypatch, settings, verifier):
    for name, value in settings.items():
        monkeypatch.setenv(f"R4P_{name}", value)
    assert (EngineSettings().verifier, AgentSettings().verifier) == (verifier, verifier)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, None),
        ({"PUBLIC_URL": "https://h"}, None),
        ({"OAUTH_CLIENT_ID": "Iv1"}, "R4P_PUBLIC_URL and R4P_OAUTH_CLIENT_SECRET"),
        ({"OAUTH_CLIENT_ID": "Iv1", "PUBLIC_URL": "https://h"}, "R4P_OAUTH_CLIENT_SECRET"),
        (
            {
                "OAUTH_CLIENT_ID": "Iv1",
                "PUBLIC_URL": "https://h",
                "OAUTH_CLIENT_SECRET": "s",
            },
            None,
        ),
    ],
)
def test_pages_that_lack_a_setting_name_it(monkeypatch, settings, names):
    for name, value in settings.items():
        monkeypatch.setenv(f"R4P_{name}", value)
    why = load(PagesSettings).explain_no_sign_in()
    expected = f"R4P_OAUTH_CLIENT_ID is set without {names}, so the pages are off"
    assert why == (expected if names else None)
