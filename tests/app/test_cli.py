"""`r4p` itself: its version, its completion, and each command under its own name."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.blocked_imports import ROOT, run


@pytest.fixture
def r4p(tmp_path: Path):
    return lambda *arguments: run(tmp_path, (), "app.cli", *arguments)


def test_the_version_is_the_packages(r4p):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    done = r4p("--version")
    assert (done.stdout, done.stderr, done.returncode) == (f"r4p {version}\n", "", 0)


def test_the_shell_completes_commands(r4p):
    shown = r4p("--help").stdout
    assert "--install-completion" in shown
    assert "--show-completion" in shown


def test_the_help_groups_commands_in_the_order_of_their_use(r4p):
    panels = re.findall(r"^╭─ (\w+) ─", r4p("--help").stdout, re.MULTILINE)
    assert panels == ["Options", "Judge", "Run", "Operate", "Learn"]


@pytest.mark.parametrize("command", ["config", "models"])
def test_only_r4p_itself_offers_completion(r4p, command):
    shown = r4p(command, "--help").stdout
    assert f"Usage: r4p {command}" in shown
    assert "completion" not in shown


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("outcomes export", "r4p outcomes export"),
        ("labels export", "r4p labels export"),
        ("labels", "r4p labels"),
        ("train labels", "r4p train labels"),
        ("train labels export", "r4p train labels export"),
        ("train outcomes", "r4p train outcomes"),
        ("models outcomes", "r4p models outcomes"),
        ("train", "r4p train"),
        ("train run", "r4p train run"),
    ],
)
def test_help_shows_the_command_that_was_typed(r4p, command, path):
    done = r4p(*command.split(), "--help")
    usage = re.search(r"Usage: (r4p[a-z ]*[a-z])", done.stdout)
    assert usage is not None, done.stderr
    assert usage[1] == path
    assert "--called" not in done.stdout


@pytest.mark.parametrize(
    ("command", "value"),
    [
        ("serve --port", "70000"),
        ("serve --port", "-1"),
        ("up --data data --port", "99999"),
        ("up --data data --port", "-5"),
        ("worker --concurrency", "0"),
        ("worker --concurrency", "-1"),
    ],
)
def test_number_out_of_its_range_is_a_mistake_of_usage(r4p, tmp_path, command, value):
    done = r4p(*command.split(), value)
    assert done.returncode == 2
    assert f"Invalid value for '{command.split()[-1]}': Input should be " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("url", ["garbage", "gpu:8000/v1", "http://[", "http://h:port"])
def test_up_refuses_an_engine_url_before_it_makes_its_folder(r4p, tmp_path, url):
    done = r4p("up", "--data", "data", "--port", "0", "--engine-url", url)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "r4p: cannot start:",
        f"  --engine-url: {url!r} is no http or https URL: write http://HOST:PORT/v1",
    ]
    assert not (tmp_path / "data").exists()
