"""`r4p config` checks the settings file as the bot does, so that a commit hook can refuse it."""

import re

import pytest
import yaml
from typer.testing import CliRunner

from app.cli import main
from model.commands.exit_codes import Exit
from model.commands.extras import EXTRAS
from tests import blocked_imports


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / ".github").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".github" / "r4p.yml"


def test_valid_file_passes(here):
    here.write_text("version: 1\nmode: advisory\n")
    result = run("config", "validate")
    assert (result.exit_code, result.output) == (Exit.OK, "no problems found\n")


def test_each_problem_has_its_line_and_fix(here):
    here.write_text("version: 1\nmod: advisory\nvotes: 99\n")
    result = run("config", "validate", str(here))
    assert result.exit_code == Exit.USAGE
    assert f"{here}:2: unknown key `mod`: did you mean `mode`?" in result.output
    assert f"{here}:3: `votes` can't be `99`" in result.output


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "binary"])
def test_unreadable_file_is_one_line(here, content):
    if content is not None:
        here.write_bytes(content)
    result = run("config", "validate")
    assert result.exit_code == Exit.USAGE
    assert len(result.output.splitlines()) == 1
    assert ".github/r4p.yml: can't be read: " in result.output


def test_show_names_the_origin_of_each_setting(here, tmp_path):
    here.write_text("version: 1\nvotes: 2\n")
    default = tmp_path / "default.yml"
    default.write_text("version: 1\nmode: advisory\nvotes: 8\n")
    lines = run("config", "show", "--default", str(default)).output.splitlines()
    assert any(line.split() == ["votes", "2", "(this", "repository)"] for line in lines)
    assert any("advisory  (organisation default)" in line for line in lines)
    default.write_text("nope: 1\n")
    assert run("config", "show", "--default", str(default)).exit_code == Exit.USAGE


@pytest.mark.parametrize("option", [(), ("--default",)], ids=["file", "default"])
def test_show_refuses_a_file_that_is_missing(here, option):
    result = run("config", "show", *option, "nope.yml")
    assert result.exit_code == Exit.USAGE
    assert result.output == "nope.yml: can't be read: No such file or directory\n"


def test_show_without_a_file_is_about_the_bots_defaults(here):
    result = run("config", "show")
    assert result.exit_code == Exit.OK
    assert "(bot's default)" in result.output


def test_commands_of_comments_are_listed():
    output = run("config", "commands").output
    assert "/r4p pause" in output
    assert "(anyone)" in output


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("version: 1\n", Exit.OK, "no problems found\n"),
        ("version: 2\n", Exit.USAGE, ".github/r4p.yml:1: `version` can't be `2`"),
    ],
    ids=["valid", "wrong"],
)
def test_commit_hook_works_with_what_it_installs(here, tmp_path, request, content, code, message):
    (hook,) = yaml.safe_load((request.config.rootpath / ".pre-commit-hooks.yaml").read_text())
    here.write_text(content)
    program, *arguments = hook["entry"].split()
    assert (program, hook["language"]) == ("r4p", "python")
    (own,) = hook.get("additional_dependencies", ["."])
    extras = re.findall(r"\w+", own)
    installed = {module for extra in extras for module in EXTRAS[extra]}
    missing = {module for modules in EXTRAS.values() for module in modules} - installed
    done = blocked_imports.run(tmp_path, missing, "app.cli", *arguments, ".github/r4p.yml")
    assert done.returncode == code, done.stderr
    assert message in done.stdout + done.stderr
