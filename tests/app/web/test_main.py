"""The start of the web process: what it says about its settings."""

import logging

import pytest

from app.web import main
from tests.app.web.web_process import settings


@pytest.mark.parametrize("with_secret", [False, True])
def test_pages_that_lack_a_setting_are_in_the_log(monkeypatch, caplog, with_secret):
    monkeypatch.setenv("R4P_OAUTH_CLIENT_ID", "Iv1")
    monkeypatch.setenv("R4P_PUBLIC_URL", "https://r4p.example.com")
    if with_secret:
        monkeypatch.setenv("R4P_OAUTH_CLIENT_SECRET", "s")
    wanted = settings("postgresql://127.0.0.1:9/r4p", "redis://127.0.0.1:9")
    monkeypatch.setattr(main, "load_web_settings", lambda: wanted)
    monkeypatch.setattr(main.logs, "configure", lambda _settings: None)
    monkeypatch.setattr(main.uvicorn, "run", lambda _app, **_options: None)
    with caplog.at_level(logging.WARNING, "app.web.main"):
        main.serve("127.0.0.1", 0)
    own = [record.getMessage() for record in caplog.records if record.name == "app.web.main"]
    warning = (
        "R4P_OAUTH_CLIENT_ID is set without R4P_OAUTH_CLIENT_SECRET, so the pages are off: "
        "set what is missing, or unset R4P_OAUTH_CLIENT_ID"
    )
    assert own == ([] if with_secret else [warning])
