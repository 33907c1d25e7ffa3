"""The folder of `r4p up`: what `r4p setup` stored, and where the running bot's database is."""

import stat
from urllib.parse import quote

import pytest

from app.settings import data_folder
from app.settings.data_folder import BadFolder, NotRunning
from app.settings.environment import read_environment

APP = {"R4P_APP_ID": "7", "R4P_GITHUB_URL": "https://github.example.com"}
SECRETS = {"R4P_PRIVATE_KEY_PATH": "-----BEGIN RSA PRIVATE KEY-----", "R4P_WEBHOOK_SECRET": "hook"}


NAMES = (
    *APP,
    *SECRETS,
    "R4P_MODEL",
    "R4P_ENGINE",
    "R4P_NOTHING",
    "R4P_DATABASE_URL",
    "R4P_REDIS_URL",
)


@pytest.fixture
def environment(monkeypatch):
    """A function that returns the variables of our prefix. They are restored after the test."""
    forget(monkeypatch, *NAMES)
    return read_environment


def forget(monkeypatch, *names):
    """Unset variables, and unset them again after the test."""
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_stored_settings_come_back_and_only_the_asked_secrets(tmp_path, environment):
    data_folder.save_settings(tmp_path, APP, SECRETS)
    data_folder.use_settings(tmp_path, ("R4P_PRIVATE_KEY_PATH",))
    used = environment()
    assert used["R4P_APP_ID"] == "7"
    assert used["R4P_PRIVATE_KEY_PATH"] == str(tmp_path / "secrets" / "private-key.pem")
    assert "R4P_WEBHOOK_SECRET" not in used


def test_only_the_owner_may_read_secrets_and_settings(tmp_path):
    data_folder.save_settings(tmp_path, APP, SECRETS)
    data_folder.save_settings(tmp_path, {"R4P_MODEL": "m"}, {"R4P_WEBHOOK_SECRET": "new"})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert (tmp_path / "secrets" / "webhook-secret").read_text() == "new"
    assert not list(tmp_path.rglob(".*.new"))


def test_the_environment_replaces_a_stored_value_and_a_whole_app(
    tmp_path, environment, monkeypatch
):
    data_folder.save_settings(
        tmp_path, APP | {"R4P_MODEL": "stored", "R4P_ENGINE": "openai_compatible"}, SECRETS
    )
    monkeypatch.setenv("R4P_MODEL", "mine")
    monkeypatch.setenv("R4P_APP_ID", "8")
    data_folder.use_settings(tmp_path, data_folder.SECRET_FILES)
    used = environment()
    assert (used["R4P_MODEL"], used["R4P_ENGINE"]) == ("mine", "openai_compatible")
    assert used["R4P_APP_ID"] == "8"
    assert "R4P_WEBHOOK_SECRET" not in used


def test_a_secret_that_is_no_text_is_named(tmp_path):
    data_folder.save_settings(tmp_path, APP, SECRETS)
    (tmp_path / "secrets" / "webhook-secret").write_bytes(b"\xff\xfe")
    with pytest.raises(BadFolder, match=r"webhook-secret can't be read \(it is not UTF-8\)"):
        data_folder.use_settings(tmp_path, data_folder.SECRET_FILES)


def test_a_name_that_is_no_setting_is_left_out(tmp_path, environment):
    data_folder.save_settings(tmp_path, {"R4P_NOTHING": "x", "PATH": "/evil"}, {})
    data_folder.use_settings(tmp_path)
    assert "R4P_NOTHING" not in environment()
    assert environment()["PATH"] != "/evil"


def test_addresses_are_there_while_the_bot_runs(tmp_path, environment, monkeypatch):
    with pytest.raises(NotRunning, match=r"no bot runs on .*: start it by `r4p up --data"):
        data_folder.use_running_bot(tmp_path)
    data_folder.write_addresses(tmp_path, "postgresql://here", "redis://there")
    monkeypatch.setenv("R4P_DATABASE_URL", "postgresql://elsewhere")
    data_folder.use_running_bot(tmp_path)
    assert environment()["R4P_DATABASE_URL"] == "postgresql://here"
    assert environment()["R4P_REDIS_URL"] == "redis://there"
    data_folder.remove_addresses(tmp_path)
    with pytest.raises(NotRunning):
        data_folder.use_running_bot(tmp_path)


@pytest.mark.services
def test_a_bot_that_was_killed_is_not_running(tmp_path, environment, database_url):
    data_folder.write_addresses(tmp_path, database_url, "redis://there")
    data_folder.use_running_bot(tmp_path)
    lost = f"postgresql://postgres@/postgres?host={quote(str(tmp_path), safe='')}&port=5432"
    data_folder.write_addresses(tmp_path, lost, "redis://there")
    with pytest.raises(NotRunning):
        data_folder.use_running_bot(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "\0", '{"settings": 1}'])
def test_a_broken_file_is_named(tmp_path, text):
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(BadFolder, match=r"settings.json .*: correct or remove it"):
        data_folder.use_settings(tmp_path)
