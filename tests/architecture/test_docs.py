"""The pages say what is true: files they name exist, commands run, settings are read."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from app import settings
from app.cli import main
from app.policy.commands import REGISTRY
from app.settings import repo_config
from app.settings.repo_config import RepoConfig

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
]
COMMENTS = sorted((ROOT / "app/comments").glob("*.py"))
BECOMES_ANOTHER = {
    command.callback.__name__
    for command in main.registered_commands
    if (command.context_settings or {}).get("help_option_names") == []
}
"""They replace their process: asked within this one, they would end the tests."""
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page):
    named = re.findall(
        r"`((?:app|worker|model|training|migrations|deploy|tests|docs)/[\w./-]*)`", page.read_text()
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_command_of_the_readme_is_one():
    known = {command.name or command.callback.__name__ for command in main.registered_commands}
    known |= {group.name for group in main.registered_groups}
    named = set(re.findall(r"(?:\bbin/|`)r4p ([a-z]+)", README))
    assert named - known == set()
    for command in sorted(known - BECOMES_ANOTHER):
        assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0


@pytest.mark.parametrize("command", sorted(BECOMES_ANOTHER))
def test_a_command_that_becomes_another_process_offers_help_too(command):
    asked = [sys.executable, "-m", "app.cli", command, "--help"]
    assert subprocess.run(asked, cwd=ROOT, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("module", COMMENTS, ids=lambda module: module.name)
def test_every_command_that_a_comment_names_is_one(module):
    known = {command.name or command.callback.__name__ for command in main.registered_commands}
    texts = [
        node.value
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    named = {word for text in texts for word in re.findall(r"`(?:bin/)?r4p ([a-z]+)", text)}
    assert named - known == set()


def test_every_verb_of_the_makefile_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for verb in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb


def test_every_setting_of_the_readme_is_read():
    kinds = [
        k
        for k in vars(settings).values()
        if isinstance(k, type) and k.__name__.endswith("Settings")
    ]
    known = {
        f"R4P_{field.upper()}" for kind in kinds for field in getattr(kind, "model_fields", {})
    }
    assert set(re.findall(r"\bR4P_[A-Z_]+", README)) - known == set()


def test_the_configuration_shown_is_valid_and_names_no_dead_key():
    (block,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert isinstance(repo_config.parse(block), RepoConfig)
    assert set(yaml.safe_load(block)) <= set(RepoConfig.model_fields)


def test_every_command_people_may_write_is_listed():
    for verb in REGISTRY:
        assert f"/r4p {verb}" in README


def test_the_tree_names_every_package():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    tree = README.split("## The tree")[1]
    assert {name for name in packages if f"{name}/ " not in tree} == set()
