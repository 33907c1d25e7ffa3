"""The bot under one parent: when it can't start, nothing of it is left running."""

import re
import signal
import socket
import subprocess
from contextlib import contextmanager
from itertools import islice
from urllib.parse import urlsplit

import httpx
import psutil
import pytest

from app.operator.bot import Bot, BotDown, choose_processes
from app.operator.embedded_servers import get_size, read_last_lines
from app.operator.up import report_start, run
from app.settings import USAGE, SettingsError, build_plain_environment
from app.web.listen_address import Listen
from model.interpreter import module_command
from tests.services import wait_for

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"
APP = {"R4P_APP_ID": "7", "R4P_PRIVATE_KEY": PEM, "R4P_WEBHOOK_SECRET": "secret"}


def set_all(monkeypatch, settings):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.mark.services
def test_a_bot_that_can_not_start_says_why_and_leaves_nothing_running(tmp_path):
    before = {child.pid for child in psutil.Process().children()}
    (tmp_path / "logs").mkdir()
    for process in choose_processes(Listen(), {}):
        log = tmp_path / "logs" / f"{process.name}.log"
        log.write_text("the port was taken, in an earlier run\n")
    bot = Bot(tmp_path, Listen(), {})
    with pytest.raises(BotDown, match="did not start") as down, bot:
        raise AssertionError("it is up")
    assert "r4p: cannot start:" in str(down.value)
    assert "earlier run" not in str(down.value)
    assert bot.children == []
    pid = bot.services.postgres_pid
    wait_for(lambda: not psutil.pid_exists(pid))
    assert {child.pid for child in psutil.Process().children()} <= before


def test_the_last_lines_of_a_log_are_those_of_this_run(tmp_path):
    log = tmp_path / "web.log"
    assert get_size(log) == 0
    log.write_text("an earlier run\n")
    since = get_size(log)
    assert read_last_lines(log, since, 3) == "(it wrote nothing to its log)"
    with log.open("a") as written:
        written.write("a\nb\nc\nd\n")
    assert read_last_lines(log, since, 3) == "b\nc\nd"
    assert read_last_lines(log, since, 9) == "a\nb\nc\nd"


def test_a_dead_model_server_is_among_what_up_finds_at_its_start(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("R4P_ENGINE_URL", "http://127.0.0.1:9/v1")
    report_start("http://127.0.0.1:8000", tmp_path)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "model server" in line]
    assert line.startswith("FAIL  model server")
    assert "no engine answers at http://127.0.0.1:9/v1 (" in line
    assert "check R4P_ENGINE_URL, R4P_MODEL and R4P_ENGINE_API_KEY" in line


@pytest.mark.parametrize("place", ["data", "data/logs", "data/services"])
def test_a_file_where_a_folder_is_needed_is_told_in_one_line(tmp_path, monkeypatch, capsys, place):
    set_all(monkeypatch, APP)
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert run(tmp_path / "data", Listen(), engine_url=None, model=None) == USAGE
    assert capsys.readouterr().err == (
        f"r4p up: {file} is a file; give --data a folder that you may write to\n"
    )


@pytest.mark.parametrize("settings", [APP, {}], ids=["an App is set", "no App is set"])
@pytest.mark.parametrize("name", ["--port", "R4P_OPS_PORT"])
def test_a_taken_port_is_told_before_anything_starts(tmp_path, monkeypatch, name, settings):
    set_all(monkeypatch, settings)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        if name == "R4P_OPS_PORT":
            monkeypatch.setenv(name, str(port))
        address = Listen(port=port if name == "--port" else 0)
        with pytest.raises(SettingsError, match=f"{name}: .*:{port}: Address already in use"):
            run(tmp_path / "data", address, engine_url=None, model=None)
    assert not (tmp_path / "data").exists()


def test_one_port_for_webhooks_and_metrics_is_refused(tmp_path, monkeypatch):
    port = Listen().resolve_port().port
    set_all(monkeypatch, APP | {"R4P_OPS_PORT": str(port)})
    with pytest.raises(SettingsError, match=f"R4P_OPS_PORT: .*:{port}: Address already in use"):
        run(tmp_path / "data", Listen(port=port), engine_url=None, model=None)
    assert not (tmp_path / "data").exists()


SLOW_WEB = """
import signal, sys
if "serve" in sys.orig_argv:
    signal.pause()
"""
"""A `sitecustomize.py` that keeps the web process from ever being ready."""


@pytest.mark.services
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
@pytest.mark.parametrize("moment", ["services/postgres.pid", "logs/beat.log"])
def test_a_signal_ends_the_start_without_an_error(tmp_path, number, moment):
    """The signal comes once the file `moment` exists: before the migrations, and when every process runs."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_WEB)
    data = tmp_path / "data"
    with run_up(data, environment=APP | {"PYTHONPATH": str(tmp_path)}) as started:
        wait_for((data / moment).exists, 60)
        parts = psutil.Process(started.pid).children(recursive=True)
        started.send_signal(number)
        told = started.communicate(timeout=30)[1]
    assert (started.returncode, told) == (0, "")
    assert psutil.wait_procs(parts, timeout=10)[1] == []
    assert not (data / "addresses.json").exists()


@pytest.mark.services
def test_the_bot_starts_behind_a_proxy_and_on_all_addresses(tmp_path):
    proxy = dict.fromkeys(("HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    everywhere = {"R4P_OPS_HOST": "", "R4P_GITHUB_URL": "http://127.0.0.1:9"}
    with run_up(tmp_path, "--host", "", environment=APP | proxy | everywhere) as started:
        assert started.stderr.readline().startswith("r4p: up at http://127.0.0.1:")
        started.send_signal(signal.SIGTERM)
        told = started.communicate(timeout=60)[1]
    assert started.returncode == 0, told


@contextmanager
def run_up(data, *options, environment):
    """Run the real `r4p up` with more variables in its environment, and yield its process."""
    command = module_command("app.cli", "up", "--data", str(data), "--port", "0", *options)
    more = build_plain_environment() | environment
    with subprocess.Popen(command, env=more, stderr=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def test_a_mistake_before_the_setup_is_told_without_the_settings_that_the_setup_makes(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("R4P_VERIFIER", "zz")
    with pytest.raises(SettingsError, match="R4P_VERIFIER") as refused:
        run(tmp_path / "data", Listen(), engine_url=None, model=None)
    assert "R4P_APP_ID" not in str(refused.value)
    assert "R4P_WEBHOOK_SECRET" not in str(refused.value)


@contextmanager
def offer_setup(data, host="127.0.0.1"):
    """Run the real `r4p up` without an App; yield its process, and the page's address and token from the terminal."""
    command = module_command("app.cli", "up", "--data", str(data), "--port", "0", "--host", host)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        try:
            lines = "".join(islice(started.stderr, 4))
            url, token = re.search(r"(http://\S+/setup)\?token=(\S+)", lines).groups()
            wait_for(lambda: is_answered(url))
            yield started, url, token
        finally:
            started.kill()


@pytest.mark.parametrize(
    ("number", "host"), [(signal.SIGINT, "127.0.0.1"), (signal.SIGTERM, "::1")], ids=str
)
def test_a_signal_ends_the_setup_without_an_error(tmp_path, number, host):
    """A browser is sending a form meanwhile."""
    form = b"POST /setup/token HTTP/1.1\r\nHost: r4p\r\nContent-Length: 9\r\n\r\ntoken"
    with (
        offer_setup(tmp_path / "data", host) as (started, url, _),
        socket.create_connection((host, urlsplit(url).port)) as browser,
    ):
        browser.sendall(form)
        assert is_answered(url), "the form came before this"
        started.send_signal(number)
        rest = started.communicate(timeout=30)[1]
    assert "".join(rest.splitlines()[1:]) == "", "only the last line of the offer is left"
    assert started.returncode == 0


@pytest.mark.proof
def test_up_without_an_app_offers_the_setup_and_no_page_of_it_afterwards(tmp_path):
    """The real command: a token in the terminal, the page behind it, and an interrupt that ends it cleanly."""
    with offer_setup(tmp_path / "data") as (started, url, token):
        assert httpx.get(url.replace("/setup", "/metrics")).status_code == 404
        with httpx.Client(follow_redirects=True) as browser:
            page = browser.post(f"{url}/token", data={"token": token})
            assert "Who judges" in page.text
        started.send_signal(signal.SIGINT)
        rest = started.communicate(timeout=30)[1]
    assert "Traceback" not in rest
    assert not (tmp_path / "data" / "settings.json").exists()


def is_answered(url):
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False
