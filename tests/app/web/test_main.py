"""The start of the web process: what it says about its settings and its address."""

import logging
import socket
import subprocess

import pytest

from app.settings import USAGE, build_child_environment
from app.web import main
from model.interpreter import module_command
from tests.app.web.web_process import settings

REACHABLE_BY_NOBODY = {
    "R4P_DATABASE_URL": "postgresql://127.0.0.1:9/r4p",
    "R4P_REDIS_URL": "redis://127.0.0.1:9",
    "R4P_WEBHOOK_SECRET": "secret",
}
"""Settings with which the web process starts, and then waits for a database and a broker that are down."""


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


def serve_in_vain(host, port):
    """Run the real `r4p serve`, which cannot start; return its exit code and its lines."""
    command = module_command("app.cli", "serve", "--host", host, "--port", str(port))
    environment = build_child_environment(REACHABLE_BY_NOBODY)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


def test_a_taken_port_ends_serve_with_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = serve_in_vain("127.0.0.1", port)
    why = f"--port: can't listen on 127.0.0.1:{port}: Address already in use: choose another"
    assert told == (USAGE, f"r4p: cannot start:\n  {why}\n")


def test_an_address_of_another_machine_ends_serve_with_one_line():
    why = (
        "--host: can't listen on 203.0.113.9:8000: Cannot assign requested address: "
        "give a name or an address of this machine"
    )
    assert serve_in_vain("203.0.113.9", 8000) == (USAGE, f"r4p: cannot start:\n  {why}\n")
