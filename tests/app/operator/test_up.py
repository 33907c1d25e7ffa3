"""The bot under one parent: when it can't start, nothing of it is left running."""

import re
import signal
import subprocess
from itertools import islice

import httpx
import psutil
import pytest

from app.operator.embedded_servers import get_size, read_last_lines
from app.operator.up import Bot, BotDown, Listen, choose_processes, run
from app.settings import USAGE
from model.interpreter import module_command
from tests.services import wait_for

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"


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


@pytest.mark.parametrize("place", ["data", "data/logs", "data/services"])
def test_a_file_where_a_folder_is_needed_is_told_in_one_line(tmp_path, monkeypatch, capsys, place):
    for name, value in (("APP_ID", "7"), ("PRIVATE_KEY", PEM), ("WEBHOOK_SECRET", "secret")):
        monkeypatch.setenv(f"R4P_{name}", value)
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert run(tmp_path / "data", Listen(), engine_url=None, model=None) == USAGE
    assert capsys.readouterr().err == (
        f"r4p up: {file} is a file; give --data a folder that you may write to\n"
    )


@pytest.mark.proof
def test_up_without_an_app_offers_the_setup_and_no_page_of_it_afterwards(tmp_path):
    """The real command: a token in the terminal, the page behind it, and an interrupt that ends it cleanly."""
    command = module_command("app.cli", "up", "--data", str(tmp_path / "data"), "--port", "0")
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        lines = list(islice(started.stderr, 4))
        url, token = re.search(r"(http://\S+/setup)\?token=(\S+)", "".join(lines)).groups()
        wait_for(lambda: is_answered(url))
        assert httpx.get(url.replace("/setup", "/metrics")).status_code == 404
        with httpx.Client(follow_redirects=True) as browser:
            page = browser.post(f"{url}/token", data={"token": token})
            assert "Who judges" in page.text
    finally:
        started.send_signal(signal.SIGINT)
        rest = started.communicate(timeout=30)[1]
    assert "Traceback" not in rest
    assert not (tmp_path / "data" / "settings.json").exists()


def is_answered(url):
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False
