"""`r4p doctor` on settings that keep a process from starting, on a dead broker and on the pages."""

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.operator.doctor.report import UNFIT
from app.settings import USAGE
from tests.app.operator.doctor.test_doctor import doctor, github  # noqa: F401 - fixtures


def test_without_its_broker_the_bot_cannot_work(doctor):  # noqa: F811
    code, found = doctor(verifier="consensus", redis_url="redis://127.0.0.1:9")
    assert code == UNFIT
    assert found["broker"] == (
        "FAIL: does not answer, so no job starts: start it, or correct R4P_REDIS_URL; nothing is lost meanwhile"
    )


@pytest.mark.parametrize(
    ("name", "value", "about"),
    [
        ("database_url", "postgresql://x:hidden@h:notaport/z", "database"),
        ("redis_url", "redis://:hidden@[", "broker"),
    ],
)
def test_address_that_cannot_be_read_is_a_failure_without_its_password(
    doctor,  # noqa: F811
    name,
    value,
    about,
):
    code, found = doctor(verifier="consensus", **{name: value})
    assert code == UNFIT
    assert found[about].startswith(f"FAIL: R4P_{name.upper()}: ")
    assert "hidden" not in str(found)


def test_pages_are_off_on_or_lack_a_setting(doctor):  # noqa: F811
    assert doctor(verifier="consensus")[1]["pages"] == (
        "ok: off: R4P_PUBLIC_URL, R4P_OAUTH_CLIENT_ID and R4P_OAUTH_CLIENT_SECRET switch them on"
    )
    wish = {"public_url": "https://r4p.example.com", "oauth_client_id": "Iv1"}
    code, found = doctor(**wish)
    assert code == 0
    assert found["pages"] == (
        "less: R4P_OAUTH_CLIENT_ID is set without R4P_OAUTH_CLIENT_SECRET, so the pages are off: "
        "set what is missing, or unset R4P_OAUTH_CLIENT_ID"
    )
    assert doctor(oauth_client_secret="hidden")[1]["pages"] == "ok: on at https://r4p.example.com"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sweep_seconds", "0"),
        ("keep_votes_days", "1"),
        ("log_level", "loud"),
        ("ops_port", "70000"),
        ("max_votes", "0"),
        ("public_track_records", "not a repo"),
        ("tests_seconds", "0"),
        ("train_gpus", "-1"),
    ],
)
def test_setting_that_a_process_would_refuse_is_refused(monkeypatch, name, value):
    """The doctor's exit code for a setting of any process is that of the process itself."""
    monkeypatch.setenv(f"R4P_{name.upper()}", value)
    said = CliRunner().invoke(main, ["doctor"])
    assert said.exit_code == USAGE
    assert f"R4P_{name.upper()}: " in said.stderr
